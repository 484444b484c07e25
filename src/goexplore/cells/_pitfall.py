"""Pitfall from pixels: one of 255 rooms, and the position in it.

Rooms form a ring and are numbered from the first one rightwards. The player leaves at one side and appears at the
other; a passage underground goes three rooms at a time.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.cells._player import TOP, Place, find_player, palette_screen
from goexplore.cells._protocol import CellFunction
from goexplore.errors import InputError

ROOMS = 255
UNDERGROUND = 70.0
"""Pixels below `TOP` from which the player is underground (measured: 56 on the ground, 111 below)."""
LEFT, RIGHT = 15.0, 145.0
"""Pixels within which a player who leaves or enters a room is seen."""

LIVES_ROW, LIVES_COLUMNS, BETWEEN_LIVES = 22, (21, 23), 22
"""Pixels of the two bars beside the clock, one for each life in reserve."""
DROP = Place(23.0, 22.0)
"""Where a player who lost a life is first seen again: he drops from the trees on the left."""

_STATE = struct.Struct("<Bdd?B")


class PitfallCells(CellFunction):
    """(room, x, y) of Pitfall.

    Args:
        cell_width: pixels of x in one cell. Paper: 8, that is 16 of the doubled pixels it counts.
        cell_height: pixels of y in one cell. Paper: 16.
    """

    TOP = TOP

    atari_screen = "palette"

    def __init__(self, cell_width: int = 8, cell_height: int = 16) -> None:
        if cell_width < 1 or cell_height < 1:
            raise InputError(f"pitfall:{cell_width}x{cell_height}: expected a cell of at least 1 x 1 pixels")
        self.cell_width, self.cell_height = cell_width, cell_height
        self.reset()

    def reset(self) -> None:
        """The first room."""
        self.room, self.place, self._known, self._lives = 0, Place(0.0, 0.0), False, len(LIVES_COLUMNS)

    def key(self, observation: Any, env: Any) -> bytes:
        """Looks at the screen and returns room, x and y, one byte each."""
        self.look_at(palette_screen(observation, env, "pitfall"))
        return bytes((self.room, *self.place.on_grid(self.cell_width, self.cell_height)))

    def describe(self, key: bytes) -> dict[str, Any]:
        """What a key says."""
        room, x, y = key
        return {"room": room, "x": x, "y": y}

    def look_at(self, screen: NDArray[np.uint8]) -> None:
        """Updates what is tracked.

        A picture without the player changes nothing, until a bar of the lives goes out: then he waits above the screen.
        """
        place = find_player(screen)
        lives = sum(int(screen[LIVES_ROW, column] != screen[LIVES_ROW, BETWEEN_LIVES]) for column in LIVES_COLUMNS)
        if place is None:
            if lives < self._lives:
                self.place = DROP
            return
        self._lives = lives
        if self._known:
            rooms = 3 if place.y > UNDERGROUND else 1
            if self.place.x > RIGHT and place.x < LEFT:
                self.room = (self.room + rooms) % ROOMS
            elif self.place.x < LEFT and place.x > RIGHT:
                self.room = (self.room - rooms) % ROOMS
        self.place, self._known = place, True

    def save(self) -> bytes:
        """Everything tracked."""
        return _STATE.pack(self.room, *self.place, self._known, self._lives)

    def load(self, state: bytes) -> None:
        """Takes up what was tracked."""
        self.room, x, y, self._known, self._lives = _STATE.unpack(state)
        self.place = Place(x, y)
