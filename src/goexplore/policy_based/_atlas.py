"""The archive of policy-based Go-Explore, as its actors see it.

It is the archive of the search by restoring, without snapshots: a cell's trajectory is a path to follow, and the
number of steps spent in it decides how often it is chosen, W = 1 / (0.5 C_steps + 1) (Extended Data Table 1a).
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import START, AddStatus, Archive, Best, StepsSelector, Trajectory
from goexplore.cells import GoalCells
from goexplore.errors import InputError
from goexplore.learn import Spaces
from goexplore.policy_based._milestones import Milestones
from goexplore.policy_based._path import Path
from goexplore.policy_based._reliability import Reliability, ReliabilityRules
from goexplore.policy_based._stretch import CELL, END, EPISODE, NO_EPISODE, StepCodec, Stretch

DOING = ("start", "returning", "random", "policy")
"""How a cell was found, by number."""


@dataclass(slots=True)
class _Tail:
    """How far an episode that is under way has come."""

    trajectory: Trajectory = START
    length: int = 0
    row: int = -1
    """The cell it is in; -1 before the first step."""
    reliability: float = 1.0
    """Of the way to there, from its first cell on."""

    def go(self, row: int, reliability: Reliability) -> None:
        """Enters a cell, or stays."""
        if row != self.row and self.row >= 0 and reliability.rules.counts:
            self.reliability *= reliability.of_leg(self.row, row)
        self.row = row


class ArchiveAtlas:
    """Cells, the paths to them, and how often the policy gets there.

    Every rank has a copy; all of them learn the same stretches in the same order, and so stay the same.

    Args:
        start: the cell in which episodes begin.
        cells: what keys mean.
        spaces: what actions are like.
        reliability: how far a path's reliability counts.
        choose_ends: whether the cell of all ends may be chosen to return to.
        attempt_steps: what an attempt to return to a cell counts for in its C_steps.
        milestone_share: of returns, go to milestones instead of by W.
    """

    def __init__(
        self,
        start: bytes,
        cells: GoalCells,
        spaces: Spaces,
        *,
        reliability: ReliabilityRules,
        choose_ends: bool = True,
        attempt_steps: float = 0.0,
        milestone_share: float = 0.0,
    ) -> None:
        self.codec = StepCodec(spaces)
        self.archive = Archive((self.codec.width,), np.int32)
        self.archive.add(start, score=0.0, length=0, trajectory=START, snapshot=None, iteration=0)
        self.reliability = Reliability(reliability)
        self._cells, self._choose_ends = cells, choose_ends
        self._selector, self._milestone_share = StepsSelector(attempt_steps), milestone_share
        self.found_by: list[int] = [0]
        """How each cell was found: an index of `DOING`."""
        self._tails: dict[tuple[int, int], _Tail] = {}
        self._beside: dict[bytes, list[bytes]] = {}
        self.milestones = Milestones(self.archive, self.codec, lambda row: DOING[self.found_by[row]] == "start")
        self._refresh()

    def __len__(self) -> int:
        return len(self.archive)

    def choose(self, rng: np.random.Generator) -> bytes:
        """Draws a cell in proportion to W."""
        return self._drawn(self._cumulative, rng)

    def choose_return(self, rng: np.random.Generator) -> bytes:
        """Draws a cell in proportion to W, or a milestone."""
        return self._drawn(self._cumulative_returns, rng)

    def _drawn(self, cumulative: NDArray[np.float64], rng: np.random.Generator) -> bytes:
        return self.archive.keys[int(np.searchsorted(cumulative, rng.random() * cumulative[-1], "right"))]

    def knows(self, cell: Any) -> bool:
        """Whether the cell is in the archive."""
        return self.archive.row_of(cell) is not None

    def path_to(self, cell: Any) -> Path:
        """The path to a cell."""
        trajectory = self.archive.trajectory(self._row(cell))
        known = self._paths.get(trajectory)
        if known is None:
            rows = self.archive.forest.actions(trajectory)[:, CELL].tolist()
            known = self._paths[trajectory] = Path([self.archive.keys[row] for row in rows] or [cell])
        return known

    def neighbours(self, cell: Any) -> Sequence[bytes]:
        """Cells beside it; none of an end."""
        if cell not in self._beside:
            self._beside[cell] = [] if cell == END else self._asked_neighbours(cell)
        return self._beside[cell]

    def _asked_neighbours(self, cell: bytes) -> list[bytes]:
        values = self._cells.values_of(cell)
        try:
            return [self._cells.key_of(each) for each in self._cells.neighbours(values)]
        except InputError as error:
            raise InputError(f"neighbours of {self._cells.describe(cell)}: {error}") from error
        except Exception as error:
            raise InputError(
                f"neighbours of {self._cells.describe(cell)}: the function raised {type(error).__name__}: {error}"
            ) from error

    def learn(self, parts: Sequence[Sequence[Stretch]], *, iteration: int) -> Counter[str]:
        """Takes up what all actors went through, rank by rank; returns how many cells each way found.

        Args:
            parts: the stretches of each rank.
            iteration: number of this update.
        """
        found: Counter[str] = Counter()
        counted: list[tuple[int, int]] = []
        seen: list[int] = []
        for rank, stretches in enumerate(parts):
            for stretch in stretches:
                rows = self._merge((rank, stretch.actor), stretch, iteration, found)
                visits = Counter(rows)
                counted += visits.items()
                seen += visits
                for each in stretch.returns:
                    self.reliability.note_return(self._row(each.cell), arrived=each.arrived)
                for leg in stretch.legs:
                    self.reliability.note_leg(self._row(leg.start), self._row(leg.goal), met=leg.met)
        chosen = [self._row(each.cell) for stretches in parts for stretch in stretches for each in stretch.returns]
        self.archive.count(
            chosen=np.array(chosen, np.int64),
            seen=np.array(seen, np.int64),
            steps=np.array(counted, np.int64).reshape(-1, 2),
        )
        if self.archive.forest.wants_collection():
            self._collect()
        self._refresh()
        return found

    def episodes(self) -> NDArray[np.int64]:
        """The episode that each cell's trajectory belongs to, or `NO_EPISODE`."""
        table = self.archive.table
        return self.archive.forest.last(table["chunk"], table["offset"], column=EPISODE, absent=NO_EPISODE)

    @property
    def weights(self) -> NDArray[np.float64]:
        """How likely each cell is chosen to return to, in proportion to the others; 0 for what may not be."""
        return np.diff(self._cumulative_returns, prepend=0.0)

    def _merge(self, who: tuple[int, int], stretch: Stretch, iteration: int, found: Counter[str]) -> list[int]:
        """Offers every cell of a stretch to the archive; returns their rows."""
        archive, rows = self.archive, list[int]()
        tail = self._begin(stretch.start, iteration) if stretch.begins else self._tails.pop(who)
        if not stretch.begins and self.reliability.rules.counts:
            tail.reliability = self._reliability(tail.trajectory)  # more is known by now
        chunk = len(archive.forest)  # what it will be called
        offered: dict[bytes, float] = {}
        """The cells of this stretch, with the scores they were entered with."""
        for step, (key, score) in enumerate(zip(stretch.keys, stretch.scores, strict=True), 1):
            row = archive.row_of(key)
            if row is not None:
                tail.go(row, self.reliability)
                if score <= offered.get(key, -math.inf):  # then the way was shorter, and no less reliable
                    rows.append(row)
                    continue
            offered[key] = score
            visit = Best(score, tail.length + step, Trajectory(chunk, step))
            if row is None or not self._is_settled(row, visit, tail.reliability, stretch.episode):
                status, row = archive.add(
                    key,
                    score=score,
                    length=visit.length,
                    trajectory=visit.trajectory,
                    snapshot=None,
                    iteration=iteration,
                )
                if status is AddStatus.NEW:
                    tail.go(row, self.reliability)
                    doing = stretch.doing[step - 1]
                    self.found_by.append(DOING.index(doing))
                    found[doing] += 1
            rows.append(row)
        if rows:
            archive.forest.add(tail.trajectory, self.codec.encode(stretch, rows))
            tail.trajectory, tail.length = Trajectory(chunk, len(rows)), tail.length + len(rows)
        if not stretch.over:
            self._tails[who] = tail
        return rows

    def _begin(self, start: bytes, iteration: int) -> _Tail:
        """An episode begins, perhaps in a cell in which none has begun before."""
        if self.archive.row_of(start) is None:
            self.archive.add(start, score=0.0, length=0, trajectory=START, snapshot=None, iteration=iteration)
            self.found_by.append(DOING.index("start"))
        return _Tail()

    def _is_settled(self, row: int, visit: Best, reliability: float, episode: int) -> bool:
        """Decides between two ways to a cell by their reliability, if that counts and their scores are the same."""
        if not self.reliability.rules.counts:
            return False
        known = self.archive.cell(row)
        if visit.score != known.score:
            return False
        if known.trajectory.chunk == visit.trajectory.chunk or self._episode_of(known.trajectory) == episode:
            return True  # the same episode came through before
        old = self._reliability(known.trajectory)
        if self.reliability.prefers(shorter=visit.length < known.length, new=reliability, old=old):
            self.archive.set_way(row, score=visit.score, length=visit.length, trajectory=visit.trajectory)
        return True

    def _episode_of(self, trajectory: Trajectory) -> int:
        chunk, offset = np.array([trajectory.chunk]), np.array([trajectory.offset])
        return int(self.archive.forest.last(chunk, offset, column=EPISODE, absent=NO_EPISODE)[0])

    def _reliability(self, trajectory: Trajectory) -> float:
        """Of the way that a trajectory is."""
        if trajectory not in self._reliabilities:
            way = _Tail()
            for row in self.archive.forest.actions(trajectory)[:, CELL].tolist():
                way.go(row, self.reliability)
            self._reliabilities[trajectory] = way.reliability
        return self._reliabilities[trajectory]

    def _collect(self) -> None:
        """Forgets trajectories that lead to no cell any more."""
        self.milestones.forget()  # trajectories change their names
        renamed = self.archive.collect(tail.trajectory for tail in self._tails.values())
        for tail in self._tails.values():
            tail.trajectory = renamed[tail.trajectory]

    def _refresh(self) -> None:
        weights = self._selector.weights(self.archive)
        end = self.archive.row_of(END)
        if end is not None and not self._choose_ends and len(self.archive) > 1:
            weights[end] = 0.0
        self._cumulative = self._cumulative_returns = np.cumsum(weights)
        if self._milestone_share and len(milestones := self.milestones.among(weights > 0)):
            weights *= (1.0 - self._milestone_share) / weights.sum()
            weights[milestones] += self._milestone_share / len(milestones)
            self._cumulative_returns = np.cumsum(weights)
        self._paths: dict[Trajectory, Path] = {}
        self._reliabilities: dict[Trajectory, float] = {}

    def _row(self, cell: bytes) -> int:
        row = self.archive.row_of(cell)
        assert row is not None, cell
        return row

    def save(self) -> dict[str, NDArray[Any]]:
        """Everything, as arrays."""
        tails = [
            (*who, *tail.trajectory, tail.length, tail.row, tail.reliability)
            for who, tail in sorted(self._tails.items())
        ]
        return {
            **{f"archive.{name}": array for name, array in self.archive.save().items()},
            "atlas.found_by": np.array(self.found_by, np.uint8),
            "atlas.attributes": np.frombuffer(json.dumps(dict(self._cells.attributes)).encode(), np.uint8),
            "atlas.tails": np.array(tails, np.float64).reshape(-1, 7),
            **self.reliability.save(),
        }

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Takes over what `save` returned.

        Raises:
            InputError: cells had other attributes then.
        """
        before, now = json.loads(saved["atlas.attributes"].tobytes()), dict(self._cells.attributes)
        if list(before.items()) != list(now.items()):
            raise InputError(f"the cells have the attributes {now}; this run began with {before}, and needs them")
        self.archive.restore({name[8:]: array for name, array in saved.items() if name.startswith("archive.")})
        self.found_by = saved["atlas.found_by"].tolist()
        self._tails = {
            (int(rank), int(actor)): _Tail(Trajectory(int(chunk), int(offset)), int(length), int(row), reliability)
            for rank, actor, chunk, offset, length, row, reliability in saved["atlas.tails"].tolist()
        }
        self.reliability.restore(saved)
        self.milestones.forget()
        self._refresh()
