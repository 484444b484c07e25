"""A run: the exploration loop with an executor, checkpoints, metrics and progress around it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from goexplore.archive import START, Archive, Selector, SnapshotCodec
from goexplore.cells import CellFunction, make_cells
from goexplore.envs import (
    KNOWN_BROKEN_ROUND_TRIPS,
    AtariEnv,
    RestorableEnv,
    SnapshotKind,
    env_spec,
    is_atari,
    make_env,
    resolved,
)
from goexplore.errors import GoExploreError, InputError
from goexplore.executors import Executor, ProcessExecutor, SerialExecutor, available_cores
from goexplore.exploration import (
    ATARI_SETTINGS,
    BatchSummary,
    ExplorationLoop,
    Explorer,
    RolloutResult,
    WorkerSpec,
    cell_key,
    preset_config,
)
from goexplore.plugins import reference_to
from goexplore.runs._checkpoints import Arrays, read_newest_checkpoint, write_checkpoint
from goexplore.runs._folder import Budget, RunConfig, RunFolder, run_config
from goexplore.runs._interrupt import StopRequest
from goexplore.runs._metrics import MetricsLog
from goexplore.runs._progress import Display, Status, make_display

CHECKPOINT_SECONDS = 60.0
CHECKPOINT_COST = 0.02
"""Largest share of a run's time spent on checkpoints; they are taken less often when they take long."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run found."""

    run: Path
    frames: int
    """Raw frames explored, all sessions together."""
    steps: int
    """Agent steps explored."""
    cells: int
    best_score: float
    """Highest score of any cell (a search score: deterministic, not a policy's)."""
    end_score: float | None
    """Highest score at an end of episode: the paper's measure of a search."""
    archive_digest: str
    seconds: float
    """Time spent, all sessions together."""
    stopped_by: str
    """frames, minutes, score or interrupt."""
    resume_command: str


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
    **settings: Any,
) -> RunResult:
    """Explores an environment and writes a run folder.

    Args:
        env: a Gymnasium id, an Atari game, `package.module:name`, or a function that makes an environment.
        cells: what counts as one place: a name ("downscale:11x8x8", "observation", "ram:room=3,x=42/8",
            `package.module:name`), a function of (observation) or (observation, env), or a CellFunction.
            None takes downscaled frames for pictures and the observation itself for whole numbers.
        frames: stop after this many raw frames (2,000,000 when no budget is given).
        minutes: stop after this many minutes.
        until_score: stop once a cell has at least this score.
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
        settings: fields of ExplorationConfig that differ from the preset.

    Raises:
        InputError: something about the arguments is wrong; the message says what.
    """
    if frames is None and minutes is None and until_score is None:
        frames = 2_000_000
    budget = Budget(frames, minutes, until_score)
    exploration = preset_config(preset, selector=_named(selector), explorer=_named(explorer), **settings)
    spec = env_spec(env, kwargs=env_kwargs or {}, reset_seed=reset_seed, return_method=return_method)
    if is_atari(spec.id):
        spec = replace(spec, kwargs=ATARI_SETTINGS.get(preset, {}) | spec.kwargs)
    made = make_env(spec)
    config = RunConfig(
        env=resolved(spec, made),
        cells=_named(cells) if cells is not None else default_cells(made),
        exploration=exploration,
        seed=seed,
        budget=budget,
    )
    loop, codec = start(config, made)
    folder = RunFolder.create(Path(out) if out is not None else _default_folder(spec.id, seed), config)
    display = make_display(progress=progress)
    _introduce(made, config, display)
    run = _Run(folder, config, loop, codec, made.snapshot_kind, display, checkpoint_seconds)
    return run.drive(executor or _executor(workers))


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
    **objects: Any,
) -> RunResult:
    """Goes on with a run from its newest whole checkpoint.

    Args:
        path: the run folder.
        frames: new total of raw frames; without any budget the run's own holds.
        minutes: stop after this many minutes of this session.
        until_score: stop once a cell has at least this score.
        workers: as for `explore`; need not be what it was.
        checkpoint_seconds: time between checkpoints.
        progress: show progress on standard error.
        trust: import the code that the run names (`package.module:name`); for your own runs.
        executor: where rollouts run, in place of `workers`.
        objects: `env`, `cells`, `selector` or `explorer`, where the run used Python objects without a name.

    Raises:
        InputError: the folder is not a run, is in use, or holds no whole checkpoint.
    """
    folder = RunFolder.open(Path(path))
    config = run_config(folder.read_config(), trust=trust, **objects)
    if frames is not None or minutes is not None or until_score is not None:
        config = replace(config, budget=Budget(frames, minutes, until_score))
    folder.lock()
    display = make_display(progress=progress)
    try:
        loop, codec, seconds = load(folder, config, warn=display.say)
        made = make_env(config.env)
        _introduce(made, config, display)
        folder.write_config(config)
        run = _Run(folder, config, loop, codec, made.snapshot_kind, display, checkpoint_seconds)
        run.seconds_before = seconds
        return run.drive(executor or _executor(workers))
    finally:
        display.close()
        folder.unlock()


def start(config: RunConfig, env: RestorableEnv) -> tuple[ExplorationLoop, SnapshotCodec]:
    """An archive with the start cell alone, and the loop that will fill it."""
    cells = make_cells(config.cells)
    cells.reset()
    key = cell_key(cells, env.reset(), env)
    snapshot, cell_state = env.snapshot(), cells.save()
    codec = SnapshotCodec.for_start(snapshot, cell_state)
    archive = Archive(env.action_space.shape, env.action_space.dtype)
    archive.add(
        key,
        score=0.0,
        length=0,
        trajectory=START,
        snapshot=codec.encode(snapshot, cell_state),
        iteration=0,
    )
    return _loop(config, archive, env), codec


def load(
    folder: RunFolder, config: RunConfig, *, warn: Callable[[str], None]
) -> tuple[ExplorationLoop, SnapshotCodec, float]:
    """Reads a run's newest checkpoint: its loop, its snapshot codec, and the seconds it has taken."""
    saved = read_newest_checkpoint(folder.checkpoints, warn=warn)
    env = make_env(config.env)
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


def default_cells(env: RestorableEnv) -> str:
    """Downscaled frames for pictures, the observation itself for whole numbers.

    Raises:
        InputError: the observation is neither.
    """
    observation = env.reset()
    if isinstance(observation, np.ndarray) and observation.dtype == np.uint8 and observation.ndim >= 2:
        return "downscale:11x8x8"
    if isinstance(observation, (int, np.integer)) or (
        isinstance(observation, np.ndarray) and observation.dtype.kind in "iub"
    ):
        return "observation"
    raise InputError(
        f"no default cells for an observation of type {type(observation).__name__}; say what counts as one place,"
        " for example --cells observation:0.25 (a grid) or --cells my_module:my_function"
    )


class _Run:
    """One session of a run."""

    def __init__(
        self,
        folder: RunFolder,
        config: RunConfig,
        loop: ExplorationLoop,
        codec: SnapshotCodec,
        snapshot_kind: SnapshotKind,
        display: Display,
        checkpoint_seconds: float,
    ) -> None:
        self.folder, self.config, self.loop, self.display = folder, config, loop, display
        self.seconds_before = 0.0
        self._codec, self._snapshots_to_disk = codec, snapshot_kind is SnapshotKind.PLAIN
        self._checkpoint_seconds = checkpoint_seconds
        self._next_checkpoint = 0.0
        self._checkpoint_time = 0.0
        self._started = time.monotonic()
        self._first_frames = loop.frames
        self._live_steps = 0
        self._best_score = loop.archive.best().score

    def drive(self, executor: Executor) -> RunResult:
        """Explores until the budget is spent or someone says stop, and saves."""
        loop, config = self.loop, self.config
        spec = WorkerSpec(config.env, config.cells, config.exploration, config.seed, self._codec.reference)
        stopped_by = self._spent()
        metrics = MetricsLog(self.folder.path, resume_at=(loop.iteration, loop.frames))
        self.folder.note_session(workers=executor.workers, from_frames=loop.frames)
        executor.on_result = self._on_result
        batches_ahead = 2 if config.exploration.pipelined else 1
        with StopRequest() as stop:
            try:
                self._save()
                if stopped_by is None:
                    with stop.interruptible():
                        executor.open(spec, loop.everything)
                    for tasks in loop.in_flight:
                        executor.submit(tasks)
                while stopped_by is None:
                    with stop.interruptible():
                        while len(loop.in_flight) < batches_ahead:
                            executor.submit(loop.ask())
                        results = executor.collect()
                    summary = loop.tell(results)
                    executor.publish(loop.news())
                    self._report(summary, metrics)
                    stopped_by = "interrupt" if stop.requested else self._spent()
                    self._save_if_due()
            except KeyboardInterrupt:
                stopped_by = "interrupt"
            finally:
                executor.close()
                metrics.close()
            self._save()
        self.display.close()
        self.folder.unlock()
        return self._result(stopped_by)

    def _spent(self) -> str | None:
        budget = self.config.budget
        if budget.frames is not None and self.loop.frames >= budget.frames:
            return "frames"
        if budget.score is not None and self._best_score >= budget.score:
            return "score"
        if budget.minutes is not None and time.monotonic() - self._started >= 60 * budget.minutes:
            return "minutes"
        return None

    def _save_if_due(self) -> None:
        if time.monotonic() >= self._next_checkpoint:
            self._save()

    def _save(self) -> None:
        before = time.monotonic()
        arrays: Arrays = self.loop.save(with_snapshots=self._snapshots_to_disk)
        reference = self._codec.reference if self._snapshots_to_disk else b""
        arrays["run.identity"] = np.array(self.config.identity())
        arrays["run.seconds"] = np.array(self._seconds())
        arrays["run.snapshot_reference"] = np.frombuffer(reference, np.uint8)
        try:
            write_checkpoint(self.folder.checkpoints, self.loop.iteration, arrays)
        except GoExploreError as error:
            raise GoExploreError(
                f"{error}; make room and go on with: {self.config.resume_command(self.folder.path)}"
            ) from error
        after = time.monotonic()
        self._checkpoint_time += after - before
        self._next_checkpoint = after + max(self._checkpoint_seconds, (after - before) / CHECKPOINT_COST)

    def _seconds(self) -> float:
        return self.seconds_before + time.monotonic() - self._started

    def _on_result(self, result: RolloutResult) -> None:
        self._live_steps += result.steps
        self.display.show(self._status())

    def _report(self, summary: BatchSummary, metrics: MetricsLog) -> None:
        self._live_steps = 0
        self._best_score = self.loop.archive.best().score
        loop, status = self.loop, self._status()
        self.display.show(status)
        metrics.write(
            iteration=loop.iteration,
            frames=loop.frames,
            steps=loop.steps,
            return_steps=loop.return_steps,
            seconds=round(self._seconds(), 3),
            checkpoint_seconds=round(self._checkpoint_time, 3),
            frames_per_second=round(status.frames_per_second, 1),
            cells=len(loop.archive),
            new_cells=summary.new_cells,
            improved_cells=summary.improved_cells,
            best_score=status.best_score,
            end_score=status.end_score,
            ends=summary.ends,
        )

    def _status(self) -> Status:
        loop, budget = self.loop, self.config.budget
        frames = loop.frames + self._live_steps * loop.frames_per_step
        elapsed = time.monotonic() - self._started
        rate = (frames - self._first_frames) / elapsed if elapsed > 0 else 0.0
        left, done = [], []
        if budget.frames is not None:
            done.append(frames / budget.frames)
            if rate > 0:
                left.append((budget.frames - frames) / rate)
        if budget.minutes is not None:
            done.append(elapsed / 60 / budget.minutes)
            left.append(60 * budget.minutes - elapsed)
        return Status(
            frames=frames,
            frames_per_second=rate,
            cells=len(loop.archive),
            best_score=self._best_score,
            end_score=_finite(loop.archive.end.score),
            seconds_left=max(0.0, min(left)) if left else None,
            done=min(1.0, max(done)) if done else None,
        )

    def _result(self, stopped_by: str | None) -> RunResult:
        loop, archive = self.loop, self.loop.archive
        return RunResult(
            run=self.folder.path,
            frames=loop.frames,
            steps=loop.steps,
            cells=len(archive),
            best_score=archive.best().score,
            end_score=_finite(archive.end.score),
            archive_digest=archive.digest(),
            seconds=round(self._seconds(), 2),
            stopped_by=stopped_by or "frames",
            resume_command=self.config.resume_command(self.folder.path),
        )


def _loop(config: RunConfig, archive: Archive, env: RestorableEnv) -> ExplorationLoop:
    return ExplorationLoop(
        archive,
        config=config.exploration,
        seed=config.seed,
        frames_per_step=env.frames_per_step,
    )


def _executor(workers: int | None) -> Executor:
    count = available_cores() if workers is None else workers
    if count < 1:
        raise InputError(f"workers {count}: expected at least 1")
    return SerialExecutor() if count == 1 else ProcessExecutor(count)


def _named(part: Any) -> Any:
    """A function or class by its importable name where it has one, so that the run can be resumed by anyone."""
    return part if part is None or isinstance(part, str) else reference_to(part) or part


def _default_folder(env_id: str, seed: int) -> Path:
    name = re.sub(r"[^\w.-]+", "-", env_id.removeprefix("ALE/"))
    return Path("runs") / f"{name}__{seed}__{time.strftime('%Y%m%d-%H%M%S')}"


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


def _finite(score: float) -> float | None:
    return score if np.isfinite(score) else None
