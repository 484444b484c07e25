"""Montezuma's Revenge from pixels: level, room, position, and the keys held with the rooms they came from.

The screen does not say which room it shows, so rooms are tracked: the player leaves through one edge and appears at
the opposite edge of the next room of the pyramid. After a death the game may put him back into the room he came
from; which of the two it is, is told by comparing the picture with those last seen of both.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.cells._player import TOP, Place, find_player, palette_screen
from goexplore.cells._protocol import CellFunction
from goexplore.errors import InputError

PYRAMID: dict[int, tuple[int, int]] = {}
"""Row and column of each of the 24 rooms; rows of 3, 5, 7 and 9, centred."""
for _row in range(4):
    for _place in range(3 + 2 * _row):
        PYRAMID[len(PYRAMID)] = (_row, 3 - _row + _place)
ROOM_AT = {place: room for room, place in PYRAMID.items()}
START_ROOM, TREASURE_ROOM, BESIDE_TREASURE = 1, 15, 16
TREASURE_BLUE = 0x90
"""Palette index of the treasure room's walls, which fill 70% of the screen."""

LEFT, RIGHT, HIGH, LOW = 20.0, 140.0, 20.0, 120.0
"""Pixels within which a player who leaves or enters a room is seen (measured: 3 to 13, 145 to 155; 11 to 18, 124 to
132)."""

INVENTORY = (slice(28, 43), slice(56, 104))
"""Where items are shown: six places, 8 pixels wide."""
KEY_PIXELS = 40
"""Lit pixels of a key; of a hammer 50, of a sword 37, of a torch 42."""
LOOK = (slice(TOP + 8, None, 16), slice(8, None, 16))
"""Pixels by which two rooms are told apart, 10 x 10."""

UNSEEN = bytes(100)
"""The look of a room in which the player has not been seen yet."""

_STATE = struct.Struct("<BBddBB100s100s")


class MontezumaCells(CellFunction):
    """(level, room, x, y, keys) of Montezuma's Revenge.

    Args:
        cell_width: pixels of x in one cell. Paper: 8, that is 16 of the doubled pixels it counts.
        cell_height: pixels of y in one cell. Paper: 16.
    """

    TOP = TOP

    atari_screen = "palette"

    def __init__(self, cell_width: int = 8, cell_height: int = 16) -> None:
        if cell_width < 1 or cell_height < 1:
            raise InputError(f"montezuma:{cell_width}x{cell_height}: expected a cell of at least 1 x 1 pixels")
        self.cell_width, self.cell_height = cell_width, cell_height
        self._keys_shown: dict[bytes, int] = {}
        self.reset()

    def reset(self) -> None:
        """The first room of the first level, without keys."""
        self.level, self.room = 0, START_ROOM
        self.keys: tuple[int, ...] = ()
        """Rooms in which the keys held were found, in that order."""
        self.place = Place(0.0, 0.0)
        self._seen = False  # whether the player was seen in the last picture
        self._moved = False  # whether the room changed in a blank picture
        self._came_from = START_ROOM
        self._look = self._look_before = UNSEEN

    def key(self, observation: Any, env: Any) -> bytes:
        """Looks at the screen and returns level, room, x, y and the rooms of the keys, one byte each."""
        self.look_at(palette_screen(observation, env, "montezuma"))
        column, row = self.place.on_grid(self.cell_width, self.cell_height)
        return bytes((self.level, self.room, column, row, *sorted(self.keys)))

    def describe(self, key: bytes) -> dict[str, Any]:
        """What a key says."""
        level, room, x, y, *keys = key
        return {"level": level, "room": room, "x": x, "y": y, "keys": tuple(keys)}

    def look_at(self, screen: NDArray[np.uint8]) -> None:
        """Updates what is tracked. A picture that makes no sense changes nothing."""
        place = find_player(screen)
        if place is not None:
            if self.room == BESIDE_TREASURE and _shows_treasure_room(screen):
                self._enter(0, -1)  # which may be drawn while he steps in: then neither he nor a blank was seen
            elif self._seen or self._moved:
                self._follow(place)
            else:
                self._reappear(screen)
            self._finish_level(screen)
            self.place, self._seen, self._moved = place, True, False
            if self._look == UNSEEN:
                self._look = screen[LOOK].tobytes()
        elif self._seen and not screen[TOP:].any():  # the blank between two rooms
            self._leave()
        else:
            self._seen = False
        self._count_keys(screen)

    def _follow(self, place: Place) -> None:
        """Notices that the player came out at the opposite edge."""
        before = self.place
        if before.x > RIGHT and place.x < LEFT:
            self._enter(0, 1)
        elif before.x < LEFT and place.x > RIGHT:
            self._enter(0, -1)
        elif before.y > LOW and place.y < HIGH + 15:
            self._enter(1, 0)
        elif before.y < HIGH and place.y > LOW:
            self._enter(-1, 0)

    def _leave(self) -> None:
        """Moves on when the screen goes blank at an edge; the player will be seen in the next picture."""
        x, y = self.place
        room = self.room
        if y > LOW:
            self._enter(1, 0)
            entry = Place(x, HIGH - 6)
        elif x > RIGHT:
            self._enter(0, 1)
            entry = Place(LEFT - 15, y)
        elif x < LEFT:
            self._enter(0, -1)
            entry = Place(RIGHT + 12, y)
        elif y < HIGH:
            self._enter(-1, 0)
            entry = Place(x, LOW + 10)
        else:
            self._seen = False
            return
        self._seen, self._moved = False, self.room != room
        if self._moved:
            self.place = entry

    def _enter(self, down: int, right: int) -> None:
        row, column = PYRAMID[self.room]
        entered = ROOM_AT.get((row + down, column + right))
        if entered is None:
            return  # there is no such room: the reading was wrong
        self._came_from, self.room = self.room, entered
        self._look_before, self._look = self._look, UNSEEN

    def _finish_level(self, screen: NDArray[np.uint8]) -> None:
        """After some seconds in the treasure room the next level begins, in its first room."""
        if self.room != TREASURE_ROOM or self._look == UNSEEN:
            return
        if _difference(screen[LOOK].tobytes(), self._look) > len(UNSEEN) // 2:
            self.level, self.room, self._came_from = min(self.level + 1, 255), START_ROOM, START_ROOM
            self._look = self._look_before = UNSEEN

    def _reappear(self, screen: NDArray[np.uint8]) -> None:
        """After a death: still in this room, or put back into the one he came from?"""
        if self._came_from == self.room or self._look_before == UNSEEN:
            return
        look = screen[LOOK].tobytes()
        if _difference(look, self._look_before) < _difference(look, self._look):
            self.room, self._came_from = self._came_from, self.room
            self._look, self._look_before = self._look_before, self._look

    def _count_keys(self, screen: NDArray[np.uint8]) -> None:
        shown = screen[INVENTORY].tobytes()
        count = self._keys_shown.get(shown)
        if count is None:
            lit = np.frombuffer(shown, np.uint8).reshape(15, 6, 8) != 0
            count = self._keys_shown[shown] = int((lit.sum((0, 2)) == KEY_PIXELS).sum())
        if count > len(self.keys):
            self.keys += (self.room,) * (count - len(self.keys))
        elif count < len(self.keys):
            self.keys = self.keys[:count]

    def save(self) -> bytes:
        """Everything tracked."""
        flags = self._seen | self._moved << 1
        packed = _STATE.pack(self.level, self.room, *self.place, flags, self._came_from, self._look, self._look_before)
        return packed + bytes(self.keys)

    def load(self, state: bytes) -> None:
        """Takes up what was tracked."""
        level, room, x, y, flags, came_from, look, look_before = _STATE.unpack_from(state)
        self.level, self.room, self.place, self._came_from = level, room, Place(x, y), came_from
        self._seen, self._moved = bool(flags & 1), bool(flags & 2)
        self._look, self._look_before = look, look_before
        self.keys = tuple(state[_STATE.size :])


def _shows_treasure_room(screen: NDArray[np.uint8]) -> bool:
    return int((screen[LOOK] == TREASURE_BLUE).sum()) > len(UNSEEN) // 2


def _difference(look: bytes, other: bytes) -> int:
    """Pixels that differ."""
    return int((np.frombuffer(look, np.uint8) != np.frombuffer(other, np.uint8)).sum())
