"""Selection in two steps: first a room, then a cell in it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goexplore.archive._archive import Archive
from goexplore.archive._columns import Columns


class RoomSelector:
    """Draws a room by 1 / (rollouts begun in it + 1), then one of its cells by 1 / (C_seen + 1).

    A room with many cells would otherwise get most of the attention, though it is the new rooms behind it that matter.
    Rooms follow from the archive's keys alone.

    Args:
        prefix: bytes at the beginning of a key that say which room it is.
    """

    def __init__(self, prefix: int) -> None:
        self._prefix = prefix
        self._forget()

    def _forget(self) -> None:
        self._known = Columns({"room": np.int64})
        self._rooms: dict[bytes, int] = {}
        self._archive: Archive | None = None
        self._representation = b""

    def weights(self, archive: Archive) -> NDArray[np.float64]:
        """Computes the weights of all cells."""
        if self._archive is not archive or self._representation != archive.representation:
            self._forget()
            self._archive, self._representation = archive, archive.representation
        for key in archive.keys[len(self._known) :]:
            self._known.append(room=self._rooms.setdefault(key[: self._prefix], len(self._rooms)))
        room, count = self._known["room"], len(self._rooms)
        of_cell = 1.0 / (archive.table["seen"] + 1.0)
        of_room = 1.0 / (np.bincount(room, weights=archive.table["chosen"], minlength=count) + 1.0)
        weights: NDArray[np.float64] = of_cell * (of_room / np.bincount(room, weights=of_cell, minlength=count))[room]
        return weights
