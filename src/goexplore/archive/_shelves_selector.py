"""Selection for the robot as the authors' code had it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goexplore.archive._archive import Archive
from goexplore.archive._columns import Columns
from goexplore.errors import InputError

SHELVES_KEY = 9
"""Bytes of a key of the cells `shelves`; the first two are the upper door and its latch."""


class ShelvesSelector:
    """1 / sqrt(C_seen + 1), and one more for every bin by which the upper door and its latch have moved.

    The paper does not mention the bonus, and the lower door has none. It follows from the archive's keys alone.
    """

    def __init__(self) -> None:
        self._known = Columns({"bonus": np.int64})
        self._archive: Archive | None = None

    def weights(self, archive: Archive) -> NDArray[np.float64]:
        """Computes the weights of all cells."""
        if self._archive is not archive or len(self._known) > len(archive):
            self._known, self._archive = Columns({"bonus": np.int64}), archive
        for key in archive.keys[len(self._known) :]:
            if len(key) != SHELVES_KEY:
                raise InputError("the selector 'shelves' works with the cells 'shelves' only")
            self._known.append(bonus=key[0] + key[1])
        weights: NDArray[np.float64] = 1.0 / np.sqrt(archive.table["seen"] + 1.0) + self._known["bonus"]
        return weights
