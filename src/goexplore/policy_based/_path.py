"""Following a trajectory of cells in soft order (Methods, "Policy-based Go-Explore")."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeAlias

Cell: TypeAlias = Hashable


class Path:
    """The cells that a trajectory went through, each stay in one of them counted once.

    Args:
        cells: the cell after each step.
    """

    def __init__(self, cells: Iterable[Cell]) -> None:
        self.cells: list[Cell] = []
        self.stays: list[int] = []
        """Steps of each stay."""
        for cell in cells:
            if self.cells and cell == self.cells[-1]:
                self.stays[-1] += 1
            else:
                self.cells.append(cell)
                self.stays.append(1)

    def __len__(self) -> int:
        return len(self.cells)

    def save(self, encode: Callable[[Any], Any]) -> list[Any]:
        """As plain values; `encode` makes one of a cell."""
        return [[encode(cell) for cell in self.cells], self.stays]

    @classmethod
    def restored(cls, saved: list[Any], decode: Callable[[Any], Any]) -> Path:
        """From what `save` returned."""
        cells, stays = saved
        made = cls([])
        made.cells, made.stays = [decode(cell) for cell in cells], list(stays)
        return made


class Follower:
    """Walks along a path: the next goal is met by reaching it, or one of those soon after it.

    Args:
        path: of at least one cell.
        window: so many cells of the path, from the next goal on, meet it.
        from_goal: measure `allowance` from the goal that was to be met, as the authors' code does, instead of from the
            first cell of the window that was.
    """

    def __init__(self, path: Path, *, window: int, from_goal: bool = False) -> None:
        self._path, self._window, self._from_goal = path, window, from_goal
        self._next = 0
        self.allowance = 0
        """Steps that the trajectory took from the goal met last to the next one; 0 before the first."""

    @property
    def goal(self) -> Cell:
        """The cell to go to; at the end of the path its last one."""
        return self._path.cells[min(self._next, len(self._path) - 1)]

    @property
    def finished(self) -> bool:
        """Whether the end of the path was reached."""
        return self._next == len(self._path)

    def meet(self, cell: Cell) -> bool:
        """Says where one is; returns whether that meets the goal, which then is the one after it.

        Where the path comes back to a cell within the window, the last time counts.
        """
        ahead = self._path.cells[self._next : self._next + self._window]
        if cell not in ahead:  # most of the time
            return False
        met = [place for place, other in enumerate(ahead, self._next) if other == cell]
        first, last = self._next if self._from_goal else met[0], met[-1]
        self.allowance = sum(self._path.stays[first : last + 1])
        self._next = last + 1
        return True

    def save(self) -> list[int]:
        """How far it is, as plain values."""
        return [self._next, self.allowance]

    def restore(self, saved: list[int]) -> None:
        """Takes over what `save` returned."""
        self._next, self.allowance = saved


def temperature(overdue: int, *, factor: float, power: float) -> float:
    """e_t: what logits are divided by when a goal (or a new cell) has been overdue for so many steps."""
    return 1.0 + math.pow(max(0, overdue) * factor, power)
