"""Kills at any moment, and cell functions that do not keep what they promised."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.policy_based.corridor import LENGTH, Places  # noqa: E402
from tests.robustification.test_training import whole_state  # noqa: E402

CORRIDOR, HERE = "tests.policy_based.corridor", __name__
SMALL = ["--ranks", "1", "--set", "actors=4", "imitators=1", "ppo.steps=32", "network.hidden=(32,)", "view.sticky=0.25"]
NEW = ["policy", f"{CORRIDOR}:Corridor", *SMALL]


def goexplore(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "goexplore", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_killed_at_random_moments_and_resumed_it_learns_the_same(tmp_path):
    """Network, optimiser, archive, episodes under way and all generators."""
    whole, killed, chance = tmp_path / "whole", tmp_path / "killed", random.Random(0)
    begin = [*NEW, "--cells", f"{CORRIDOR}:Places", "--steps", "12_800", "--checkpoint-seconds", "0", "--out"]
    reference = goexplore(*begin, str(whole))
    command, kills = [*begin, str(killed)], 0
    for _ in range(4):
        process = goexplore(*command)
        deadline = time.monotonic() + 60
        while not list(killed.glob("checkpoints/*/*.npz")) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(chance.random() * 2)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
        command = ["policy", "--resume", str(killed), "--checkpoint-seconds", "0", "--trust"]
    assert kills >= 2, "the others came too late"
    assert goexplore(*command).wait(120) == 0
    assert reference.wait(120) == 0
    one, other = whole_state(whole), whole_state(killed)
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(other[name], value, err_msg=name)


class Growing(Places):
    """Says of itself, once it has been far, that there are more values than there were."""

    def values(self, observation, env):
        if env.unwrapped.at == 3:
            self.attributes = {"at": LENGTH + 1}
        return super().values(observation, env)


class Longer(Places):
    """Returns one value more, sometimes."""

    def values(self, observation, env):
        return (env.unwrapped.at,) * (1 + (env.unwrapped.at == 3))


class TooFar(Places):
    attributes = {"at": 3}  # noqa: RUF012


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ("Growing", "the cells' attributes have changed"),
        ("Longer", "returned 2 values (3, 3) for 1 attributes (at); expected one for each, always"),
        ("TooFar", "returned at = 3; expected a whole number from 0 to 2, as attributes['at'] = 3 says"),
    ],
)
def test_cells_that_break_their_promise_are_one_sentence(tmp_path, cells, sentence):
    process = goexplore(*NEW, "--cells", f"{HERE}:{cells}", "--steps", "12_800", "--out", str(tmp_path / "run"))
    _, said = process.communicate(timeout=120)
    assert process.returncode == 2, said
    assert sentence in " ".join(said.split())
    assert "Traceback" not in said
