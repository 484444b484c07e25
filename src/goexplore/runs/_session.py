"""One session of a run: the exploration loop with an executor, checkpoints, metrics and progress around it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from goexplore.archive import SnapshotCodec
from goexplore.envs import SnapshotKind
from goexplore.executors import Executor
from goexplore.exploration import BatchSummary, ExplorationLoop, Refit, RolloutResult
from goexplore.runs._checkpoints import Arrays, write_checkpoint
from goexplore.runs._folder import RunConfig, RunFolder
from goexplore.runs._interrupt import Impatient, StopRequest
from goexplore.runs._metrics import MetricsLog
from goexplore.runs._progress import Display, Status

CHECKPOINT_SECONDS = 60.0
CHECKPOINT_COST = 0.02
"""Largest share of a run's time spent on checkpoints; they are taken less often when they take long."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run found. Its scores are search scores: deterministic, and not a policy's."""

    run: Path
    frames: int
    """Raw frames explored, all sessions together."""
    steps: int
    """Agent steps explored."""
    cells: int
    best_score: float
    """Highest score reached, in a cell or at an end of episode."""
    end_score: float | None
    """Highest score at an end of episode. With the environment of the preset `paper`, its measure of a search."""
    archive_digest: str
    seconds: float
    """Time spent, all sessions together."""
    stopped_by: str
    """frames, minutes, score or interrupt."""
    resume_command: str | None
    """What to type to go on; None where only Python can (the run used objects without a name)."""


class Session:
    """Explores until the budget is spent or someone says stop.

    Args:
        folder: the run folder, locked.
        config: the run's configuration.
        loop: where it stands.
        codec: its snapshot codec.
        snapshot_kind: whether snapshots may be written to files.
        display: what people see.
        checkpoint_seconds: time between checkpoints.
        seconds_before: time that earlier sessions took.
    """

    def __init__(
        self,
        folder: RunFolder,
        config: RunConfig,
        loop: ExplorationLoop,
        codec: SnapshotCodec,
        *,
        snapshot_kind: SnapshotKind,
        display: Display,
        checkpoint_seconds: float,
        seconds_before: float = 0.0,
    ) -> None:
        self._folder, self._config, self._loop, self._codec = folder, config, loop, codec
        self._snapshots_to_disk = snapshot_kind is SnapshotKind.PLAIN
        self._display, self._checkpoint_seconds = display, checkpoint_seconds
        self._next_checkpoint = self._checkpoint_time = 0.0
        self._seconds_before, self._started = seconds_before, time.monotonic()
        self._first_frames, self._live_steps = loop.frames, 0
        self._fitting_text, self._fitting_seconds = "", 0.0
        if loop.adaptation is not None:
            loop.adaptation.on_progress = self._on_fitting
        self._best_score = loop.archive.best().score

    def drive(self, executor: Executor) -> RunResult:
        """Runs the loop, and saves."""
        loop, config = self._loop, self._config
        batches_ahead = 2 if config.exploration.pipelined else 1
        executor.on_result = self._on_result
        metrics = MetricsLog(self._folder.path, resume_at=(loop.iteration, loop.frames))
        with StopRequest() as stop:
            try:
                self._save()
                stopped_by = self._spent()
                if stopped_by is not None:
                    self._display.say(
                        f"nothing to do: at {loop.frames:,} frames the budget ({stopped_by}) is spent; give a larger"
                    )
                else:
                    with stop.interruptible():
                        executor.open(config.worker_spec(loop, self._codec), loop.everything)
                    for tasks in loop.in_flight:
                        executor.submit(tasks)
                while stopped_by is None:
                    refit = self._adapt(executor)
                    while len(loop.in_flight) < batches_ahead and not loop.adaptation_due:
                        executor.submit(loop.ask())
                    with stop.interruptible():
                        results = executor.collect()
                    summary = loop.tell(results)
                    executor.publish(loop.news())
                    self._report(summary, refit, metrics)
                    stopped_by = "interrupt" if stop.requested else self._spent()
                    if time.monotonic() >= self._next_checkpoint:
                        self._save()
            except Impatient:
                raise  # somewhere in the middle of something: the last checkpoint stands
            except KeyboardInterrupt:
                stopped_by = "interrupt"
            finally:
                executor.close()
                metrics.close()
            self._save()
        return self._result(stopped_by)

    def _adapt(self, executor: Executor) -> Refit | None:
        """Fits the cells again if that is due, and tells the workers."""
        loop, started = self._loop, time.monotonic()
        if loop.adaptation is not None and loop.adaptation_due and not loop.in_flight:
            self._display.say(f"fitting cells to {loop.adaptation.sampled:,} frames ...")
        refit = loop.adapt()
        if refit is None:
            return None
        executor.publish(self._loop.news())
        seconds = time.monotonic() - started
        self._display.say(
            f"cells fitted to {refit.sampled:,} frames in {seconds:.0f} s: {refit.description};"
            f" {refit.cells_before:,} cells became {refit.cells_after:,}"
        )
        self._fitting_seconds += seconds
        self._fitting_text = ""
        return refit

    def _on_fitting(self, done: float, text: str) -> None:
        self._fitting_text = f"fitting cells {done:.0%}: {text}"
        self._display.show(self._status())

    def _spent(self) -> str | None:
        budget = self._config.budget
        if budget.frames is not None and self._loop.frames >= budget.frames:
            return "frames"
        if budget.score is not None and self._best_score >= budget.score:
            return "score"
        if budget.minutes is not None and time.monotonic() - self._started >= 60 * budget.minutes:
            return "minutes"
        return None

    def _save(self) -> None:
        before = time.monotonic()
        arrays: Arrays = self._loop.save(with_snapshots=self._snapshots_to_disk)
        reference = self._codec.reference if self._snapshots_to_disk else b""
        arrays["run.identity"] = np.array(self._config.identity())
        arrays["run.seconds"] = np.array(self._seconds())
        arrays["run.frames_per_step"] = np.array(self._loop.frames_per_step)
        arrays["run.snapshot_reference"] = np.frombuffer(reference, np.uint8)
        write_checkpoint(self._folder.checkpoints, self._loop.iteration, arrays)
        after = time.monotonic()
        self._checkpoint_time += after - before
        self._next_checkpoint = after + max(self._checkpoint_seconds, (after - before) / CHECKPOINT_COST)

    def _seconds(self) -> float:
        return self._seconds_before + time.monotonic() - self._started

    def _on_result(self, result: RolloutResult) -> None:
        self._live_steps += result.steps
        self._display.show(self._status())

    def _report(self, summary: BatchSummary, refit: Refit | None, metrics: MetricsLog) -> None:
        self._live_steps = 0
        best = self._loop.archive.best()
        self._best_score = best.score
        loop, status = self._loop, self._status()
        self._display.show(status)
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
            best_steps=best.length,  # of the shortest way to that score
            end_score=status.end_score,
            ends=summary.ends,
            **{f"rollouts_with_{name}": count for name, count in sorted(summary.events.items())},
            fitting_seconds=round(self._fitting_seconds, 3) if loop.adaptation is not None else None,
            refit=None if refit is None else refit.description,
        )

    def _status(self) -> Status:
        loop, budget = self._loop, self._config.budget
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
            doing=self._fitting_text,
        )

    def _result(self, stopped_by: str) -> RunResult:
        loop, archive = self._loop, self._loop.archive
        return RunResult(
            run=self._folder.path,
            frames=loop.frames,
            steps=loop.steps,
            cells=len(archive),
            best_score=archive.best().score,
            end_score=_finite(archive.end.score),
            archive_digest=archive.digest(),
            seconds=round(self._seconds(), 2),
            stopped_by=stopped_by,
            resume_command=self._config.resume_command(self._folder.path),
        )


def _finite(score: float) -> float | None:
    return score if np.isfinite(score) else None
