"""One session of a training: iterations, with progress, metrics, checkpoints and policies."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from goexplore.errors import InputError
from goexplore.learn import Ranks
from goexplore.runs import (
    Display,
    MetricsLog,
    NoCheckpointError,
    StopRequest,
    clock,
    read_newest_checkpoint,
    write_checkpoint,
)
from goexplore.training._protocol import Progress
from goexplore.training._run import TrainingRun

CHECKPOINT_SECONDS = 120.0
POLICY_SECONDS, MOST_POLICIES = 60.0, 50
"""Time between policies that are kept, which grows with the session, so that long ones do not fill the disk."""
ITERATION, SECONDS = "session.iteration", "session.seconds"
TAGS = {
    "score": "charts/episodic_return",
    "first_life_score": "charts/first_life_return",
    "steps_per_second": "charts/SPS",
    "learning_rate": "charts/learning_rate",
    "policy_loss": "losses/policy_loss",
    "value_loss": "losses/value_loss",
    "entropy": "losses/entropy",
    "imitation_loss": "losses/imitation_loss",
    "approx_kl": "losses/approx_kl",
    "clip_fraction": "losses/clipfrac",
    "explained_variance": "losses/explained_variance",
    "gradient_norm": "losses/gradient_norm",
    "mean_value": "losses/mean_value",
    "way_to_start": "backward/way_to_start",
    "success": "backward/window_success",
}
"""What TensorBoard calls the numbers: the names that people know from CleanRL, where there are such."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds a session beside the run's budget of steps."""

    minutes: float | None = None
    checkpoint_seconds: float = CHECKPOINT_SECONDS

    def __post_init__(self) -> None:
        if self.minutes is not None and self.minutes <= 0:
            raise InputError(f"minutes {self.minutes}: expected a budget above 0")


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """What a session came to."""

    iterations: int
    steps: int
    frames: int
    seconds: float
    stopped_by: str
    last: Progress | None
    """The last iteration's; None if there was nothing to do."""


@dataclass(slots=True)
class TrainingStatus:
    """The numbers of a training at the moment."""

    words: list[str]
    steps: int
    steps_per_second: float
    done: float | None
    seconds_left: float | None

    def text(self) -> str:
        """One line for people."""
        parts = [f"{self.steps:,} steps", f"{self.steps_per_second:,.0f} steps/s", *self.words]
        if self.seconds_left is not None:
            parts.append(f"{clock(self.seconds_left)} left")
        return " · ".join(parts)


class Session:
    """Drives the training of one rank until its budget is spent.

    Args:
        ranks: who trains along.
        path: the run folder.
        run: what to train.
        limits: when to stop and save.
        display: for people; silent on all ranks but the first.
    """

    def __init__(self, ranks: Ranks, path: Path, run: TrainingRun, limits: Limits, display: Display) -> None:
        self._ranks, self._path, self._run, self._limits, self._display = ranks, path, run, limits, display
        self._training = run.make(path, ranks)
        self._checkpoints = path / "checkpoints" / f"rank-{ranks.rank}"
        self._checkpoints.mkdir(parents=True, exist_ok=True)
        (path / "policies").mkdir(exist_ok=True)
        self._seconds_before = 0.0
        self._load()
        self._started = self._saved_at = self._policy_at = time.monotonic()
        self._first_steps = self._training.steps
        display.say(self._training.about)

    def drive(self, stop: StopRequest | None) -> TrainingResult:
        """Trains, and saves.

        Args:
            stop: whether people want it to end; asked on the first rank alone.
        """
        training = self._training
        stopped_by: str | None = None
        if training.steps >= self._run.steps:
            stopped_by = "steps"
            self._display.say(f"nothing to do: {training.steps:,} steps are trained; give a larger budget (--steps)")
        metrics = None
        if self._ranks.leads:
            frames = training.steps * training.frames_per_step
            metrics = MetricsLog(self._path, resume_at=(training.iteration, frames), tags=TAGS)
        last = None
        try:
            while stopped_by is None:
                last = training.iterate(done=training.steps / self._run.steps)
                if metrics is not None:
                    self._report(last, metrics)
                stopped_by, save = self._ranks.agree((self._spent(stop, last), self._save_is_due()))
                if save or stopped_by is not None:
                    self._save()
        finally:
            training.close()
            if metrics is not None:
                metrics.close()
        return TrainingResult(
            iterations=training.iteration,
            steps=training.steps,
            frames=training.steps * training.frames_per_step,
            seconds=round(self._seconds, 2),
            stopped_by=stopped_by or "steps",
            last=last,
        )

    @property
    def _seconds(self) -> float:
        """Of all sessions."""
        return self._seconds_before + time.monotonic() - self._started

    def _spent(self, stop: StopRequest | None, last: Progress) -> str | None:
        if last.finished:
            return "success"
        if stop is not None and stop.requested:
            return "interrupt"
        if self._training.steps >= self._run.steps:
            return "steps"
        minutes = self._limits.minutes
        if minutes is not None and time.monotonic() - self._started >= 60 * minutes:
            return "minutes"
        return None

    def _save_is_due(self) -> bool:
        return time.monotonic() - self._saved_at >= self._limits.checkpoint_seconds

    def _save(self) -> None:
        iteration = self._training.iteration
        about = {ITERATION: np.array(iteration), SECONDS: np.array(self._seconds)}
        write_checkpoint(self._checkpoints, iteration, {**self._training.save(), **about})
        if self._ranks.leads:
            self._save_policy()
        self._saved_at = time.monotonic()

    def _save_policy(self) -> None:
        self._training.policy().save(self._path / "policies" / f"iteration-{self._training.iteration:06d}")
        self._policy_at = time.monotonic()

    def _load(self) -> None:
        """Goes on from the newest checkpoint that every rank has."""
        try:
            newest = read_newest_checkpoint(self._checkpoints, warn=self._display.say)
        except NoCheckpointError:
            newest = {}
        mine = _iteration(newest)
        theirs = self._ranks.gather(mine)
        if max(theirs) == 0:
            return
        if min(theirs) == 0:
            raise InputError(f"{self._checkpoints} holds no checkpoint, though those of other ranks do")
        if mine > min(theirs):  # a kill came between the writes of two ranks
            newest = read_newest_checkpoint(self._checkpoints, warn=self._display.say, at_most=min(theirs))
        if _iteration(newest) != min(theirs):
            raise InputError(f"a checkpoint in {self._checkpoints} is damaged, and the ranks have no other in common")
        self._training.restore(newest)
        self._seconds_before = float(newest[SECONDS])

    def _report(self, progress: Progress, metrics: MetricsLog) -> None:
        training, elapsed = self._training, max(time.monotonic() - self._started, 1e-9)
        rate = (training.steps - self._first_steps) / elapsed
        left = [(self._run.steps - training.steps) / rate] if rate else []
        if self._limits.minutes is not None:
            left.append(60 * self._limits.minutes - elapsed)
        self._display.show(
            TrainingStatus(
                progress.words,
                training.steps,
                rate,
                done=min(1.0, training.steps / self._run.steps),
                seconds_left=max(0.0, min(left)) if left else None,
            )
        )
        metrics.write(
            iteration=training.iteration,
            frames=training.steps * training.frames_per_step,
            steps=training.steps,
            seconds=round(self._seconds, 3),
            steps_per_second=round(rate, 1),
            **progress.numbers,
        )
        if time.monotonic() - self._policy_at >= max(POLICY_SECONDS, elapsed / MOST_POLICIES):
            self._save_policy()


def _iteration(saved: dict[str, Any]) -> int:
    return int(saved[ITERATION]) if saved else 0
