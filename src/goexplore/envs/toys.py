"""Small deterministic environments for tests and documentation.

Registered with Gymnasium as `goexplore/KeyDoorMaze-v0`, `goexplore/Chain-v0` and
`goexplore/PointRooms-v0`.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

MAZE = (
    "###############",
    "#S....#.......#",
    "#.###.#.#####.#",
    "#...#...#...#.#",
    "###.#####.#.#.#",
    "#...#...#.#...#",
    "#.###.#.#.###.#",
    "#.....#...#..K#",
    "#######D#######",
    "#...........#.#",
    "#.#########.#.#",
    "#.#G......#...#",
    "#.#######.###.#",
    "#.............#",
    "###############",
)
MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))  # north, east, south, west


class KeyDoorMaze(gym.Env[NDArray[np.int64], np.int64]):
    """A maze whose goal lies behind a door, and whose key lies at the end of a long corridor.

    Reward: 1 for the key, 10 for the goal, nothing else. The observation is (x, y, has_key).
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 8}  # noqa: RUF012 - Gymnasium's own convention

    def __init__(self, render_mode: str | None = None) -> None:
        size = len(MAZE)
        self.observation_space = gym.spaces.Box(0, size, (3,), np.int64)
        self.action_space = gym.spaces.Discrete(4)
        self.render_mode = render_mode
        self._start = next((row.index("S"), y) for y, row in enumerate(MAZE) if "S" in row)
        self.x, self.y, self.has_key = *self._start, False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int64], dict[str, Any]]:
        """Starts in the top left corner, without the key."""
        super().reset(seed=seed)
        self.x, self.y, self.has_key = *self._start, False
        return self._observe(), {}

    def step(self, action: int | np.int64) -> tuple[NDArray[np.int64], float, bool, bool, dict[str, Any]]:
        """Moves one square if nothing is in the way."""
        dx, dy = MOVES[action]
        square = MAZE[self.y + dy][self.x + dx]
        if square == "#" or (square == "D" and not self.has_key):
            return self._observe(), 0.0, False, False, {}
        self.x, self.y = self.x + dx, self.y + dy
        if square == "K" and not self.has_key:
            self.has_key = True
            return self._observe(), 1.0, False, False, {}
        return self._observe(), 10.0 if square == "G" else 0.0, square == "G", False, {}

    def get_state(self) -> tuple[int, int, bool]:
        """Saves the position and the key."""
        return self.x, self.y, self.has_key

    def set_state(self, state: tuple[int, int, bool]) -> None:
        """Restores what `get_state` saved."""
        self.x, self.y, self.has_key = state

    def render(self) -> NDArray[np.uint8]:
        """Draws the maze, 16 pixels a square."""
        colours = {
            "#": (52, 58, 64),
            "D": (160, 96, 40),
            "K": (240, 200, 60),
            "G": (80, 180, 100),
        }
        picture = np.full((len(MAZE), len(MAZE), 3), 245, np.uint8)
        for y, row in enumerate(MAZE):
            for x, square in enumerate(row):
                if square in colours and not (square in "KD" and self.has_key):
                    picture[y, x] = colours[square]
        picture[self.y, self.x] = (40, 110, 220)
        return picture.repeat(16, axis=0).repeat(16, axis=1)

    def _observe(self) -> NDArray[np.int64]:
        return np.array([self.x, self.y, self.has_key], np.int64)


class Chain(gym.Env[np.int64, np.int64]):
    """A corridor of `length` states with a reward only at its far end.

    Action 1 goes one state on, action 0 back to the start. It has no state hooks on purpose: the
    generic adapter has to copy it.
    """

    def __init__(self, length: int = 50) -> None:
        self.length = length
        self.observation_space = gym.spaces.Discrete(length)
        self.action_space = gym.spaces.Discrete(2)
        self.position = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        """Starts at state 0."""
        super().reset(seed=seed)
        self.position = 0
        return np.int64(self.position), {}

    def step(self, action: int | np.int64) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        """Goes on or falls back."""
        self.position = self.position + 1 if action == 1 else 0
        done = self.position == self.length - 1
        return np.int64(self.position), float(done), done, False, {}


class PointRooms(gym.Env[NDArray[np.float64], NDArray[np.float32]]):
    """A point with inertia in two rooms joined by a narrow gap: continuous actions.

    The action accelerates in x and y. Reward 1 for touching the far corner of the second room.
    """

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (4,), np.float64)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.state: NDArray[np.float64] = np.array([-0.8, -0.8, 0.0, 0.0])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Starts in the lower left corner, at rest."""
        super().reset(seed=seed)
        self.state = np.array([-0.8, -0.8, 0.0, 0.0])
        return self.state.copy(), {}

    def step(self, action: NDArray[np.float32]) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
        """Accelerates and moves; walls stop the point."""
        velocity = 0.9 * self.state[2:] + 0.02 * np.asarray(action, np.float64)
        position = self.state[:2] + velocity
        crosses = (position[0] > 0) != (self.state[0] > 0)
        if crosses and abs(position[1] - 0.5) > 0.15:
            position[0], velocity[0] = self.state[0], 0.0
        inside = np.clip(position, -1.0, 1.0)
        velocity = np.where(inside == position, velocity, 0.0)
        self.state = np.concatenate([inside, velocity])
        done = bool(inside[0] > 0.8 and inside[1] < -0.8)
        return self.state.copy(), float(done), done, False, {}

    def get_state(self) -> NDArray[np.float64]:
        """Saves position and velocity."""
        return self.state.copy()

    def set_state(self, state: NDArray[np.float64]) -> None:
        """Restores what `get_state` saved."""
        self.state = state.copy()


def register() -> None:
    """Makes the toys known to `gymnasium.make`."""
    for env_id, entry_point in (
        ("goexplore/KeyDoorMaze-v0", "goexplore.envs.toys:KeyDoorMaze"),
        ("goexplore/Chain-v0", "goexplore.envs.toys:Chain"),
        ("goexplore/PointRooms-v0", "goexplore.envs.toys:PointRooms"),
    ):
        if env_id not in gym.registry:
            gym.register(env_id, entry_point=entry_point)
