"""Environments that break a promise, each in its own way; `check-env` must catch every one."""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np


class Honest(gym.Env):
    """A counter; the liars below differ from it in one thing."""

    observation_space = gym.spaces.Box(-10_000, 10_000, (2,), np.int64)
    action_space = gym.spaces.Discrete(3)

    def __init__(self) -> None:
        self.x = self.hidden = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.x = self.hidden = 0
        return self.observe(), {}

    def step(self, action: int):
        self.hidden += action
        self.x += action - 1 + (self.hidden % 7 == 0)
        return self.observe(), float(self.x == 5), abs(self.x) > 30, False, {}

    def observe(self):
        return np.array([self.x, abs(self.x)], np.int64)

    def get_state(self):
        return (self.x, self.hidden)

    def set_state(self, state) -> None:
        self.x, self.hidden = state


class GlobalRandomness(Honest):
    def step(self, action: int):
        self.x += random.randint(0, 1)
        return super().step(action)


class ClockRandomness(Honest):
    def step(self, action: int):
        self.x += time.perf_counter_ns() // 100 % 2
        return super().step(action)


class ForgetfulState(Honest):
    """Leaves part of its state out of the snapshot."""

    def get_state(self):
        return (self.x,)

    def set_state(self, state) -> None:
        (self.x,) = state


class ResetKeepsSomething(Honest):
    def reset(self, *, seed=None, options=None):
        kept = self.hidden
        result = super().reset(seed=seed)
        self.hidden = kept
        return result


class StateInTheProcess(Honest):
    """Keeps its state outside itself and hands out a ticket: worthless in another process."""

    drawer: ClassVar[dict[int, tuple[int, int]]] = {}

    def get_state(self):
        ticket = 10_000 * self.x + self.hidden
        self.drawer[ticket] = (self.x, self.hidden)
        return ticket

    def set_state(self, state) -> None:
        self.x, self.hidden = self.drawer.get(state, (0, 0))


class TicketFromAnotherProcess(StateInTheProcess):
    """The same, but it raises."""

    def set_state(self, state) -> None:
        self.x, self.hidden = self.drawer[state]


class Chatty(Honest):
    def __init__(self) -> None:
        super().__init__()
        print("hello from the environment")


class NanReward(Honest):
    def step(self, action: int):
        observation, _, terminated, truncated, info = super().step(action)
        return observation, float("nan") if self.x == 3 else 0.0, terminated, truncated, info


class CrashesTheProcess(Honest):
    """Kills its worker process, but only until a marker file says it has done so often enough."""

    def __init__(self, marker: str = "", times: int = 1) -> None:
        super().__init__()
        self.marker, self.times = marker, times

    def step(self, action: int):
        if self.marker and self.x == 4 and sys.argv[0].endswith("_worker.py"):
            crashes = Path(self.marker).read_text().count("x") if Path(self.marker).exists() else 0
            if crashes < self.times:
                Path(self.marker).write_text("x" * (crashes + 1))
                os._exit(7)
        return super().step(action)
