"""What travels between the loop and the workers: tasks out, results back, and news of the archive."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import NEVER, Archive, Trajectory, Way, better

NO_WAY = Way(0.0, 0.0, 0)


@dataclass(slots=True)
class Task:
    """One cell to return to and explore from, as it stood when it was selected.

    A batch may replace the cell while this task runs; what the task extends stays what is written here.
    """

    iteration: int
    index: int
    """Place in the batch."""
    row: int
    score: float
    length: int
    trajectory: Trajectory
    snapshot: bytes | None
    """Encoded snapshot, or None: then `actions` lead there from reset."""
    steps: int
    """Agent steps to explore at most."""
    actions: NDArray[Any] | None = None
    """Actions from reset, where there is no snapshot."""
    reliability: float = 1.0
    """Of the way to the cell, under noise."""
    arrivals: bytes = b""
    """Where noisy replays of that way have come."""
    plan: NDArray[Any] | None = None
    """Actions to take, in place of those that the explorer would."""

    def rng(self, run_seed: int) -> np.random.Generator:
        """The task's own generator, from the run's seed and its place in the run."""
        return np.random.default_rng(np.random.SeedSequence(run_seed, spawn_key=(self.iteration, 1 + self.index)))

    def sampling_rng(self, run_seed: int) -> np.random.Generator:
        """Another generator, for which frames are sampled: that must not change what the task does."""
        return np.random.default_rng(np.random.SeedSequence(run_seed, spawn_key=(self.iteration, 1 + self.index, 0)))

    def trial_rng(self, run_seed: int, key: bytes) -> np.random.Generator:
        """Another one for the trials of each cell: they must not depend on which others were tried before."""
        spawn_key = (self.iteration, 1 + self.index, 1, zlib.crc32(key))
        return np.random.default_rng(np.random.SeedSequence(run_seed, spawn_key=spawn_key))


@dataclass(slots=True)
class Candidate:
    """A visit that may enter the archive: the best of its cell in this rollout."""

    key: bytes
    score: float
    step: int
    """Steps after the return at which it was reached; the first is 1."""
    snapshot: bytes | None
    frame: bytes | None = None
    """Encoded frame, where cells adapt themselves."""
    steps: int = 0
    """Steps the rollout spent in the cell."""
    reliability: float = 1.0
    """Of the whole way to it, under noise."""
    arrivals: bytes = b""
    """Where noisy replays of that way have come."""


@dataclass(slots=True)
class End:
    """An episode that ended."""

    score: float
    step: int
    state: bytes
    """Digest of the simulator state, where it may be a new best; for verification."""


@dataclass(slots=True)
class RolloutResult:
    """A rollout reduced to its distinct cells."""

    steps: int
    """Agent steps explored, trials included."""
    return_steps: int
    """Agent steps replayed to return; 0 when a snapshot was restored."""
    known: NDArray[np.int64]
    """(n, 2): rows of visited cells that are no candidates, and the steps spent in each."""
    candidates: list[Candidate]
    end: End | None
    """The end of episode, if it ended."""
    actions: NDArray[Any]
    """Actions taken, up to the last candidate (or the end, if that may be a new best)."""
    start_snapshot: bytes | None = None
    """A snapshot of the start, where the task came without one and one could be taken."""
    sampled: list[bytes] = field(default_factory=list)
    """Encoded frames for the sample that cells are fitted to."""
    events: frozenset[str] = frozenset()
    """What the environment said was so at any step: names of what was true in its `info`."""


@dataclass(slots=True)
class Update:
    """What changed in the archive: the rows that were added or improved."""

    new_keys: list[bytes] = field(default_factory=list)
    """Keys of the rows added, in row order."""
    rows: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    scores: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    lengths: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    reliabilities: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    end: tuple[float, int] = (NEVER.score, NEVER.length)
    representation: bytes = b""
    """What keys mean, where cells adapt themselves."""
    from_scratch: bool = False
    """Whether it holds the whole archive, and what was known before is to be forgotten."""

    @classmethod
    def since(cls, archive: Archive, first_new_row: int, changed: list[int], *, from_scratch: bool = False) -> Update:
        """Collects rows from `first_new_row` on, and `changed` ones before it."""
        old = np.array(sorted({row for row in changed if row < first_new_row}), np.int64)
        rows = np.concatenate([old, np.arange(first_new_row, len(archive))])
        return cls(
            new_keys=archive.keys[first_new_row:],
            rows=rows,
            scores=archive.table["score"][rows],
            lengths=archive.table["length"][rows],
            reliabilities=archive.reliabilities[rows],
            end=(archive.end.score, archive.end.length),
            representation=archive.representation,
            from_scratch=from_scratch,
        )


class KnownCells:
    """A worker's read-only view of the archive: enough to tell which visits are worth a snapshot.

    It may lag behind the archive without harm, because a cell only ever gets better: an old view lets
    through a few candidates too many, and the merge rejects them.
    """

    def __init__(self) -> None:
        self.rows: dict[bytes, int] = {}
        self._ways: list[Way] = []
        self._end = (NEVER.score, NEVER.length)

    def apply(self, update: Update) -> None:
        """Takes up what changed."""
        if update.from_scratch:
            self.rows, self._ways = {}, []
        first = len(self._ways)
        for row, key in enumerate(update.new_keys, first):
            self.rows[key] = row
        self._ways.extend([NO_WAY] * len(update.new_keys))
        columns = (update.rows, update.scores, update.lengths, update.reliabilities)
        for row, score, length, reliability in zip(*(column.tolist() for column in columns), strict=True):
            self._ways[row] = Way.of(score, length, reliability)
        self._end = update.end

    def way(self, row: int) -> Way:
        """What the known way to a cell is judged by."""
        return self._ways[row]

    def could_improve(self, row: int | None, way: Way) -> bool:
        """Whether a visit could enter the archive."""
        return row is None or way > self._ways[row]

    def end_could_improve(self, score: float, length: int) -> bool:
        """Whether an end of episode could be a new best."""
        return better(score, length, *self._end)
