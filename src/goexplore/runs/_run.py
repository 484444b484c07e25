"""The two calls that people make: explore and resume."""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from goexplore.archive import Selector, SnapshotCodec
from goexplore.cells import CellFunction
from goexplore.envs import KNOWN_BROKEN_ROUND_TRIPS, AtariEnv, RestorableEnv, env_spec, make_env, resolved
from goexplore.errors import GoExploreError, InputError
from goexplore.executors import Executor, ProcessExecutor, SerialExecutor, available_cores
from goexplore.exploration import ExplorationLoop, Explorer, make_explorer, preset_config
from goexplore.plugins import named
from goexplore.runs._checkpoints import NoCheckpointError
from goexplore.runs._folder import Budget, RunConfig, RunFolder, run_config
from goexplore.runs._loading import digest_of_ways, follow, load, start, start_again
from goexplore.runs._progress import Display, make_display
from goexplore.runs._session import CHECKPOINT_SECONDS, RunResult, Session
from goexplore.runs._set_up import default_cells, set_up


def explore(
    env: str | Callable[..., Any],
    *,
    cells: str | CellFunction | Callable[..., Any] | None = None,
    frames: int | None = None,
    minutes: float | None = None,
    until_score: float | None = None,
    out: str | os.PathLike[str] | None = None,
    seed: int = 0,
    workers: int | None = None,
    preset: str = "laptop",
    selector: str | Selector | None = None,
    explorer: str | Explorer | None = None,
    env_kwargs: dict[str, Any] | None = None,
    reset_seed: int = 0,
    return_method: str = "auto",
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    progress: bool = True,
    executor: Executor | None = None,
    begin_with: Sequence[ArrayLike] = (),
    **settings: Any,
) -> RunResult:
    """Explores an environment and writes a run folder.

    Args:
        env: a Gymnasium id, an Atari game, `package.module:name`, or a function that makes an environment.
        cells: what counts as one place: a name ("dynamic", "downscale:11x8x8", "domain", "observation",
            "ram:room=3,x=42/8", `package.module:name`), a function of (observation) or (observation, env), or a
            CellFunction. None takes what the preset has for Atari (downscaled frames that adapt themselves),
            downscaled frames for other pictures, and the observation itself for whole numbers.
        frames: stop after this many raw frames (2,000,000 when no budget is given).
        minutes: stop after this many minutes.
        until_score: stop once a score of at least this is reached.
        out: the run folder; None makes one under `runs/`.
        seed: the run's seed. One seed gives one archive, whatever the number of workers.
        workers: processes; None takes one for each core, 1 stays in this process.
        preset: "laptop", "paper", "original-code" or "tiny".
        selector: how cells are selected, in place of the preset's.
        explorer: how to act after a return, in place of the preset's.
        env_kwargs: arguments of the environment.
        reset_seed: the seed of every reset of a Gymnasium environment.
        return_method: "native", "mujoco", "copy", "replay" or "auto".
        checkpoint_seconds: time between checkpoints.
        progress: show progress on standard error.
        executor: where rollouts run, in place of `workers`.
        begin_with: trajectories, each the actions from reset, whose cells the archive holds before the search begins:
            demonstrations of a person or of another search.
        settings: fields of ExplorationConfig that differ from the preset.

    Raises:
        InputError: something about the arguments is wrong; the message says what.
    """
    if frames is None and minutes is None and until_score is None:
        frames = 2_000_000
    budget = Budget(frames, minutes, until_score)
    ways = [np.asarray(each) for each in begin_with]
    spec = env_spec(env, kwargs=env_kwargs or {}, reset_seed=reset_seed, return_method=return_method)
    chosen, spec = set_up(spec, cells, preset)
    made = make_env(spec)
    chosen = default_cells(made, preset) if chosen is None else chosen
    config = RunConfig(
        env=resolved(spec, made),
        cells=chosen,
        exploration=preset_config(
            preset,
            cells=chosen if isinstance(chosen, str) else "",
            selector=named(selector),
            explorer=named(explorer),
            **settings,
        ),
        seed=seed,
        budget=budget,
        first_ways=digest_of_ways(ways),
    )
    loop, codec = start(config, made)
    follow(ways, config, loop, codec)
    exploration = config.exploration  # workers make explorers of their own; a wrong name should not leave a folder
    make_explorer(exploration.explorer, repeat_probability=exploration.repeat_probability)
    executor = executor or _executor(workers)
    folder = RunFolder.create(Path(out) if out is not None else _default_folder(spec.id, seed), config)
    with _session(folder, config, progress=progress) as display:
        folder.write_first_ways(ways)
        return _drive(folder, config, made, (loop, codec), executor, display, checkpoint_seconds)


def resume(
    path: str | os.PathLike[str],
    *,
    frames: int | None = None,
    minutes: float | None = None,
    until_score: float | None = None,
    workers: int | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    progress: bool = True,
    trust: bool = False,
    executor: Executor | None = None,
    env: Callable[..., Any] | None = None,
    cells: CellFunction | Callable[..., Any] | None = None,
    selector: Selector | None = None,
    explorer: Explorer | None = None,
) -> RunResult:
    """Goes on with a run from its newest whole checkpoint.

    Args:
        path: the run folder.
        frames: new total of raw frames; without any budget the run's own holds.
        minutes: stop after this many minutes of this session.
        until_score: stop once a score of at least this is reached.
        workers: as for `explore`; need not be what it was.
        checkpoint_seconds: time between checkpoints.
        progress: show progress on standard error.
        trust: import the code that the run names (`package.module:name`); for your own runs.
        executor: where rollouts run, in place of `workers`.
        env: the function that made the environment, where the run used one without an importable name.
        cells: likewise the cell function.
        selector: likewise the selector.
        explorer: likewise the explorer.

    Raises:
        InputError: the folder is not a run, is in use, or holds no whole checkpoint.
    """
    folder = RunFolder.open(Path(path))
    objects = {"env": env, "cells": cells, "selector": selector, "explorer": explorer}
    config = run_config(folder.read_config(), trust=trust, **objects)
    if frames is not None or minutes is not None or until_score is not None:
        config = replace(config, budget=Budget(frames, minutes, until_score))
    executor = executor or _executor(workers)
    folder.lock()
    with _session(folder, config, progress=progress) as display:
        made = make_env(config.env)
        try:
            loop, codec, seconds = load(folder, config, made, warn=display.say, set_damaged_aside=True)
        except NoCheckpointError:
            display.say("the run was stopped before its first checkpoint: starting from the beginning")
            (loop, codec), seconds = start_again(folder, config, made), 0.0
        for change in folder.changes_since_last_session(**_facts(made)):
            display.say(f"warning: {change}")
        folder.write_config(config)
        return _drive(folder, config, made, (loop, codec), executor, display, checkpoint_seconds, seconds)


def _executor(workers: int | None) -> Executor:
    count = available_cores() if workers is None else workers
    if count < 1:
        raise InputError(f"workers {count}: expected at least 1")
    return SerialExecutor() if count == 1 else ProcessExecutor(count)


def _default_folder(env_id: str, seed: int) -> Path:
    name = re.sub(r"[^\w.-]+", "-", env_id.removeprefix("ALE/"))
    first = Path("runs") / f"{name}__{seed}__{time.strftime('%Y%m%d-%H%M%S')}"
    others = (first.with_name(f"{first.name}-{count}") for count in itertools.count(2))
    return next(path for path in itertools.chain([first], others) if not path.exists())


@contextmanager
def _session(folder: RunFolder, config: RunConfig, *, progress: bool) -> Iterator[Display]:
    """A display and a locked folder, both given back whatever happens."""
    display = make_display(progress=progress)
    try:
        yield display
    except OSError as error:
        raise GoExploreError(
            f"{folder.path} cannot be written ({error.strerror or error}); its last checkpoint is intact. Make room"
            f" and go on with: {config.resume_command(folder.path) or 'goexplore.resume'}"
        ) from error
    finally:
        display.close()
        folder.unlock()


def _drive(
    folder: RunFolder,
    config: RunConfig,
    env: RestorableEnv,
    state: tuple[ExplorationLoop, SnapshotCodec],
    executor: Executor,
    display: Display,
    checkpoint_seconds: float,
    seconds_before: float = 0.0,
) -> RunResult:
    """Says what is about to happen, notes it in the folder, and explores."""
    loop, codec = state
    _introduce(env, config, display)
    folder.note_session(workers=executor.workers, from_frames=loop.frames, **_facts(env))
    session = Session(
        folder,
        config,
        loop,
        codec,
        snapshot_kind=env.snapshot_kind,
        display=display,
        checkpoint_seconds=checkpoint_seconds,
        seconds_before=seconds_before,
    )
    return session.drive(executor)


def _facts(env: RestorableEnv) -> dict[str, Any]:
    """What a run depends on beside its configuration and the versions of packages."""
    return {"rom_md5": env.rom_md5} if isinstance(env, AtariEnv) else {}


def _introduce(env: RestorableEnv, config: RunConfig, display: Display) -> None:
    cells = (
        config.cells
        if isinstance(config.cells, str)
        else getattr(config.cells, "__name__", type(config.cells).__name__)
    )
    display.say(f"exploring {config.env.id} · cells {cells} · seed {config.seed}")
    display.say(f"returns by: {env.how_it_returns}")
    if isinstance(env, AtariEnv):
        display.say("search runs without sticky actions, whatever the id's default; policies are tested with them")
        if config.env.kwargs:
            display.say("environment: " + ", ".join(f"{name}={value}" for name, value in config.env.kwargs.items()))
        if env.game in KNOWN_BROKEN_ROUND_TRIPS:
            display.say(
                f"warning: {KNOWN_BROKEN_ROUND_TRIPS[env.game]}; scores may be wrong until replayed, and whatever"
                " does not replay is never exported"
            )
