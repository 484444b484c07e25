"""A walk over a field that is seen as a picture: for cells made from frames."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np


class PictureWalk(gym.Env):
    """A bright square on a field of 12 x 12 places, each 3 x 3 pixels; every fifth step a light flickers.

    Actions: left, right, up, down. A step onto a corner is rewarded; stepping out at the lower edge ends the episode.
    """

    action_space = gym.spaces.Discrete(4)
    observation_space = gym.spaces.Box(0, 255, (36, 36), np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.x, self.y, self.time = 6, 6, 0
        return self._picture(), {}

    def step(self, action: int):
        dx, dy = ((-1, 0), (1, 0), (0, -1), (0, 1))[int(action)]
        out = self.y + dy > 11
        self.x, self.y, self.time = min(11, max(0, self.x + dx)), min(11, max(0, self.y + dy)), self.time + 1
        reward = float(self.x in (0, 11) and self.y in (0, 11))
        return self._picture(), reward, out, False, {}

    def _picture(self) -> np.ndarray:
        picture = np.full((36, 36), 40, np.uint8)
        picture[3 * self.y : 3 * self.y + 3, 3 * self.x : 3 * self.x + 3] = 220
        picture[0, 0] = 255 * (self.time % 5 == 0)
        return picture
