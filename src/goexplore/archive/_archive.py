"""The archive: every cell found, the best way to it, and how often it was tried.

"The Go-Explore family of algorithms" and Methods, "Exploration phase": a cell enters when it is new, and
is replaced by a higher score, or by an equal score in fewer steps. Where ways are tried under noise (not in the paper),
a more reliable way counts for more than a shorter one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goexplore.archive._columns import Columns
from goexplore.archive._forest import START, Forest, Trajectory
from goexplore.archive._former import FormerCells
from goexplore.archive._joined import join_bytes, split_bytes


class AddStatus(Enum):
    """What became of a visit that was offered to the archive."""

    NEW = "new"
    IMPROVED = "improved"
    REJECTED = "rejected"


def better(score: float, length: int, known_score: float, known_length: int) -> bool:
    """The acceptance rule: a higher score, or an equal one in fewer steps."""
    return score > known_score or (score == known_score and length < known_length)


class Way(NamedTuple):
    """What a way to a cell is judged by; the greater is the better one."""

    score: float
    reliability: float
    """Share of noisy replays that come to the cell; 1 where none were made."""
    minus_length: int

    @classmethod
    def of(cls, score: float, length: int, reliability: float = 1.0) -> Way:
        """From its length."""
        return cls(score, reliability, -length)


@dataclass(frozen=True, slots=True)
class Best:
    """A score, the steps it took, and how."""

    score: float
    length: int
    trajectory: Trajectory
    row: int = -1
    """Its cell; -1 for an end of episode."""
    state: bytes = b""
    """Digest of the simulator state at an end of episode, which has no snapshot to compare with."""

    @property
    def ends(self) -> bool:
        """Whether it is an end of episode."""
        return self.row < 0


NEVER = Best(-np.inf, np.iinfo(np.int64).max, START)
"""No episode has ended yet."""

COUNTERS = ("chosen", "seen", "steps")
FIELDS = {
    "score": np.float64,
    "length": np.int64,  # agent steps from reset
    "chunk": np.int32,
    "offset": np.int32,
    "chosen": np.int64,  # times selected
    "seen": np.int64,  # rollouts that visited it, each counted once (C_seen)
    "steps": np.int64,  # agent steps spent in it (C_steps)
    "found": np.int32,  # iteration in which it was first found
}

RELIABILITY = {"of_way": np.float64}
"""Beside `FIELDS`, which cells of former representations have too: those are never tried."""


class Archive:
    """Cells in columns; rows move only when the representation changes.

    Args:
        action_shape: shape of one action.
        action_dtype: dtype of one action.
    """

    def __init__(self, action_shape: tuple[int, ...], action_dtype: Any) -> None:
        self.table = Columns(FIELDS)
        """One row for each cell; see `FIELDS`."""
        self.forest = Forest(action_shape, action_dtype)
        self.keys: list[bytes] = []
        self.snapshots: list[bytes | None] = []
        self._reliability = Columns(RELIABILITY)
        self.arrivals: list[bytes] = []
        """Where noisy replays of the way to each cell have come, packed; empty without trials."""
        self.frames: list[bytes | None] = []
        """Encoded frame of each cell, where the representation may change; see `change_representation`."""
        self.representation = b""
        """What keys mean, where that may change."""
        self.former = FormerCells(FIELDS)
        self.end = NEVER
        """The virtual cell for the end of an episode: the best score at which one ended."""
        self.ends_seen = 0
        """Rollouts that ended an episode."""
        self._rows: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def tried(self) -> bool:
        """Whether ways are tried under noise, so that some are known to be more reliable than others."""
        return any(self.arrivals)

    @property
    def reliabilities(self) -> NDArray[np.float64]:
        """Of the way to each cell, under noise; 1 without trials."""
        return self._reliability["of_way"]

    def row_of(self, key: bytes) -> int | None:
        """Returns the row of a key, or None."""
        return self._rows.get(key)

    def trajectory(self, row: int) -> Trajectory:
        """Returns the best known way to a cell."""
        return Trajectory(int(self.table["chunk"][row]), int(self.table["offset"][row]))

    def way(self, row: int) -> Way:
        """Returns what the way to a cell is judged by."""
        table = self.table
        return Way.of(float(table["score"][row]), int(table["length"][row]), float(self.reliabilities[row]))

    def cell(self, row: int) -> Best:
        """Returns the best visit to a cell."""
        return Best(float(self.table["score"][row]), int(self.table["length"][row]), self.trajectory(row), row)

    def best(self) -> Best:
        """Returns the highest score reached, in a cell or at an end of episode.

        Among equals the most reliable way, and then the shortest.
        """
        scores, reliabilities = self.table["score"], self.reliabilities
        best_rows = np.flatnonzero(scores == scores.max())
        best_rows = best_rows[reliabilities[best_rows] == reliabilities[best_rows].max()]
        best = self.cell(int(best_rows[np.argmin(self.table["length"][best_rows])]))
        return self.end if better(self.end.score, self.end.length, best.score, best.length) else best

    def ranked(self, rows: NDArray[np.int64]) -> list[int]:
        """Rows in the order of their ways, the most reliable first, and the shortest among equals."""
        order = np.lexsort((self.table["length"][rows], -self.reliabilities[rows]))
        ordered: list[int] = rows[order].tolist()
        return ordered

    def add(
        self,
        key: bytes,
        *,
        score: float,
        length: int,
        trajectory: Trajectory,
        snapshot: bytes | None,
        iteration: int,
        frame: bytes | None = None,
        reliability: float = 1.0,
        arrivals: bytes = b"",
    ) -> tuple[AddStatus, int]:
        """Offers a visit; returns what became of it, and the cell's row."""
        row = self._rows.get(key)
        if row is None:
            row = self.table.append(
                score=score,
                length=length,
                chunk=trajectory.chunk,
                offset=trajectory.offset,
                chosen=0,
                seen=0,
                steps=0,
                found=iteration,
            )
            self._rows[key] = row
            self.keys.append(key)
            self.snapshots.append(snapshot)
            self._reliability.append(of_way=reliability)
            self.arrivals.append(arrivals)
            self.frames.append(frame)
            return AddStatus.NEW, row
        if Way.of(score, length, reliability) <= self.way(row):
            return AddStatus.REJECTED, row
        self.set_way(row, score=score, length=length, trajectory=trajectory)
        self.snapshots[row], self.frames[row] = snapshot, frame
        self.reliabilities[row], self.arrivals[row] = reliability, arrivals
        return AddStatus.IMPROVED, row

    def set_way(self, row: int, *, score: float, length: int, trajectory: Trajectory) -> None:
        """Takes another way to a cell, whether or not it is better."""
        table = self.table
        table["score"][row], table["length"][row] = score, length
        table["chunk"][row], table["offset"][row] = trajectory

    def add_end(self, score: float, length: int, trajectory: Trajectory, state: bytes = b"") -> AddStatus:
        """Offers an end of episode to the virtual cell."""
        if not better(score, length, self.end.score, self.end.length):
            return AddStatus.REJECTED
        status = AddStatus.NEW if self.end is NEVER else AddStatus.IMPROVED
        self.end = Best(score, length, trajectory, state=state)
        return status

    def count(self, *, chosen: NDArray[np.int64], seen: NDArray[np.int64], steps: NDArray[np.int64]) -> None:
        """Adds to the counters.

        Args:
            chosen: rows selected, once for each selection.
            seen: rows visited, once for each rollout that visited them.
            steps: (n, 2): rows, and the steps spent there.
        """
        np.add.at(self.table["chosen"], chosen, 1)
        np.add.at(self.table["seen"], seen, 1)
        np.add.at(self.table["steps"], steps[:, 0], steps[:, 1])

    def reset_counters(self, rows: Iterable[int]) -> None:
        """Zeroes the counters of cells that were found or improved (`original-code`)."""
        where = np.fromiter(rows, np.int64)
        for name in COUNTERS:
            self.table[name][where] = 0

    def remember(self, *, add_counters: bool) -> None:
        """Puts every cell among the former ones, from which archives under other representations are made.

        Args:
            add_counters: add the cells' counters to those kept, rather than replace them.
        """
        former, columns = self.former, {name: self.table[name].tolist() for name in FIELDS}
        for row, frame in enumerate(self.frames):
            if frame is None:
                raise ValueError(f"cell {row} has no frame")
            values = {name: column[row] for name, column in columns.items()}
            kept = former.row_of(frame)
            if kept is None:
                former.append(frame, self.snapshots[row], values)
                continue
            table = former.table
            if better(values["score"], values["length"], table["score"][kept], table["length"][kept]):
                for name in ("score", "length", "chunk", "offset"):
                    table[name][kept] = values[name]
                former.snapshots[kept] = self.snapshots[row]
            for name in COUNTERS:
                table[name][kept] = values[name] + (table[name][kept] if add_counters else 0)

    def change_representation(self, representation: bytes, keys: Sequence[bytes], *, add_counters: bool) -> None:
        """Makes the archive anew, from all former cells under their new keys. Call `remember` first.

        Args:
            representation: what keys mean from now on.
            keys: the new key of each former cell.
            add_counters: a cell's counters are the sums over all former cells that fall into it (so that none is
                counted twice, theirs are then 0), rather than those of the one that won.
        """
        former = self.former
        columns = {name: former.table[name].tolist() for name in FIELDS}
        self.table, self._reliability, self._rows = Columns(FIELDS), Columns(RELIABILITY), {}
        self.keys, self.snapshots, self.frames, self.arrivals = [], [], [], []
        self.representation = representation
        for kept, key in enumerate(keys):
            values = {name: column[kept] for name, column in columns.items()}
            status, row = self.add(
                key,
                score=values["score"],
                length=values["length"],
                trajectory=Trajectory(values["chunk"], values["offset"]),
                snapshot=former.snapshots[kept],
                iteration=values["found"],
                frame=former.frames[kept],
            )
            table = self.table
            table["found"][row] = min(table["found"][row], values["found"])
            for name in COUNTERS:
                if add_counters:
                    table[name][row] += values[name]
                elif status is not AddStatus.REJECTED:
                    table[name][row] = values[name]
        if add_counters:
            for name in COUNTERS:
                former.table[name][:] = 0

    def collect(self, in_use: Iterable[Trajectory] = ()) -> dict[Trajectory, Trajectory]:
        """Drops unreachable trajectory chunks.

        Args:
            in_use: trajectories that tasks in flight extend.

        Returns:
            The new name of each trajectory in use.
        """
        extra = [self.end.trajectory, *in_use]
        tables = (self.table, self.former.table)
        chunks = np.concatenate([*(t["chunk"] for t in tables), np.array([t.chunk for t in extra], np.int32)])
        offsets = np.concatenate([*(t["offset"] for t in tables), np.array([t.offset for t in extra], np.int32)])
        renumbered = self.forest.collect(chunks, offsets)

        def rename(old: Trajectory) -> Trajectory:
            return old if old.chunk < 0 else Trajectory(int(renumbered[old.chunk]), old.offset)

        for table in tables:
            chunk = table["chunk"]
            reached = chunk >= 0
            chunk[reached] = renumbered[chunk[reached]]
        if self.end is not NEVER:
            self.end = replace(self.end, trajectory=rename(self.end.trajectory))
        return {old: rename(old) for old in extra}

    def digest(self) -> str:
        """One hash over everything the search found: keys, scores, ways and counters.

        Chunks are hashed as the actions they stand for, so that collecting garbage does not change it.
        """
        digest = hashlib.blake2b(digest_size=16)
        for name in FIELDS:
            if name not in ("chunk", "offset"):
                digest.update(np.ascontiguousarray(self.table[name]).tobytes())
        if self.tried:
            digest.update(np.ascontiguousarray(self.reliabilities).tobytes())
        former = self.former.table
        ways = [self.trajectory(row) for row in range(len(self))]
        hashes = self.forest.digests([*ways, self.end.trajectory])
        for key, actions in zip([*self.keys, b"end"], hashes, strict=True):
            digest.update(len(key).to_bytes(2, "little") + key + actions)
        if len(former):
            digest.update(self.representation)
            self.former.add_to_digest(digest.update)
            kept = zip(former["chunk"].tolist(), former["offset"].tolist(), strict=True)
            digest.update(b"".join(self.forest.digests([Trajectory(*way) for way in kept])))
        digest.update(repr((self.end.score, self.end.length, self.ends_seen)).encode())
        return digest.hexdigest()

    def save(self, *, with_snapshots: bool = True) -> dict[str, NDArray[Any]]:
        """Returns the archive as arrays.

        Args:
            with_snapshots: leave them out where they must not be written to a file.
        """
        snapshots = [snapshot or b"" for snapshot in self.snapshots] if with_snapshots else [b""] * len(self)
        return {
            **{f"table.{name}": self.table[name] for name in FIELDS},
            **{f"forest.{name}": array for name, array in self.forest.save().items()},
            **join_bytes("keys", self.keys),
            **join_bytes("snapshots", snapshots),
            **join_bytes("arrivals", self.arrivals if with_snapshots else [b""] * len(self)),
            "reliabilities": self.reliabilities,
            **join_bytes("frames", [frame or b"" for frame in self.frames]),
            **self.former.save(with_snapshots=with_snapshots),
            "representation": np.frombuffer(self.representation, np.uint8),
            "end": np.array([self.end.score, self.end.length], np.float64),
            "end_state": np.frombuffer(self.end.state, np.uint8),
            "end_trajectory": np.array(self.end.trajectory, np.int64),
            "ends_seen": np.array(self.ends_seen),
        }

    def restore(self, saved: dict[str, NDArray[Any]], *, with_snapshots: bool = True) -> None:
        """Takes over what `save` returned.

        Args:
            saved: the arrays.
            with_snapshots: ignore those that came from a file and would have to be unpickled.
        """
        self.table.replace({name: saved[f"table.{name}"] for name in FIELDS})
        forest = {name[7:]: array for name, array in saved.items() if name.startswith("forest.")}
        self.forest.restore(forest)
        self.keys = split_bytes("keys", saved)
        self._rows = {key: row for row, key in enumerate(self.keys)}
        snapshots = split_bytes("snapshots", saved) if with_snapshots else [b""] * len(self.keys)
        self.snapshots = [snapshot or None for snapshot in snapshots]
        tried = "reliabilities" in saved  # not in runs from before there were trials
        self._reliability.replace({"of_way": saved["reliabilities"] if tried else np.ones(len(self.keys))})
        self.arrivals = split_bytes("arrivals", saved) if tried and with_snapshots else [b""] * len(self.keys)
        self.frames = [frame or None for frame in split_bytes("frames", saved)]
        self.former.restore(saved, with_snapshots=with_snapshots)
        self.representation = saved["representation"].tobytes()
        self.ends_seen = int(saved["ends_seen"])
        score, length = saved["end"]
        trajectory = Trajectory(*map(int, saved["end_trajectory"]))
        state = saved["end_state"].tobytes()
        self.end = Best(float(score), int(length), trajectory, state=state) if np.isfinite(score) else NEVER
