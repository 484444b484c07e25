"""Replaying what the archive says, from reset, in a fresh simulator.

No score leaves a run without this: a trajectory whose replay disagrees is not exported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import Archive, Best, SnapshotCodec
from goexplore.cells import make_cells
from goexplore.envs import RestorableEnv, make_env
from goexplore.errors import GoExploreError
from goexplore.exploration import cell_key
from goexplore.runs import RunConfig


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay came to."""

    score: float
    length: int
    ended: bool
    """Whether the last step ended the episode."""
    fingerprint: bytes


def replay(
    env: RestorableEnv,
    actions: NDArray[Any],
    *,
    on_step: Callable[[RestorableEnv, float, int], None] | None = None,
) -> Replay:
    """Plays actions from reset, until they or the episode end.

    Args:
        env: a fresh environment.
        actions: (length, *shape).
        on_step: called after reset and after every step with the environment, the score and the steps so far.
    """
    env.reset()
    score, length, ended = 0.0, 0, False
    if on_step is not None:
        on_step(env, score, length)
    for row in actions:
        if ended:
            break
        _, reward, terminated, truncated, _ = env.step(env.action_space.to_env(row))
        score, length, ended = score + reward, length + 1, terminated or truncated
        if on_step is not None:
            on_step(env, score, length)
    return Replay(score, length, ended, env.fingerprint())


def require_same(replayed: Replay, expected: Best, *, ends: bool) -> None:
    """Compares a replay with what the archive says.

    Raises:
        GoExploreError: they differ, so the trajectory must not be exported.
    """
    got = (replayed.score, replayed.length, replayed.ended)
    wanted = (expected.score, expected.length, ends)
    if got != wanted:
        raise GoExploreError(
            f"the trajectory does not replay: the archive says score {wanted[0]:g} after {wanted[1]:,} steps"
            f"{' at an end of episode' if ends else ''}, the replay reached {got[0]:g} after {got[1]:,}"
            f"{' at an end of episode' if got[2] else ''}; it is not exported. goexplore check-env tells whether the"
            " environment restores faithfully"
        )


@dataclass(frozen=True, slots=True)
class CellCheck:
    """How one archived cell replayed."""

    row: int
    mismatch: str
    """What differed, or an empty string."""


def verify_cells(archive: Archive, codec: SnapshotCodec, config: RunConfig, rows: Iterable[int]) -> Iterable[CellCheck]:
    """Replays cells from reset in a fresh simulator and compares score, length, key and state.

    The state is the simulator's own (RAM on Atari), against the one restored from the cell's snapshot in
    another instance; cells without a snapshot are compared by key alone.
    """
    fresh, restored, cells = make_env(config.env), make_env(config.env), make_cells(config.cells)
    restored.reset()
    for row in rows:
        key = b""

        def follow(env: RestorableEnv, score: float, length: int) -> None:
            nonlocal key
            if length == 0:
                cells.reset()
            key = cell_key(cells, env.observation, env)

        replayed = replay(fresh, archive.forest.actions(archive.trajectory(row)), on_step=follow)
        differs = [
            name
            for name, got, wanted in (
                ("score", replayed.score, archive.table["score"][row]),
                ("length", replayed.length, archive.table["length"][row]),
                ("end", replayed.ended, False),
                ("key", key, archive.keys[row]),
                (
                    "state",
                    replayed.fingerprint,
                    _restored_fingerprint(restored, archive, codec, row, replayed),
                ),
            )
            if got != wanted
        ]
        yield CellCheck(row, ", ".join(differs))


def pick_cells(archive: Archive, count: int, seed: int) -> list[int]:
    """Draws distinct rows at random."""
    rng = np.random.default_rng(seed)
    return sorted(rng.choice(len(archive), size=min(count, len(archive)), replace=False).tolist())


def _restored_fingerprint(
    env: RestorableEnv, archive: Archive, codec: SnapshotCodec, row: int, replayed: Replay
) -> bytes:
    snapshot = archive.snapshots[row]
    if snapshot is None:
        return replayed.fingerprint
    env.restore(codec.decode(snapshot)[0])
    return env.fingerprint()
