"""Ways that are tried under noise, on a narrow bridge and a long way round it."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

import goexplore
from goexplore.demos import Choice, demonstrations_of
from goexplore.envs import ActionSpace
from goexplore.errors import InputError
from goexplore.exploration._explorers import make_explorer
from goexplore.exploration._trials import Arrival, pack, unpack
from goexplore.runs import RunFolder, peek

BRIDGE = 0.15
"""Half of its width, in a world where a step is up to 0.3 long."""
NOISE = {"trials": 8, "trial_sticky": 0.1, "trial_jitter": 0.3}


class Bridge(gym.Env):
    """From the left to the right, over water: straight on along a bridge, or round it."""

    observation_space = gym.spaces.Box(-9.0, 9.0, (2,), np.float32)
    action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = np.zeros(2)
        return self.place.astype(np.float32), {}

    def step(self, action):
        before = self.place[0]
        self.place = np.clip(self.place + 0.3 * np.clip(action, -1.0, 1.0), (-1.0, -2.0), (3.0, 2.0))
        x, y = self.place
        wet = 0.5 < x < 1.5 and BRIDGE < abs(y) < 1.0
        return self.place.astype(np.float32), float(x >= 2.0) - float(before >= 2.0), bool(wet), False, {}

    def get_state(self):
        return {"place": self.place.copy()}

    def set_state(self, state):
        self.place = np.array(state["place"])


def cell(observation):
    return tuple(np.floor(observation / 0.5).astype(int).tolist())


def search(out, *, frames=60_000, workers=1, **settings):
    return goexplore.explore(
        f"{__name__}:Bridge",
        cells=cell,
        explorer="partial",
        explore_steps=30,
        repeat_probability=0.9,
        frames=frames,
        workers=workers,
        out=out,
        progress=False,
        **settings,
    )


def best_way(run):
    (made,) = demonstrations_of(run, Choice(until_score=1.0), trust=True, cells=cell)
    return made.actions


def sideways(actions):
    return float(np.abs(np.cumsum(0.3 * actions[:, 1])).max())


def arrives(actions, replays=200):
    """Share of replays under the noise of the trials that come to the other side."""
    env, rng, dry = Bridge(), np.random.default_rng(7), 0
    for _ in range(replays):
        env.reset()
        before = None
        for wanted in [*actions, *[actions[-1]] * 3]:
            sticks = before is not None and rng.random() < NOISE["trial_sticky"]
            before = before if sticks else wanted
            shaken = np.clip(before + NOISE["trial_jitter"] * rng.standard_normal(2), -1.0, 1.0)
            _, reward, wet, _, _ = env.step(shaken)
            if wet or reward > 0:
                dry += reward > 0
                break
    return dry / replays


def test_the_long_way_is_kept_where_the_short_one_seldom_works(tmp_path):
    search(tmp_path / "tried", **NOISE)
    search(tmp_path / "untried")
    reliable, shortest = best_way(tmp_path / "tried"), best_way(tmp_path / "untried")
    assert sideways(reliable) > 1.0
    assert sideways(shortest) < 1.0
    assert len(shortest) < len(reliable)
    assert arrives(reliable) > 0.9
    assert arrives(shortest) < 0.7


def test_reliabilities_are_about_what_replays_from_reset_come_to(tmp_path):
    search(tmp_path / "run", **NOISE)
    loop, _ = peek(RunFolder.open(tmp_path / "run"), warn=pytest.fail)
    archive = loop.archive
    assert archive.tried
    assert all(0 < each <= 1 for each in archive.reliabilities)
    assert archive.reliabilities[0] == 1.0
    expected = arrives(archive.forest.actions(archive.best().trajectory))
    assert archive.reliabilities[archive.best().row] == pytest.approx(expected, abs=0.15)


def test_one_seed_gives_one_archive_whatever_the_workers_and_stops(tmp_path):
    one = search(tmp_path / "one", frames=20_000, **NOISE)
    two = search(tmp_path / "two", frames=20_000, workers=2, **NOISE)
    search(tmp_path / "stopped", frames=8_000, **NOISE)
    resumed = goexplore.resume(tmp_path / "stopped", frames=20_000, cells=cell, workers=1, progress=False, trust=True)
    assert one.archive_digest == two.archive_digest == resumed.archive_digest
    assert one.frames == two.frames == resumed.frames


@pytest.mark.atari
def test_choices_are_tried_too(tmp_path):
    """They have no jitter, but may stick."""
    result = goexplore.explore(
        "ALE/MontezumaRevenge-v5",
        cells="downscale:11x8x8",
        trials=4,
        frames=12_000,
        workers=1,
        out=tmp_path / "run",
        progress=False,
    )
    loop, _ = peek(RunFolder.open(result.run), warn=pytest.fail)
    assert 0 < min(loop.archive.reliabilities) < 1
    assert goexplore.inspect_run(result.run, verify=10)["verified_cells"] == 10


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trials": -1}, "trials -1"),
        ({"trials": 8, "trial_sticky": 1.0}, "trial_sticky 1.0"),
        ({"trials": 8, "pipelined": True}, "do not go together with pipelined"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path, settings, message):
    with pytest.raises(InputError, match=message):
        search(tmp_path / "run", **settings)


def test_states_that_cannot_be_written_to_a_file_are_refused(tmp_path):
    with pytest.raises(InputError, match="an environment whose states can be written to a file"):
        goexplore.explore(
            "goexplore/Chain-v0", cells="observation", trials=8, frames=100, out=tmp_path / "run", progress=False
        )


def test_arrivals_are_packed_and_unpacked():
    space = ActionSpace.from_gymnasium(Bridge.action_space)
    arrivals = [Arrival(b"first", bytes(8)), Arrival(b"", bytes(range(8)))]
    assert unpack(pack(arrivals), space) == arrivals


def test_partial_changes_leave_some_numbers_as_they_are():
    explorer, rng = make_explorer("partial", repeat_probability=0.9), np.random.default_rng(0)
    space = ActionSpace.from_gymnasium(gym.spaces.Box(-1.0, 1.0, (9,), np.float32))
    alike = 0
    for _ in range(50):
        explorer.begin(rng, space, None, 100)
        actions = np.array([explorer.act(None) for _ in range(100)])
        differs = actions[1:] != actions[:-1]
        changes = differs.any(axis=1)
        assert 1 <= changes.sum() < 30
        alike += float(differs[changes].mean())
    assert 0.4 < alike / 50 < 0.6
