"""What an environment tells of, counted by rollouts."""

from __future__ import annotations

import json

import gymnasium as gym
import numpy as np

import goexplore


class Bells(gym.Env):
    """Rings once for every seventh step, and knocks from the thirtieth step on."""

    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.Box(0, 1000, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        self.time = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.time += 1
        info = {"rings": np.bool_(self.time % 7 == 0), "knocks": self.time >= 30, "time": self.time, "never": False}
        return np.array([self.time], np.float32), 0.0, False, False, info

    def get_state(self):
        return {"time": self.time}

    def set_state(self, state):
        self.time = state["time"]


def test_a_search_counts_the_rollouts_in_which_something_was_so(tmp_path):
    explored = goexplore.explore(
        f"{__name__}:Bells",
        cells="observation:1",
        frames=400,
        out=tmp_path / "run",
        workers=2,
        progress=False,
        explore_steps=10,
        batch_size=4,
    )
    lines = [json.loads(line) for line in (explored.run / "metrics.jsonl").read_text().splitlines()]
    assert [line["rollouts_with_rings"] for line in lines] == [4] * 10, "every ten steps have a seventh"
    assert lines[0].get("rollouts_with_knocks") is None, "the first rollouts end at the tenth step"
    assert sum(line.get("rollouts_with_knocks", 0) for line in lines) > 0
    assert not {name for line in lines for name in line} & {"rollouts_with_never", "rollouts_with_time"}
