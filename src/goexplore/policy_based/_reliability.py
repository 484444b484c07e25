"""How reliably the policy returns to each cell, and which of two ways there to keep.

The paper keeps the shortest of equally good trajectories, and leaves open what to do where the short one works by luck
only (SI, "Policy-based Go-Explore and Stochastic Environments": a busy highway, and an overpass further off). Here
every leg of every return is counted: from the goal that was met last to the next one, met or not. Ways share their
legs, so that much is soon known about a way that nobody has followed yet: it is as reliable as its legs are together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import Columns
from goexplore.errors import InputError

FIELDS: dict[str, Any] = {
    "tried": np.float64,  # returns to the cell; older ones count for less
    "arrived": np.float64,  # those that got there
}


@dataclass(frozen=True, slots=True)
class ReliabilityRules:
    """How far reliability counts."""

    counts: bool = False
    """Whether it does, between ways with the same score. Paper: no, the shorter one is kept, whether or not one gets
    there by it again."""
    margin: float = 0.1
    """How much less reliable a shorter way may be, and how much more a longer one must be."""
    reliable: float = 0.5
    """A way that is at least this reliable is not given up for a longer one."""
    memory: float = 0.98
    """What the weight of a return or a leg becomes with each later one, as the policy changes."""

    def __post_init__(self) -> None:
        for name in ("margin", "reliable", "memory"):
            if not 0 <= (value := getattr(self, name)) <= 1:
                raise InputError(f"{name} {value}: expected 0 to 1")


class Leg(NamedTuple):
    """A part of a return that is over."""

    start: bytes
    """The cell of the goal met last, or where the episode began."""
    goal: bytes
    met: bool


class Reliability:
    """What is known of returns to each row of the archive, and of legs between two of them.

    Args:
        rules: settings.
    """

    def __init__(self, rules: ReliabilityRules) -> None:
        self.rules = rules
        self._table = Columns(FIELDS)
        self._legs: dict[tuple[int, int], tuple[float, float]] = {}
        self._all = (1.0, 1.0)
        """Legs of all returns, and those that were met."""

    def rates(self, rows: int) -> NDArray[np.float64]:
        """Share of returns to each of the first rows that arrived; not a number where there were none."""
        self._reach(rows - 1)
        tried, arrived = self._table["tried"][:rows], self._table["arrived"][:rows]
        rates: NDArray[np.float64] = np.divide(arrived, tried, out=np.full(rows, np.nan), where=tried > 0)
        return rates

    def records(self, rows: int) -> NDArray[np.float64]:
        """Share of returns to each of the first rows that arrived, with two failures more than there were.

        A single success says little so. 0 where there were none.
        """
        self._reach(rows - 1)
        records: NDArray[np.float64] = self._table["arrived"][:rows] / (self._table["tried"][:rows] + 2.0)
        return records

    def note_return(self, row: int, *, arrived: bool) -> None:
        """A return to a cell is over."""
        self._reach(row)
        for name, value in (("tried", 1.0), ("arrived", float(arrived))):
            self._table[name][row] = self.rules.memory * self._table[name][row] + value

    def note_leg(self, start: int, goal: int, *, met: bool) -> None:
        """A leg of a return is over."""
        tried, successes = self._legs.get((start, goal), (0.0, 0.0))
        self._legs[start, goal] = self.rules.memory * tried + 1.0, self.rules.memory * successes + met
        self._all = self._all[0] + 1.0, self._all[1] + met

    def of_leg(self, start: int, goal: int) -> float:
        """How often a leg is expected to succeed; one that was never tried, as often as legs do on the whole."""
        tried, successes = self._legs.get((start, goal), (0.0, 0.0))
        return (successes + self._all[1] / self._all[0]) / (tried + 1.0)

    def prefers(self, *, shorter: bool, new: float, old: float) -> bool:
        """Whether a new way should take the place of an old one with the same score."""
        rules = self.rules
        return new >= old - rules.margin if shorter else old < rules.reliable and new > old + rules.margin

    def _reach(self, row: int) -> None:
        for _ in range(len(self._table), row + 1):
            self._table.append(tried=0.0, arrived=0.0)

    def save(self) -> dict[str, NDArray[Any]]:
        """Everything, as arrays."""
        legs = [(*leg, *counts) for leg, counts in sorted(self._legs.items())]
        table = {f"reliability.{name}": self._table[name] for name in FIELDS}
        return {
            **table,
            "reliability.legs": np.array(legs, np.float64).reshape(-1, 4),
            "reliability.all": np.array(self._all),
        }

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Takes over what `save` returned."""
        self._table.replace({name: saved[f"reliability.{name}"] for name in FIELDS})
        legs: Iterable[list[float]] = saved["reliability.legs"].tolist()
        self._legs = {(int(start), int(goal)): (tried, met) for start, goal, tried, met in legs}
        tried, met = saved["reliability.all"].tolist()
        self._all = tried, met
