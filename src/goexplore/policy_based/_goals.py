"""What a network sees: the game, and cells as numbers beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.cells import GoalCells
from goexplore.errors import InputError
from goexplore.learn import Spaces
from goexplore.policy_based._stretch import END


class Goals:
    """A cell as a place for each value of each attribute, and two for "over" or not.

    Args:
        cells: what keys mean.
        seen: what the policy sees beside the goal.
        with_place: whether it is told the cell it is in, too.
    """

    def __init__(self, cells: GoalCells, seen: Spaces, *, with_place: bool = False) -> None:
        self._cells, self._known = cells, dict[bytes, NDArray[Any]]()
        self._size, self._with_place = cells.goal_size + 2, with_place
        told = self._size * (1 + with_place)
        self._dtype = np.dtype(seen.observation_dtype)
        self._true = 255 if seen.observation_is_bytes else 1
        picture = seen.observation_shape if len(seen.observation_shape) == 3 else None
        self.spaces = Spaces(
            observation_shape=(int(np.prod(seen.observation_shape)) + told,),
            observation_dtype=seen.observation_dtype,
            choices=seen.choices,
            action_shape=seen.action_shape,
            picture_shape=picture,
            told=told,
        )

    def show(self, row: NDArray[Any], seen: NDArray[Any], *, place: Any, goal: Any) -> None:
        """Writes what the policy sees.

        Args:
            row: to be written to.
            seen: of the game.
            place: the cell it is in.
            goal: the cell to go to.
        """
        row[: -self.spaces.told] = seen.reshape(-1)
        row[-self._size :] = self._told(goal)
        if self._with_place:
            row[-self.spaces.told : -self._size] = self._told(place)

    def _told(self, cell: Any) -> NDArray[Any]:
        """The numbers that stand for a cell."""
        if cell not in self._known:
            over = cell == END
            values = np.zeros(self._cells.goal_size, np.bool_) if over else self._cells.one_hot(cell)
            if len(values) != self._size - 2:
                raise InputError(
                    f"the cells' attributes have changed: a goal was {self._size - 2} numbers, now {len(values)}"
                )
            self._known[cell] = np.concatenate([values, [not over, over]]).astype(self._dtype) * self._true
        return self._known[cell]
