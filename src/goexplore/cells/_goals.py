"""Cells that a policy can be told: a few whole numbers, each from a known range (Methods, "Policy-based Go-Explore").

class Maze(GoalCells):
    attributes = {"x": 8, "y": 8, "has_key": 2}

    def values(self, observation, env):
        return env.unwrapped.x, env.unwrapped.y, env.unwrapped.has_key

    def neighbours(self, values):
        return self.grid_neighbours(values, "x", "y")
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from goexplore.cells._montezuma import PYRAMID, ROOM_AT, MontezumaCells
from goexplore.cells._pitfall import ROOMS as PITFALL_ROOMS
from goexplore.cells._pitfall import PitfallCells
from goexplore.cells._player import palette_screen
from goexplore.cells._protocol import CellFunction
from goexplore.errors import InputError

Values = tuple[int, ...]


class GoalCells(CellFunction):
    """Cells described by attributes. A subclass names and reads them, and may know what lies beside what."""

    attributes: Mapping[str, int]
    """How many values each has: 0 to one less. The same for the whole run, as the network is built for it."""
    clamped: Collection[str] = ()
    """Attributes whose larger values a policy cannot tell from the largest; the archive still does."""

    @abstractmethod
    def values(self, observation: Any, env: Any) -> Sequence[int]:
        """Returns the value of each attribute, in their order."""

    def neighbours(self, values: Values) -> Iterable[Values]:
        """Returns the cells beside one, known or not; for exploration towards them. None unless a subclass knows."""
        return ()

    def key(self, observation: Any, env: Any) -> bytes:
        """Two bytes for each attribute."""
        return self.key_of(self.values(observation, env))

    def key_of(self, values: Sequence[int]) -> bytes:
        """The key of the cell with these values.

        Raises:
            InputError: there are more or fewer than attributes, or one is out of its range.
        """
        if len(values) != len(self.attributes):
            raise InputError(
                f"the cell function returned {len(values)} values ({', '.join(map(str, values))}) for"
                f" {len(self.attributes)} attributes ({', '.join(self.attributes)}); expected one for each, always"
            )
        for (name, size), value in zip(self.attributes.items(), values, strict=True):
            most = 1 << 16 if name in self.clamped else size
            if not 0 <= value < most or int(value) != value:
                raise InputError(
                    f"the cell function returned {name} = {value}; expected a whole number from 0 to {most - 1}, as"
                    f" attributes[{name!r}] = {size} says"
                )
        return np.array(values, "<u2").tobytes()

    def values_of(self, key: bytes) -> Values:
        """The values that a key stands for."""
        return tuple(np.frombuffer(key, "<u2").tolist())

    def describe(self, key: bytes) -> dict[str, Any]:
        """What a key says."""
        return dict(zip(self.attributes, self.values_of(key), strict=True))

    @property
    def goal_size(self) -> int:
        """Numbers in `one_hot`."""
        return sum(self.attributes.values())

    def one_hot(self, key: bytes) -> NDArray[np.bool_]:
        """For each attribute as many places as it has values, of which one is true."""
        told, start = np.zeros(self.goal_size, np.bool_), 0
        for value, size in zip(self.values_of(key), self.attributes.values(), strict=True):
            told[start + min(value, size - 1)] = True
            start += size
        return told

    def grid_neighbours(self, values: Values, *names: str) -> list[Values]:
        """One step up or down in each of the named attributes, as far as they go."""
        order = list(self.attributes)
        return [
            (*values[:place], moved, *values[place + 1 :])
            for place in map(order.index, names)
            for moved in (values[place] - 1, values[place] + 1)
            if 0 <= moved < self.attributes[order[place]]
        ]


GRID = 18
"""Pixels of a cell's side. Paper: 18 x 18, larger than for the search by restoring."""
COLUMNS, ROWS = math.ceil(160 / GRID), math.ceil(160 / GRID)


TrackedT = TypeVar("TrackedT", bound=CellFunction)


class _Tracking(GoalCells, Generic[TrackedT]):
    """Goals made of what other cells track on the screen."""

    atari_screen = "palette"

    def __init__(self, tracked: TrackedT) -> None:
        self._tracked = tracked
        self._keys: dict[Values, bytes] = {}
        """Of cells that were entered: most steps stay where others were."""

    def key(self, observation: Any, env: Any) -> bytes:
        """As others make it, but once for each cell."""
        values = tuple(self.values(observation, env))
        known = self._keys.get(values)
        if known is None:
            known = self._keys[values] = self.key_of(values)
        return known

    def reset(self) -> None:
        self._tracked.reset()

    def save(self) -> bytes:
        return self._tracked.save()

    def load(self, state: bytes) -> None:
        self._tracked.load(state)


class MontezumaGoals(_Tracking[MontezumaCells]):
    """Level, number of keys, room and place in Montezuma's Revenge, from pixels."""

    attributes = {"level": 3, "keys": 4, "room": 24, "x": COLUMNS, "y": ROWS}  # noqa: RUF012 - read only
    clamped = ("level", "keys")

    def __init__(self) -> None:
        super().__init__(MontezumaCells(GRID, GRID))

    def values(self, observation: Any, env: Any) -> Values:
        """Looks at the screen."""
        tracked = self._tracked
        tracked.look_at(palette_screen(observation, env, "montezuma:goals"))
        return (tracked.level, len(tracked.keys), tracked.room, *tracked.place.on_grid(GRID, GRID))

    def neighbours(self, values: Values) -> list[Values]:
        """The four places beside it; over the edge of a room lies the opposite edge of the next one."""
        level, keys, room, x, y = values
        row, column = PYRAMID[room]
        beside: list[Values] = []
        for right, down in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            over_x, new_x = divmod(x + right, COLUMNS)
            over_y, new_y = divmod(y + down, ROWS)
            next_room = ROOM_AT.get((row + over_y, column + over_x))
            if next_room is not None:
                beside.append((level, keys, next_room, new_x, new_y))
        return beside


class PitfallGoals(_Tracking[PitfallCells]):
    """Room and place in Pitfall, from pixels."""

    attributes = {"room": PITFALL_ROOMS, "x": COLUMNS, "y": ROWS}  # noqa: RUF012 - read only

    def __init__(self) -> None:
        super().__init__(PitfallCells(GRID, GRID))

    def values(self, observation: Any, env: Any) -> Values:
        """Looks at the screen."""
        tracked = self._tracked
        tracked.look_at(palette_screen(observation, env, "pitfall:goals"))
        return (tracked.room, *tracked.place.on_grid(GRID, GRID))

    def neighbours(self, values: Values) -> list[Values]:
        """The four places beside it; the rooms stand in a ring."""
        room, x, y = values
        beside: list[Values] = [(room, x, other) for other in (y - 1, y + 1) if 0 <= other < ROWS]
        for right in (1, -1):
            over, new_x = divmod(x + right, COLUMNS)
            beside.append(((room + over) % PITFALL_ROOMS, new_x, y))
        return beside
