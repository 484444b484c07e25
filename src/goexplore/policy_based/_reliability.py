"""How reliably the policy returns to each cell, and which of two ways there to keep.

The paper keeps the shortest of equally good trajectories, and leaves open what to do where the short one works by luck
only (SI, "Policy-based Go-Explore and Stochastic Environments": a busy highway, and an overpass further off). Here a
way that competes with one whose reliability is known is put on trial: some returns follow it, and it wins only if the
policy gets there about as often (for a shorter way), or clearly more often (for a longer one).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import Best, Columns, Trajectory
from goexplore.errors import InputError

FIELDS: dict[str, Any] = {
    "tried": np.float64,  # returns along the path that the archive holds; older ones count for less
    "arrived": np.float64,  # those that got there
    "lost": np.int64,  # trials that were lost
    "rest": np.float64,  # returns before the next trial
}


@dataclass(frozen=True, slots=True)
class ReliabilityRules:
    """Settings of trials."""

    trials: bool = False
    """Whether there are any. Paper: no, the shortest way is kept, whether or not one gets there by it again."""
    least_returns: int = 10
    """Returns after which a way is judged. More are surer, and slower."""
    trial_probability: float = 0.5
    """Share of returns to a cell that follow the way on trial, while there is one."""
    reliable: float = 0.5
    """Share of arrivals from which on a way is reliable: then only a shorter one may compete with it, and below this
    a longer one as well."""
    margin: float = 0.1
    """How much less reliable a shorter way may be, and how much more a longer one must be."""
    memory: float = 0.95
    """What the weight of a return becomes with each later one, as the policy changes."""

    def __post_init__(self) -> None:
        if self.least_returns < 1 or not 0 < self.memory <= 1:
            raise InputError(
                f"least_returns {self.least_returns}, memory {self.memory}: expected at least 1, and 0 to 1"
            )
        for name in ("trial_probability", "reliable", "margin"):
            if not 0 <= (value := getattr(self, name)) <= 1:
                raise InputError(f"{name} {value}: expected 0 to 1")


@dataclass(slots=True)
class Challenger:
    """A way on trial."""

    score: float
    length: int
    trajectory: Trajectory
    shorter: bool
    tried: int = 0
    arrived: int = 0


class Reliability:
    """What is known of returns to each row of the archive.

    Args:
        rules: settings.
    """

    def __init__(self, rules: ReliabilityRules) -> None:
        self._rules = rules
        self._table = Columns(FIELDS)
        self._challengers: dict[int, Challenger] = {}

    def rates(self, rows: int) -> NDArray[np.float64]:
        """Share of returns to each of the first rows that arrived; not a number where there were none."""
        self._reach(rows - 1)
        tried, arrived = self._table["tried"][:rows], self._table["arrived"][:rows]
        rates: NDArray[np.float64] = np.divide(arrived, tried, out=np.full(rows, np.nan), where=tried > 0)
        return rates

    def challenger(self, row: int, rng: np.random.Generator) -> Challenger | None:
        """The way on trial, if there is one and it is its turn."""
        found = self._challengers.get(row)
        return found if found is not None and rng.random() < self._rules.trial_probability else None

    def lets(self, known: Best, score: float, length: int, trajectory: Trajectory) -> bool:
        """Whether a visit may simply be offered to the archive; if not, it may have been put on trial."""
        row = known.row
        if not self._rules.trials or score != known.score or length == known.length:
            return True
        self._reach(row)
        tried, shorter = self._table["tried"][row], length < known.length
        if tried < self._rules.least_returns:
            return True  # nothing is known of the old way either
        is_reliable = self._table["arrived"][row] >= self._rules.reliable * tried
        if row not in self._challengers and self._table["rest"][row] <= 0 and (shorter or not is_reliable):
            self._challengers[row] = Challenger(score, length, trajectory, shorter)
        return False

    def replaced(self, row: int) -> None:
        """The archive took a better way: little is known of it, and who challenged the old one is forgotten."""
        self._reach(row)
        self._table["tried"][row] *= 0.5
        self._table["arrived"][row] *= 0.5
        self._challengers.pop(row, None)

    def note(self, row: int, *, on_trial: bool, arrived: bool) -> Challenger | None:
        """A return is over; returns the challenger if that made it win."""
        self._reach(row)
        table, rules = self._table, self._rules
        challenger = self._challengers.get(row)
        if not on_trial:
            table["tried"][row] = rules.memory * table["tried"][row] + 1.0
            table["arrived"][row] = rules.memory * table["arrived"][row] + arrived
            table["rest"][row] -= 1.0
            return None
        if challenger is None:
            return None  # it was decided while this return was under way
        challenger.tried += 1
        challenger.arrived += arrived
        if challenger.tried < rules.least_returns:
            return None
        del self._challengers[row]
        old, new = table["arrived"][row] / table["tried"][row], challenger.arrived / challenger.tried
        if new >= old + (-rules.margin if challenger.shorter else rules.margin):
            table["tried"][row], table["arrived"][row] = challenger.tried, challenger.arrived
            table["lost"][row], table["rest"][row] = 0, 0.0
            return challenger
        table["lost"][row] += 1
        table["rest"][row] = rules.least_returns * table["lost"][row]
        return None

    def trajectories(self) -> list[Trajectory]:
        """Those on trial."""
        return [each.trajectory for each in self._challengers.values()]

    def rename(self, renamed: Mapping[Trajectory, Trajectory]) -> None:
        """Follows the archive's collection."""
        for each in self._challengers.values():
            each.trajectory = renamed[each.trajectory]

    def _reach(self, row: int) -> None:
        for _ in range(len(self._table), row + 1):
            self._table.append(tried=0.0, arrived=0.0, lost=0, rest=0.0)

    def save(self) -> dict[str, NDArray[Any]]:
        """Everything, as arrays."""
        trials = [
            (row, each.score, each.length, *each.trajectory, each.shorter, each.tried, each.arrived)
            for row, each in sorted(self._challengers.items())
        ]
        table = {f"reliability.{name}": self._table[name] for name in FIELDS}
        return {**table, "reliability.trials": np.array(trials, np.float64).reshape(-1, 8)}

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Takes over what `save` returned."""
        self._table.replace({name: saved[f"reliability.{name}"] for name in FIELDS})
        self._challengers = dict(_challengers(saved["reliability.trials"].tolist()))


def _challengers(saved: Iterable[list[float]]) -> Iterable[tuple[int, Challenger]]:
    for row, score, length, chunk, offset, shorter, tried, arrived in saved:
        trajectory = Trajectory(int(chunk), int(offset))
        yield int(row), Challenger(score, int(length), trajectory, bool(shorter), int(tried), int(arrived))
