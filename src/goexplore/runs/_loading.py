"""A run's state: fresh from its configuration, or from its newest checkpoint."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import START, Archive, FrameCodec, SnapshotCodec
from goexplore.cells import AdaptiveCells, make_cells
from goexplore.envs import RestorableEnv, SnapshotKind
from goexplore.errors import InputError
from goexplore.exploration import Adaptation, ExplorationConfig, ExplorationLoop, Roller, start_episode
from goexplore.runs._checkpoints import read_newest_checkpoint
from goexplore.runs._folder import RunConfig, RunFolder


def start(config: RunConfig, env: RestorableEnv) -> tuple[ExplorationLoop, SnapshotCodec]:
    """An archive with the start cell alone, and the loop that will fill it."""
    cells = make_cells(config.cells)
    if config.exploration.trials and (isinstance(cells, AdaptiveCells) or env.snapshot_kind is not SnapshotKind.PLAIN):
        raise InputError(
            f"trials {config.exploration.trials}: expected cells that stay as they are, and an environment whose states"
            " can be written to a file (get_state and set_state, Atari or MuJoCo)"
        )
    observation, key = start_episode(env, cells)
    snapshot, cell_state = env.snapshot(), cells.save()
    codec = SnapshotCodec.for_start(snapshot, cell_state)
    archive = Archive(env.action_space.shape, env.action_space.dtype)
    adaptation = None
    frame = None
    if isinstance(cells, AdaptiveCells):
        frames = FrameCodec(cells.frame(observation, env))
        frame = frames.encode(frames.reference)
        archive.representation = cells.representation
        # Counters start anew with every improvement, or count all visits: see `Archive.change_representation`.
        add_counters = not config.exploration.reset_counters_on_improvement
        adaptation = Adaptation(cells, frames, config.exploration.fitting, add_counters=add_counters)
    archive.add(
        key,
        score=0.0,
        length=0,
        trajectory=START,
        snapshot=codec.encode(snapshot, cell_state),
        iteration=0,
        frame=frame,
    )
    if adaptation is not None:
        archive.remember(add_counters=False)  # the start, so that whatever replaces it before the first fit cannot
    loop = ExplorationLoop(
        archive,
        config=config.exploration,
        seed=config.seed,
        frames_per_step=env.frames_per_step,
        adaptation=adaptation,
    )
    return loop, codec


def follow(ways: Sequence[NDArray[Any]], config: RunConfig, loop: ExplorationLoop, codec: SnapshotCodec) -> None:
    """Plays trajectories from reset and offers every cell they go through to the archive, before a search begins.

    Raises:
        InputError: one does not fit the environment.
    """
    if not ways:
        return
    roller = Roller(config.worker_spec(loop, codec))
    roller.learn(loop.everything())
    for way in ways:
        loop.tell([roller.run(task) for task in loop.ask_to_follow(way)])
        roller.learn(loop.news())


def start_again(folder: RunFolder, config: RunConfig, env: RestorableEnv) -> tuple[ExplorationLoop, SnapshotCodec]:
    """What a run began with that was stopped before its first checkpoint.

    Raises:
        InputError: it began with trajectories which are not there any more.
    """
    ways = folder.read_first_ways()
    if digest_of_ways(ways) != config.first_ways:
        raise InputError(f"the trajectories that {folder.path} began with are missing or changed; begin a new run")
    loop, codec = start(config, env)
    follow(ways, config, loop, codec)
    return loop, codec


def digest_of_ways(ways: Sequence[NDArray[Any]]) -> str:
    """Tells trajectories from others; empty for none."""
    digest = hashlib.blake2b(digest_size=16)
    for way in ways:
        digest.update(f"{way.dtype}{way.shape}".encode() + np.ascontiguousarray(way).tobytes())
    return digest.hexdigest() if ways else ""


def load(
    folder: RunFolder,
    config: RunConfig,
    env: RestorableEnv,
    *,
    warn: Callable[[str], None],
    set_damaged_aside: bool = False,
) -> tuple[ExplorationLoop, SnapshotCodec, float]:
    """Reads a run's newest checkpoint: its loop, its snapshot codec, and the seconds it has taken.

    Args:
        folder: the run folder.
        config: its configuration.
        env: an environment of that configuration.
        warn: told in one line about every damaged checkpoint.
        set_damaged_aside: rename those, so that they are not counted among the kept ones.
    """
    saved = read_newest_checkpoint(folder.checkpoints, warn=warn, set_damaged_aside=set_damaged_aside)
    loop, codec = start(config, env)
    plain = env.snapshot_kind is SnapshotKind.PLAIN  # anything else would have to be unpickled
    try:
        if str(saved["run.identity"]) != config.identity():
            raise InputError(
                f"the checkpoint in {folder.checkpoints} does not fit this run: it belongs to another one, or"
                " config.json was changed"
            )
        loop.restore(saved, with_snapshots=plain)
        reference, seconds = saved["run.snapshot_reference"].tobytes(), float(saved["run.seconds"])
    except (KeyError, ValueError, IndexError, TypeError) as error:
        raise InputError(
            f"the checkpoint in {folder.checkpoints} does not fit this run ({type(error).__name__}: {error})"
        ) from error
    return loop, SnapshotCodec(reference) if plain and reference else codec, seconds


def peek(folder: RunFolder, *, warn: Callable[[str], None]) -> tuple[ExplorationLoop, float]:
    """Reads a run's newest checkpoint without building its environment or importing its code.

    Returns:
        The loop, good for looking at, and the seconds the run has taken.
    """
    saved = read_newest_checkpoint(folder.checkpoints, warn=warn)
    try:
        actions = saved["forest.actions"]
        archive = Archive(actions.shape[1:], actions.dtype)
        loop = ExplorationLoop(archive, config=ExplorationConfig(), frames_per_step=int(saved["run.frames_per_step"]))
        loop.restore(saved)
        return loop, float(saved["run.seconds"])
    except (KeyError, ValueError, IndexError, TypeError) as error:
        raise InputError(
            f"the checkpoint in {folder.checkpoints} is not ours ({type(error).__name__}: {error})"
        ) from error
