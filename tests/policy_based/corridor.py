"""A corridor with a coin at its end; action 1 leads on, action 0 back."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from goexplore.cells import GoalCells

LENGTH = 12


class Corridor(gym.Env):
    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.Box(0, 1, (LENGTH,), np.float32)

    def reset(self, *, seed=None, options=None):
        self.at = 0
        return self._seen(), {}

    def step(self, action):
        self.at = max(0, self.at + (1 if action else -1))
        done = self.at == LENGTH - 1
        return self._seen(), 5.0 * done, done, False, {}

    def _seen(self):
        return np.eye(LENGTH, dtype=np.float32)[self.at]

    def get_state(self):
        return {"at": self.at}

    def set_state(self, state):
        self.at = state["at"]


class Fading(Corridor):
    """The coin is worth less the later it comes, and whoever goes back at the beginning falls out for nothing."""

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return super().reset(seed=seed, options=options)

    def step(self, action):
        self.steps += 1
        falls = not action and not self.at
        seen, reward, done, cut, info = super().step(action)
        return seen, reward * 0.9**self.steps, done or falls, cut, info

    def get_state(self):
        return {"at": self.at, "steps": self.steps}

    def set_state(self, state):
        self.at, self.steps = state["at"], state["steps"]


class Toll(Corridor):
    """Two points for coming to the fourth place the first time, beside the coin."""

    def reset(self, *, seed=None, options=None):
        self.paid = False
        return super().reset(seed=seed, options=options)

    def step(self, action):
        seen, reward, done, cut, info = super().step(action)
        pays = self.at == 3 and not self.paid
        self.paid |= pays
        return seen, reward + 2.0 * pays, done, cut, info

    def get_state(self):
        return {"at": self.at, "paid": self.paid}

    def set_state(self, state):
        self.at, self.paid = state["at"], state["paid"]


class Places(GoalCells):
    attributes = {"at": LENGTH}  # noqa: RUF012

    def values(self, observation, env):
        return (env.unwrapped.at,)

    def neighbours(self, values):
        return self.grid_neighbours(values, "at")
