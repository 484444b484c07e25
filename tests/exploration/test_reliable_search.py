"""The search of scripts/reliable_search.py, on a narrow bridge and a long way round."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
from scripts.reliable_search import Noise, ReliableSearch

from goexplore.demos import load_demonstrations, save_demonstrations
from goexplore.envs import env_spec

BRIDGE = 0.15
"""Half of its width, in a world where a step is up to 0.3 long."""


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


def searched(noise, steps=60_000):
    search = ReliableSearch(env_spec(f"{__name__}:Bridge"), cells=cell, noise=noise, seed=0)
    while search.steps < steps:
        search.batch()
    return search


def sideways(actions):
    return float(np.abs(np.cumsum(0.3 * actions[:, 1])).max())


def test_the_long_way_is_taken_where_the_short_one_seldom_works(tmp_path):
    found = searched(Noise(sticky=0.1, jitter=0.3)).demonstrations(3, score=1.0)
    share, best = found[0]
    assert share > 0.9
    assert sideways(best.actions) > 1.0
    save_demonstrations([made for _, made in found], tmp_path)
    assert [each.score for each in load_demonstrations(tmp_path, trust=True)] == [1.0] * len(found)


def test_without_noise_the_short_way_is_as_good():
    share, best = searched(Noise(sticky=0.0, jitter=0.0)).demonstrations(1, score=1.0)[0]
    assert share == 1.0
    assert sideways(best.actions) < 1.0
