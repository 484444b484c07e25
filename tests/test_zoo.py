"""What is shipped in zoo/ works: demonstrations replay from reset, policies play."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from goexplore.demos import load_demonstrations
from goexplore.envs import is_atari
from goexplore.play import AtariView, PlainView, make_play
from goexplore.policies import Policy
from goexplore.robustification import Route

ZOO = Path(__file__).parent.parent / "zoo"
ENTRIES = sorted(path.name for path in ZOO.iterdir() if path.is_dir())


@pytest.mark.atari
@pytest.mark.parametrize("name", ENTRIES)
def test_demonstrations_replay_and_policies_play(name):
    readme = (ZOO / "README.md").read_text()
    assert f"`{name}`" in readme, "what it is has to be said"
    policy = Policy.load(ZOO / name)
    for demonstration in load_demonstrations(ZOO / name):
        view = AtariView(width=8, height=8, gray=True) if is_atari(policy.env.id) else PlainView()
        Route(demonstration, make_play(demonstration.env, view, np.random.default_rng(0)))  # refuses what differs
        assert demonstration.env.id == policy.env.id
    play, player = policy.make_play(seed=0), policy.player(seed=0)
    play.reset()
    for _ in range(20):
        play.step(player.act(play.observation))
    assert policy.about["steps"] > 0
