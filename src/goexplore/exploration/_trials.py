"""How reliable a way to a cell is: noisy replays of it. Not in the paper.

The shortest way is often a lucky one: a block that bounces between the fingers, a jump that just reaches the ledge.
Under the least noise it fails, and no policy learns it. Here each cell keeps some states in which noisy replays of its
way have come to it. A way onwards is tried from all of them; the share that arrives, times the reliability of the way
so far, is its reliability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from goexplore.archive import SnapshotCodec, Way
from goexplore.cells import CellFunction, cell_key
from goexplore.envs import ActionSpace, RestorableEnv
from goexplore.exploration._config import ExplorationConfig
from goexplore.exploration._tasks import Candidate, Task

EARLY, LATE = 3, 3
"""Steps by which a noisy replay may come to the cell before or after the way itself does."""
SHORTER = 0.9
"""A way that cannot be more reliable is tried if it is at most this share of the known one's length: trials cost
time."""
SIZE = 4
"""Bytes that tell the length of a snapshot."""


class Arrival(NamedTuple):
    """Where a noisy replay has come."""

    snapshot: bytes
    """Encoded."""
    action: bytes
    """The last action, which may be repeated."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What trials came to."""

    accepted: bool
    steps: int


class Trials:
    """Replays ways under noise, on a worker's environment.

    Args:
        env: the environment.
        cells: whose keys tell where a replay has come.
        codec: of snapshots.
        config: how many trials, and how much noise.
    """

    def __init__(
        self, env: RestorableEnv, cells: CellFunction, codec: SnapshotCodec, config: ExplorationConfig
    ) -> None:
        self._env, self._cells, self._codec = env, cells, codec
        self._count, self._sticky = config.trials, config.trial_sticky
        space = env.action_space
        self._jitter: Any = 0.0 if space.discrete else config.trial_jitter * (space.high - space.low) / 2.0

    def rate(
        self, task: Task, candidate: Candidate, actions: Sequence[Any], known: Way | None, rng: np.random.Generator
    ) -> Outcome:
        """Tries the way from a task's cell to a candidate, which then says how reliable its whole way is.

        Args:
            task: where the way begins.
            candidate: where it leads.
            actions: of the rollout.
            known: the way to that cell that is known already, if there is one.
            rng: the noise.
        """
        if known is not None and not _worth_trying(task, candidate, known):
            return Outcome(accepted=False, steps=0)
        way, gain, taken = actions[: candidate.step], candidate.score - task.score, 0
        arrivals: list[Arrival] = []
        for tried, start in enumerate(self._starts(task), 1):
            arrival, steps = self._replay(start, way, candidate.key, gain, rng)
            taken += steps
            if arrival is not None:
                arrivals.append(arrival)
            possible = task.reliability * (len(arrivals) + self._count - tried) / self._count
            if not possible or (known is not None and candidate.score <= known.score and possible < known.reliability):
                return Outcome(accepted=False, steps=taken)
        candidate.reliability = task.reliability * len(arrivals) / self._count
        candidate.arrivals = pack([arrivals[number % len(arrivals)] for number in range(self._count)])
        length = task.length + candidate.step
        accepted = known is None or Way.of(candidate.score, length, candidate.reliability) > known
        return Outcome(accepted, taken)

    def _starts(self, task: Task) -> list[Arrival]:
        if task.arrivals:
            return unpack(task.arrivals, self._env.action_space)
        return [Arrival(task.snapshot or b"", b"")] * self._count

    def _replay(
        self, start: Arrival, way: Sequence[Any], key: bytes, gain: float, rng: np.random.Generator
    ) -> tuple[Arrival | None, int]:
        """Goes a way under noise; returns where it has come, if that is the cell with its score, and the steps."""
        env, space, cells = self._env, self._env.action_space, self._cells
        snapshot, cell_state = self._codec.decode(start.snapshot)
        cells.load(cell_state)
        env.restore(snapshot)
        before = np.frombuffer(start.action, space.dtype).reshape(space.shape) if start.action else None
        gained = 0.0
        for step in range(len(way) + LATE):
            action = np.asarray(way[min(step, len(way) - 1)], space.dtype)
            if before is not None and rng.random() < self._sticky:
                action = before
            before = action
            observation, reward, terminated, truncated, _ = env.step(self._shaken(action, rng))
            gained += reward
            if terminated or truncated:
                return None, step + 1
            reached = cell_key(cells, observation, env)
            if step >= len(way) - EARLY and reached == key and gained >= gain:
                snapshot = self._codec.encode(env.snapshot(), cells.save()) or b""
                return Arrival(snapshot, np.asarray(before, space.dtype).tobytes()), step + 1
        return None, len(way) + LATE

    def _shaken(self, action: Any, rng: np.random.Generator) -> Any:
        space = self._env.action_space
        if not np.any(self._jitter):
            return space.to_env(action)
        shaken = action + self._jitter * rng.standard_normal(space.shape)
        return space.to_env(np.clip(shaken, space.low, space.high).astype(space.dtype))


def _worth_trying(task: Task, candidate: Candidate, known: Way) -> bool:
    """A candidate is better if all trials succeed; whether that is worth the time."""
    more = candidate.score > known.score or task.reliability > known.reliability
    return more or task.length + candidate.step <= SHORTER * -known.minus_length


def pack(arrivals: Sequence[Arrival]) -> bytes:
    """Arrivals as the archive keeps them."""
    return b"".join(len(each.snapshot).to_bytes(SIZE, "little") + each.snapshot + each.action for each in arrivals)


def unpack(packed: bytes, space: ActionSpace) -> list[Arrival]:
    """The inverse of `pack`."""
    arrivals, at, action = [], 0, math.prod(space.shape) * space.dtype.itemsize
    while at < len(packed):
        first = at + SIZE
        middle = first + int.from_bytes(packed[at:first], "little")
        at = middle + action
        arrivals.append(Arrival(packed[first:middle], packed[middle:at]))
    return arrivals
