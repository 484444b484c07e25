"""The paper's thought experiment: a busy highway, and an overpass further off.

SI, "Policy-based Go-Explore and Stochastic Environments". Registered with Gymnasium as `goexplore/Highway-v0`.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

MAP = (
    ".G.......",
    ".........",
    "========|",
    "========|",
    "========|",
    "========|",
    ".........",
    ".S.......",
)
"""S: start. G: goal. =: lanes. |: the overpass."""
WIDTH, HEIGHT = len(MAP[0]), len(MAP)
MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))  # north, east, south, west
TRAFFIC = 0.25
"""Probability that a place on a lane is run over in a step."""


class Highway(gym.Env[NDArray[np.float32], np.int64]):
    """A robot that wants to the other side. Nothing it sees tells when a car comes.

    There is no reward: what counts is whether a policy can return to the goal. A car ends the episode. The observation
    is where the robot is: a place for each column and each row, of which one is 1. Cars depend on the reset's seed:
    give every episode another one (`view.new_seeds` for policies).

    Args:
        traffic: probability that a place on a lane is run over in a step.
        render_mode: None or "rgb_array".
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 8}  # noqa: RUF012 - Gymnasium's own convention

    def __init__(self, traffic: float = TRAFFIC, render_mode: str | None = None) -> None:
        self.traffic, self.render_mode = traffic, render_mode
        self.action_space = gym.spaces.Discrete(len(MOVES))
        self.observation_space = gym.spaces.Box(0.0, 1.0, (WIDTH + HEIGHT,), np.float32)
        self._start = next((row.index("S"), y) for y, row in enumerate(MAP) if "S" in row)
        self.x, self.y = self._start

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Starts on this side. Cars depend on the seed."""
        super().reset(seed=seed)
        self.x, self.y = self._start
        return self._observe(), {}

    def step(self, action: int | np.int64) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Moves by one place, as far as the map goes; on a lane a car may come."""
        dx, dy = MOVES[action]
        x, y = self.x + dx, self.y + dy
        if 0 <= x < WIDTH and 0 <= y < HEIGHT:
            self.x, self.y = x, y
        place = MAP[self.y][self.x]
        hit = place == "=" and bool(self.np_random.random() < self.traffic)
        return self._observe(), 0.0, hit, False, {"hit": hit, "overpass": place == "|", "goal": place == "G"}

    def get_state(self) -> dict[str, Any]:
        """Where the robot is, and the cars to come."""
        return {"at": (self.x, self.y), "cars": self.np_random.bit_generator.state}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restores what `get_state` saved."""
        self.x, self.y = state["at"]
        self.np_random.bit_generator.state = state["cars"]

    def render(self) -> NDArray[np.uint8]:
        """Draws the map, 16 pixels a place."""
        colours = {"=": (150, 150, 155), "|": (200, 160, 90), "G": (80, 180, 100)}
        picture = np.full((HEIGHT, WIDTH, 3), 245, np.uint8)
        for y, row in enumerate(MAP):
            for x, place in enumerate(row):
                picture[y, x] = colours.get(place, (245, 245, 245))
        picture[self.y, self.x] = (40, 110, 220)
        return picture.repeat(16, axis=0).repeat(16, axis=1)

    def _observe(self) -> NDArray[np.float32]:
        seen = np.zeros(WIDTH + HEIGHT, np.float32)
        seen[self.x] = seen[WIDTH + self.y] = 1.0
        return seen


def register() -> None:
    """Makes it known to `gymnasium.make`."""
    if "goexplore/Highway-v0" not in gym.registry:
        gym.register("goexplore/Highway-v0", entry_point="goexplore.envs.highway:Highway", max_episode_steps=200)
