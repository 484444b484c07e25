"""The archive of policy-based Go-Explore, as its actors see it.

It is the archive of the search by restoring, without snapshots: a cell's trajectory is a path to follow, and the
number of steps spent in it decides how often it is chosen, W = 1 / (0.5 C_steps + 1) (Extended Data Table 1a).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import START, AddStatus, Archive, StepsSelector, Trajectory
from goexplore.cells import GoalCells
from goexplore.learn import Spaces
from goexplore.policy_based._path import Path
from goexplore.policy_based._reliability import Reliability, ReliabilityRules
from goexplore.policy_based._stretch import END, StepCodec, Stretch

DOING = ("start", "returning", "random", "policy")
"""How a cell was found, by number."""


class ArchiveAtlas:
    """Cells, the paths to them, and how often the policy gets there.

    Every rank has a copy; all of them learn the same stretches in the same order, and so stay the same.

    Args:
        start: the cell in which episodes begin.
        cells: what keys mean.
        spaces: what actions are like.
        reliability: how far a path's reliability counts.
        choose_ends: whether the cell of all ends may be chosen to return to.
    """

    def __init__(
        self,
        start: bytes,
        cells: GoalCells,
        spaces: Spaces,
        *,
        reliability: ReliabilityRules,
        choose_ends: bool = True,
    ) -> None:
        self.codec = StepCodec(spaces)
        self.archive = Archive((self.codec.width,), np.int32)
        self.archive.add(start, score=0.0, length=0, trajectory=START, snapshot=None, iteration=0)
        self.reliability = Reliability(reliability)
        self._cells, self._choose_ends = cells, choose_ends
        self.found_by: list[int] = [0]
        """How each cell was found: an index of `DOING`."""
        self._tails: dict[tuple[int, int], tuple[Trajectory, int]] = {}
        self._beside: dict[bytes, list[bytes]] = {}
        self._refresh()

    def __len__(self) -> int:
        return len(self.archive)

    def choose(self, rng: np.random.Generator) -> bytes:
        """Draws a cell in proportion to W."""
        return self.archive.keys[int(np.searchsorted(self._cumulative, rng.random() * self._cumulative[-1], "right"))]

    def knows(self, cell: Any) -> bool:
        """Whether the cell is in the archive."""
        return self.archive.row_of(cell) is not None

    def path_to(self, cell: Any, rng: np.random.Generator) -> Path:
        """The path to a cell; that of a trajectory on trial, if there is one and it is its turn."""
        challenger = self.reliability.challenger(self._row(cell), rng)
        if challenger is None:
            return self.settled_path_to(cell)
        return self._path(cell, challenger.trajectory, on_trial=True)

    def settled_path_to(self, cell: Any) -> Path:
        """The path that the archive holds."""
        return self._path(cell, self.archive.trajectory(self._row(cell)))

    def _path(self, cell: bytes, trajectory: Trajectory, *, on_trial: bool = False) -> Path:
        known = self._paths.get(trajectory)
        if known is None:
            rows = self.archive.forest.actions(trajectory)[:, 0].tolist()
            found = [self.archive.keys[row] for row in rows] or [cell]
            known = self._paths[trajectory] = Path(found, on_trial=on_trial)
        return known

    def neighbours(self, cell: Any) -> Sequence[bytes]:
        """Cells beside it; none of an end."""
        if cell not in self._beside:
            cells = self._cells
            values = [] if cell == END else cells.neighbours(cells.values_of(cell))
            self._beside[cell] = [cells.key_of(each) for each in values]
        return self._beside[cell]

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
                    self._judge(each.cell, on_trial=each.on_trial, arrived=each.arrived)
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

    def episodes(self) -> NDArray[np.int32]:
        """Episodes of which some steps are kept."""
        steps: NDArray[np.int32] = np.unique(self.archive.forest.stored()[:, 1])
        return steps

    def _merge(self, who: tuple[int, int], stretch: Stretch, iteration: int, found: Counter[str]) -> list[int]:
        """Offers every cell of a stretch to the archive; returns their rows."""
        archive, rows = self.archive, []
        parent, length = (START, 0) if stretch.begins else self._tails.pop(who)
        chunk = len(archive.forest)  # what it will be called
        for step, (key, score) in enumerate(zip(stretch.keys, stretch.scores, strict=True), 1):
            trajectory = Trajectory(chunk, step)
            row = archive.row_of(key)
            if row is not None and not self.reliability.lets(archive.cell(row), score, length + step, trajectory):
                rows.append(row)
                continue
            status, row = archive.add(
                key, score=score, length=length + step, trajectory=trajectory, snapshot=None, iteration=iteration
            )
            if status is AddStatus.NEW:
                doing = stretch.doing[step - 1]
                self.found_by.append(DOING.index(doing))
                found[doing] += 1
            elif status is AddStatus.IMPROVED:
                self.reliability.replaced(row)
            rows.append(row)
        if rows:
            archive.forest.add(parent, self.codec.encode(stretch, rows))
            parent = Trajectory(chunk, len(rows))
        if not stretch.over:
            self._tails[who] = parent, length + len(rows)
        return rows

    def _judge(self, cell: bytes, *, on_trial: bool, arrived: bool) -> None:
        """Notes how a return went; a path on trial may thereby win or lose."""
        row = self._row(cell)
        winner = self.reliability.note(row, on_trial=on_trial, arrived=arrived)
        if winner is not None:
            table = self.archive.table
            table["score"][row], table["length"][row] = winner.score, winner.length
            table["chunk"][row], table["offset"][row] = winner.trajectory

    def _collect(self) -> None:
        """Forgets trajectories that lead to no cell any more."""
        tails = {who: tail for who, (tail, _) in self._tails.items()}
        challengers = self.reliability.trajectories()
        renamed = self.archive.collect([*tails.values(), *challengers])
        self._tails = {who: (renamed[tail], self._tails[who][1]) for who, tail in tails.items()}
        self.reliability.rename(renamed)

    def _refresh(self) -> None:
        weights = StepsSelector().weights(self.archive)
        end = self.archive.row_of(END)
        if end is not None and not self._choose_ends and len(self.archive) > 1:
            weights[end] = 0.0
        self._cumulative = np.cumsum(weights)
        self._paths: dict[Trajectory, Path] = {}

    def _row(self, cell: bytes) -> int:
        row = self.archive.row_of(cell)
        assert row is not None, cell
        return row

    def save(self) -> dict[str, NDArray[Any]]:
        """Everything, as arrays."""
        tails = [(*who, *tail, length) for who, (tail, length) in sorted(self._tails.items())]
        return {
            **{f"archive.{name}": array for name, array in self.archive.save().items()},
            "atlas.found_by": np.array(self.found_by, np.uint8),
            "atlas.tails": np.array(tails, np.int64).reshape(-1, 5),
            **self.reliability.save(),
        }

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Takes over what `save` returned."""
        self.archive.restore({name[8:]: array for name, array in saved.items() if name.startswith("archive.")})
        self.found_by = saved["atlas.found_by"].tolist()
        self._tails = {
            (rank, actor): (Trajectory(chunk, offset), length)
            for rank, actor, chunk, offset, length in saved["atlas.tails"].tolist()
        }
        self.reliability.restore(saved)
        self._refresh()
