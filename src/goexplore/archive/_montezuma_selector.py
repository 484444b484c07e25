"""Selection in Montezuma's Revenge with domain knowledge (Methods, "Exploration phase")."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goexplore.archive._archive import Archive
from goexplore.archive._columns import Columns
from goexplore.cells import PYRAMID, ROOM_AT
from goexplore.errors import InputError

NO_ROOM = 255
Spot = tuple[int, int, int, int]  # level, room, x, y


class MontezumaSelector:
    """0.1^(L - l) (W + W_location), with W = 1/sqrt(C_seen + 1) and W_location = (2 - h)/10 + k.

    h counts the horizontal neighbours that are in the archive: cells with the same level and keys, one step to the
    left or right, across the border of a room too. k is 1 for the cells with the most keys at their spot. l is the
    cell's level and L the highest in the archive.

    Neighbours and bonuses change only where cells are added, and are kept up to date rather than computed anew: a
    selection costs a few vector operations. They follow from the archive's keys alone.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._known = Columns({"level": np.int64, "neighbours": np.int64, "most_keys": np.bool_})
        self._rows: dict[bytes, int] = {}
        self._at: dict[Spot, list[int]] = {}  # rows with the most keys at each spot
        self._key_count: dict[Spot, int] = {}
        self._leftmost, self._rightmost = 255, -1
        self._archive: Archive | None = None

    def weights(self, archive: Archive) -> NDArray[np.float64]:
        """Computes the weights of all cells."""
        if self._archive is not archive or len(self._known) > len(archive):
            self._forget()
            self._archive = archive
        reach = self._leftmost, self._rightmost
        for key in archive.keys[len(self._known) :]:
            self._add(key)
        if reach != (self._leftmost, self._rightmost):
            self._count_all_neighbours()
        level = self._known["level"]
        location = (2 - self._known["neighbours"]) / 10 + self._known["most_keys"]
        weights: NDArray[np.float64] = 0.1 ** (level.max() - level) * (
            1.0 / np.sqrt(archive.table["seen"] + 1.0) + location
        )
        return weights

    def _add(self, key: bytes) -> None:
        if len(key) < 4 or key[1] not in PYRAMID:
            raise InputError("the selector 'montezuma' works with the cells 'montezuma' only")
        spot: Spot = (key[0], key[1], key[2], key[3])
        held, most = len(key) - 4, self._key_count.get(spot, -1)
        row = self._known.append(level=key[0], neighbours=0, most_keys=held >= most)
        self._rows[key] = row
        if held > most:
            self._known["most_keys"][self._at.get(spot, [])] = False
            self._at[spot], self._key_count[spot] = [row], held
        elif held == most:
            self._at[spot].append(row)
        self._leftmost, self._rightmost = min(self._leftmost, key[2]), max(self._rightmost, key[2])
        beside = [other for other in map(self._rows.get, self._beside(key)) if other is not None]
        counts = self._known["neighbours"]
        counts[row] = len(beside)
        counts[beside] += 1

    def _count_all_neighbours(self) -> None:
        """The range in which the player was ever seen has grown: other cells now touch across rooms."""
        counts = self._known["neighbours"]
        for key, row in self._rows.items():
            counts[row] = sum(other in self._rows for other in self._beside(key))

    def _beside(self, key: bytes) -> list[bytes]:
        """The keys of the cells to the left and to the right."""
        beside = []
        for direction in (-1, 1):
            level, room, x, y = key[0], key[1], key[2] + direction, key[3]
            if not self._leftmost <= x <= self._rightmost:
                row, column = PYRAMID[room]
                room = ROOM_AT.get((row, column + direction), NO_ROOM)
                x = self._leftmost if direction > 0 else self._rightmost
            beside.append(bytes((level, room, x, y)) + key[4:])
        return beside
