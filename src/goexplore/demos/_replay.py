"""Replaying what the archive says, from reset, in a fresh simulator.

No score leaves a run without this: a trajectory whose replay disagrees is not exported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from goexplore.archive import Archive, Best, SnapshotCodec
from goexplore.cells import AdaptiveCells, cell_key, make_cells
from goexplore.envs import RestorableEnv, make_env
from goexplore.errors import GoExploreError
from goexplore.exploration import start_episode, state_digest
from goexplore.runs import RunConfig

OnStep = Callable[[RestorableEnv, float, int], None]


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay came to."""

    score: float
    length: int
    ended: bool
    """Whether the last step ended the episode."""
    key: bytes
    """Cell of the last state; empty at an end of episode."""
    state: bytes
    """Digest of the last simulator state."""


class Replayer:
    """Replays trajectories of a run, each in a simulator of its own, and compares.

    Args:
        archive: the run's archive.
        codec: its snapshot codec.
        config: its configuration.
    """

    def __init__(self, archive: Archive, codec: SnapshotCodec, config: RunConfig) -> None:
        self._archive, self._codec, self._config = archive, codec, config
        self._restored = make_env(config.env)
        self._restored.reset()

    def replay(self, best: Best, *, on_step: OnStep | None = None, render: bool = False) -> Replay:
        """Plays a trajectory from reset, until it or the episode ends.

        Args:
            best: the trajectory.
            on_step: called after reset and after every step with the environment, the score and the steps so far.
            render: whether `on_step` asks for pictures.
        """
        env, cells = make_env(self._config.env, render=render), make_cells(self._config.cells)
        if isinstance(cells, AdaptiveCells):
            cells.use(self._archive.representation)
        _, key = start_episode(env, cells)
        score, length, ended = 0.0, 0, False
        if on_step is not None:
            on_step(env, score, length)
        for row in self._archive.forest.actions(best.trajectory):
            if ended:
                break
            observation, reward, terminated, truncated, _ = env.step(env.action_space.to_env(row))
            score, length, ended = score + reward, length + 1, terminated or truncated
            key = b"" if ended else cell_key(cells, observation, env)
            if on_step is not None:
                on_step(env, score, length)
        replayed = Replay(score, length, ended, key, state_digest(env))
        env.close()
        return replayed

    def differences(self, best: Best, replayed: Replay) -> list[str]:
        """Names what differs between the archive and a replay: score, length, end, key, state.

        The state of a cell is compared with the one restored from its snapshot, in another instance.
        """
        key, state = (b"", best.state) if best.ends else (self._archive.keys[best.row], self._snapshot_state(best.row))
        return [
            name
            for name, got, wanted in (
                ("score", replayed.score, best.score),
                ("length", replayed.length, best.length),
                ("end", replayed.ended, best.ends),
                ("key", replayed.key, key),
                ("state", replayed.state, state or replayed.state),
            )
            if got != wanted
        ]

    def verified(self, best: Best, *, on_step: OnStep | None = None, render: bool = False) -> Replay:
        """Replays and compares.

        Raises:
            GoExploreError: they differ, so the trajectory must not be exported.
        """
        replayed = self.replay(best, on_step=on_step, render=render)
        differences = self.differences(best, replayed)
        if differences:
            raise GoExploreError(
                f"the trajectory does not replay (it differs in {', '.join(differences)}): the archive says score"
                f" {best.score:g} after {best.length:,} steps, the replay reached {replayed.score:g} after"
                f" {replayed.length:,}; it is not exported. goexplore check-env tells whether the environment restores"
                " faithfully"
            )
        return replayed

    def _snapshot_state(self, row: int) -> bytes:
        snapshot = self._archive.snapshots[row]
        if snapshot is None:
            return b""
        self._restored.restore(self._codec.decode(snapshot)[0])
        return state_digest(self._restored)


def pick_cells(archive: Archive, count: int, seed: int) -> list[int]:
    """Draws distinct rows at random."""
    rng = np.random.default_rng(seed)
    return sorted(rng.choice(len(archive), size=min(count, len(archive)), replace=False).tolist())
