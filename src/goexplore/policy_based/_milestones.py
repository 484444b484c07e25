"""Cells in which the score rose: who returns to one has its points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import Archive, Trajectory
from goexplore.policy_based._stretch import CELL, END, StepCodec


class Milestones:
    """Finds them among the cells of an archive.

    Args:
        archive: cells and the ways to them.
        codec: reads the steps of a way.
        begins_in: whether episodes have begun in the cell of a row.
    """

    def __init__(self, archive: Archive, codec: StepCodec, begins_in: Callable[[int], bool]) -> None:
        self._archive, self._codec, self._begins_in = archive, codec, begins_in
        self._known: dict[tuple[int, Trajectory], bool] = {}

    def needs_its_score(self, row: int) -> bool:
        """Whether the way to a cell enters it only after its points were scored, or the game ends with it.

        Else one may be there with less: in front of a door that is opened for points, say.
        """
        if self._archive.keys[row] == END:
            return True
        way = row, self._archive.trajectory(row)
        if way not in self._known:
            steps = self._archive.forest.actions(way[1])
            scored = np.flatnonzero(self._codec.rewards(steps) > 0)
            known_before = steps[: scored[-1] + 1, CELL] if len(scored) else steps[:0, CELL]
            begins_here = len(scored) > 0 and self._begins_in(row)
            self._known[way] = not begins_here and row not in known_before
        return self._known[way]

    def among(self, eligible: NDArray[np.bool_]) -> list[int]:
        """Of some rows those that one comes to with more score than to all that are reached as soon."""
        found, highest = list[int](), 0.0
        lengths, scores = self._archive.table["length"], self._archive.table["score"]
        for row in np.lexsort((-scores, lengths)).tolist():
            if eligible[row] and scores[row] > highest and self.needs_its_score(row):
                highest = float(scores[row])
                found.append(row)
        return found

    def forget(self) -> None:
        """Trajectories have changed their names."""
        self._known.clear()
