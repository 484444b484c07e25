"""Landmarks: places that a demonstration comes to, in order, and an episode that follows it should come to as well.

The paper goes by scores alone. Where points are far apart, or only the end of the game tells, cells of a search can
show how far an episode has come: rooms, gates, whatever was worth a cell. They serve training only; a policy sees what
it always sees.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from goexplore.cells import CellFunction
from goexplore.play import Play

AHEAD = 10
"""Landmarks ahead that an episode may come to next, leaving out those between: as wide as the window in which
policy-based Go-Explore follows a trajectory of cells."""


class Landmarks:
    """The cells that a demonstration comes to for the first time, but for detours.

    Of a cell that it comes back from to one where it was before, nothing shows that it leads anywhere: what the detour
    brought is in the score. An episode need not make it.

    Args:
        keys: the cell it is in before each of its steps, and after the last. One alone has no landmarks.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        first_step: dict[bytes, int] = {}
        for step, key in enumerate(keys):
            first_step.setdefault(key, step)
        on_the_way = set(_without_detours(keys)) - {keys[0]}  # it begins there
        self._keys = [key for key in first_step if key in on_the_way]
        self.steps: NDArray[np.int64] = np.array([first_step[key] for key in self._keys], np.int64)
        """After how many steps each is entered."""

    def by(self, step: int) -> int:
        """How many the demonstration has come to within so many steps."""
        return int(np.searchsorted(self.steps, step, side="right"))

    def behind(self, passed: int, key: bytes) -> int:
        """How many are behind an episode that had `passed` some and is now in the cell `key`."""
        ahead = self._keys[passed : passed + AHEAD]
        return passed + ahead.index(key) + 1 if key in ahead else passed


def _without_detours(keys: Sequence[bytes]) -> list[bytes]:
    """The cells of a path from the first to the last, with its loops left out."""
    path: dict[bytes, None] = {}
    for key in keys:
        if key in path:
            while next(reversed(path)) != key:
                path.popitem()
        path[key] = None
    return list(path)


class Tracker:
    """The cell that a game is in, for landmarks.

    Args:
        play: the game.
        cells: what a cell is; None for no landmarks, with one cell everywhere.
    """

    def __init__(self, play: Play, cells: CellFunction | None) -> None:
        self._play, self._cells = play, cells

    def reset(self) -> None:
        """The game was reset. The next call is `key`."""
        if self._cells is not None:
            self._cells.reset()

    def key(self) -> bytes:
        """The cell now: to be asked for after a reset, then once after every step."""
        return b"" if self._cells is None else self._play.cell_key(self._cells)

    def save(self) -> bytes:
        """What the cells have tracked."""
        return b"" if self._cells is None else self._cells.save()

    def load(self, tracked: bytes) -> None:
        """The game was put where `save` returned this."""
        if self._cells is not None:
            self._cells.load(tracked)
