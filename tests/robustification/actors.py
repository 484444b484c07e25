"""Actors of the backward algorithm, and small games for them."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from goexplore.robustification import Actor, BackwardConfig, Balance, Curriculum, RewardScale, Route, whole
from tests.robustification.chain import chain_demonstration, chain_play


def actor(config: BackwardConfig, *, odds=0.0, route=None, play=None, seed=0):
    play = play or chain_play()
    route = route or Route(chain_demonstration(), play)
    window = max(1, config.window_frames // play.frames_per_step)
    curriculum = Curriculum(whole(len(route)), window=window, threshold=config.move_threshold)
    made = Actor(
        play, [route], curriculum, Balance(odds, 1), config, scale=RewardScale(), rng=np.random.default_rng(seed)
    )
    return made, curriculum, route


class Scores(gym.Env):
    """A reward at one step; may die later."""

    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.Box(0, 1000, (1,), np.float32)

    def __init__(self, at: int = 5, reward: float = 1.0, dies_after: int = 10_000) -> None:
        self.at, self.reward, self.dies_after, self.time = at, reward, dies_after, 0

    def reset(self, *, seed=None, options=None):
        self.time = 0
        return np.array([0.0], np.float32), {}

    def step(self, action):
        reward = self.reward if self.time == self.at else 0.0
        self.time += 1
        return np.array([float(self.time)], np.float32), reward, self.time >= self.dies_after, False, {}
