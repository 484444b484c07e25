"""Worlds that are random themselves: another seed for every episode."""

from __future__ import annotations

import numpy as np
import pytest

from goexplore.envs import EnvSpec
from goexplore.errors import InputError
from goexplore.play import PlainView, make_play

NORTH, EAST = 0, 1


def survived(view: PlainView, seed: int, episodes: int = 40) -> list[int]:
    """Steps on the highway until a car came, in each episode."""
    play = make_play(EnvSpec("goexplore/Highway-v0"), view, np.random.default_rng(seed))
    lengths = []
    for _ in range(episodes):
        play.reset()
        play.step(NORTH)
        steps = 0
        while not play.step(NORTH if steps == 0 else EAST)[1]:
            steps += 1
        lengths.append(steps)
    return lengths


def test_episodes_differ_only_if_wanted_and_alike_for_one_generator():
    assert len(set(survived(PlainView(), 0))) == 1
    lengths = survived(PlainView(new_seeds=True), 0)
    assert len(set(lengths)) > 3
    assert lengths == survived(PlainView(new_seeds=True), 0)
    assert lengths != survived(PlainView(new_seeds=True), 1)


def test_an_environment_that_cannot_be_saved_is_refused():
    with pytest.raises(InputError, match="new_seeds needs a Gymnasium environment whose state can be saved"):
        make_play(EnvSpec("goexplore/Chain-v0"), PlainView(new_seeds=True), np.random.default_rng(0)).reset()
