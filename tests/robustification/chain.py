"""A chain of states in which one action leads on, the others back to the start, and only the end pays."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from goexplore.demos import Demonstration
from goexplore.envs import EnvSpec
from goexplore.play import PlainView, Play, make_play

LENGTH = 50


class Chain(gym.Env):
    """`length` states; in each of them another of four actions leads on."""

    action_space = gym.spaces.Discrete(4)

    def __init__(self, length: int = LENGTH) -> None:
        self.length = length
        self.observation_space = gym.spaces.Box(0, 1, (length + 1,), np.float32)
        self.at = 0

    def right(self, at: int) -> int:
        return (7 * at + at // 3) % 4

    def reset(self, *, seed=None, options=None):
        self.at = 0
        return self._seen(), {}

    def step(self, action):
        self.at = self.at + 1 if action == self.right(self.at) else 0
        return self._seen(), float(self.at == self.length), self.at == self.length, False, {}

    def _seen(self):
        return np.eye(self.length + 1, dtype=np.float32)[self.at]


def chain_spec(length: int = LENGTH) -> EnvSpec:
    return EnvSpec("tests.robustification.chain:Chain", {"length": length})


def chain_demonstration(length: int = LENGTH) -> Demonstration:
    chain = Chain(length)
    rewards = np.zeros(length)
    rewards[-1] = 1.0
    return Demonstration(
        env=chain_spec(length),
        actions=np.array([chain.right(at) for at in range(length)], np.uint8),
        rewards=rewards,
        ends_episode=True,
        state="",
        frames_per_step=1,
    )


def chain_play(seed: int = 0, **view) -> Play:
    return make_play(chain_spec(), PlainView(**view), np.random.default_rng(seed))
