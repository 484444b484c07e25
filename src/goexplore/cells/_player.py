"""Finding the player on an Atari screen, for cells made from knowledge of a game.

The paper extracts that knowledge from pixels with small hand-written classifiers rather than from memory (Methods,
"Domain knowledge representations"). Ours look at palette indices, the cheapest picture the emulator gives.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goexplore.errors import InputError

TOP = 50
"""Rows at the top that the player never enters (Extended Data Table 1: "the top 50 pixels are ignored")."""
FACE = b"\x4a"
"""Palette index of the player's face, (228, 111, 111); in both games nothing else below `TOP` has it."""
FACE_ROWS = 8


class Place(NamedTuple):
    """Mean position of the player's face in pixels; y counts from `TOP`."""

    x: float
    y: float

    def on_grid(self, width: int, height: int) -> tuple[int, int]:
        """Column and row of a grid of `width` x `height` pixels."""
        return int(self.x) // width, int(self.y) // height


def find_player(screen: NDArray[np.uint8]) -> Place | None:
    """Returns where the player is, or None when no face is seen: dead, hidden, or between two rooms."""
    width, pixels = screen.shape[1], screen[TOP:].tobytes()
    first = pixels.find(FACE)
    if first < 0:
        return None
    # A face has some twenty pixels: finding one after the other is faster than any array of them.
    top = first // width
    at, count, columns, rows = first, 0, 0, 0
    while at >= 0:
        row, column = divmod(at, width)
        count, columns, rows = count + 1, columns + column, rows + row - top
        at = pixels.find(FACE, at + 1, (top + FACE_ROWS) * width)
    return Place(columns / count, rows / count + top)


def palette_screen(observation: Any, env: Any, cells: str) -> NDArray[np.uint8]:
    """Checks that the observation is an Atari screen of palette indices.

    Raises:
        InputError: it is not.
    """
    if getattr(env, "observation_kind", None) != "palette":
        raise InputError(
            f"{cells} cells need the Atari screen as palette indices: set the environment's observation=palette"
            " (goexplore explore does so by itself unless told otherwise)"
        )
    screen: NDArray[np.uint8] = observation
    return screen
