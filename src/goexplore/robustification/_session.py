"""One session of a robustification: the loop's iterations, with progress, metrics, checkpoints and policies."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goexplore.demos import load_demonstrations
from goexplore.errors import InputError
from goexplore.learn import Ranks
from goexplore.robustification._run import RobustifyResult, RobustifyRun
from goexplore.robustification._training import Iteration, Training
from goexplore.runs import (
    Display,
    MetricsLog,
    NoCheckpointError,
    StopRequest,
    clock,
    number,
    read_newest_checkpoint,
    write_checkpoint,
)

CHECKPOINT_SECONDS = 120.0
POLICY_SECONDS, MOST_POLICIES = 60.0, 50
"""Time between policies that are kept, which grows with the session, so that long ones do not fill the disk."""
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
    "done": "backward/way_to_the_start",
    "success": "backward/window_success",
}
"""What TensorBoard calls the numbers: the names that people know from CleanRL, where there are such."""


@dataclass(slots=True)
class TrainingStatus:
    """The numbers of a training at the moment."""

    iteration: Iteration
    frames_per_step: int
    steps_per_second: float
    lengths: list[int]
    done: float | None
    seconds_left: float | None

    def text(self) -> str:
        """One line for people."""
        now = self.iteration
        starts = " ".join(
            f"{latest}/{length} ({success:.0%})"
            for latest, length, success in zip(now.latest, self.lengths, now.success, strict=True)
        )
        parts = [
            f"{now.steps:,} steps",
            f"{self.steps_per_second:,.0f} steps/s",
            f"starts {starts}",
            f"score from reset {number(None if now.score is None else round(now.score, 1))}",
        ]
        if self.seconds_left is not None:
            parts.append(f"{clock(self.seconds_left)} left")
        return " · ".join(parts)


class Session:
    """Drives the training of one rank until its budget is spent.

    Args:
        ranks: who trains along.
        path: the run folder.
        run: what to train.
        minutes: stop after this many minutes.
        checkpoint_seconds: time between checkpoints.
        display: for people; silent on all ranks but the first.
    """

    def __init__(
        self,
        ranks: Ranks,
        path: Path,
        run: RobustifyRun,
        minutes: float | None,
        checkpoint_seconds: float,
        display: Display,
    ) -> None:
        self._ranks, self._path, self._run, self._display = ranks, path, run, display
        self._minutes, self._checkpoint_seconds = minutes, checkpoint_seconds
        demonstrations = load_demonstrations(path / "demonstrations", trust=run.trust)
        self._training = Training(demonstrations, run.config, seed=run.seed, ranks=ranks)
        self._checkpoints = path / "checkpoints" / f"rank-{ranks.rank}"
        self._checkpoints.mkdir(parents=True, exist_ok=True)
        (path / "policies").mkdir(exist_ok=True)
        self._load()
        self._started = self._saved_at = self._policy_at = time.monotonic()
        self._first_steps = self._training.steps
        display.say(
            f"robustifying {len(demonstrations)} demonstration{'s' if len(demonstrations) > 1 else ''} of"
            f" {demonstrations[0].env.id}: scores {_range([each.score for each in demonstrations])}, "
            f"{_range([len(each) for each in demonstrations])} steps; {run.config.actors} actors and"
            f" {run.config.imitators} imitators on {ranks.size} rank{'s' if ranks.size > 1 else ''}; rewards times"
            f" {self._training.reward_scale:.4g}"
        )

    def drive(self, stop: StopRequest | None) -> RobustifyResult:
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
                stopped_by, save = self._ranks.agree((self._spent(stop), self._save_is_due()))
                if save or stopped_by is not None:
                    self._save()
        finally:
            if metrics is not None:
                metrics.close()
        return self._result(last, stopped_by or "steps")

    def _spent(self, stop: StopRequest | None) -> str | None:
        if stop is not None and stop.requested:
            return "interrupt"
        if self._training.steps >= self._run.steps:
            return "steps"
        if self._minutes is not None and time.monotonic() - self._started >= 60 * self._minutes:
            return "minutes"
        return None

    def _save_is_due(self) -> bool:
        return time.monotonic() - self._saved_at >= self._checkpoint_seconds

    def _save(self) -> None:
        write_checkpoint(self._checkpoints, self._training.iteration, self._training.save())
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

    def _report(self, iteration: Iteration, metrics: MetricsLog) -> None:
        training, elapsed = self._training, max(time.monotonic() - self._started, 1e-9)
        rate = (training.steps - self._first_steps) / elapsed
        left = [(self._run.steps - training.steps) / rate] if rate else []
        if self._minutes is not None:
            left.append(60 * self._minutes - elapsed)
        self._display.show(
            TrainingStatus(
                iteration,
                training.frames_per_step,
                rate,
                training.curriculum.lengths,
                done=min(1.0, training.steps / self._run.steps),
                seconds_left=max(0.0, min(left)) if left else None,
            )
        )
        metrics.write(
            iteration=iteration.number,
            frames=iteration.steps * training.frames_per_step,
            steps=iteration.steps,
            seconds=round(elapsed, 3),
            steps_per_second=round(rate, 1),
            episodes=iteration.episodes,
            score=iteration.score,
            first_life_score=iteration.first_life_score,
            done=round(training.curriculum.done, 5),
            success=round(sum(iteration.success) / len(iteration.success), 4),
            latest=iteration.latest,
            **{name: round(value, 6) for name, value in iteration.terms.items()},
        )
        if time.monotonic() - self._policy_at >= max(POLICY_SECONDS, elapsed / MOST_POLICIES):
            self._save_policy()

    def _result(self, last: Iteration | None, stopped_by: str) -> RobustifyResult:
        training = self._training
        return RobustifyResult(
            run=self._path,
            iterations=training.iteration,
            steps=training.steps,
            frames=training.steps * training.frames_per_step,
            done=round(training.curriculum.done, 4),
            training_score=None if last is None else last.score,
            training_first_life_score=None if last is None else last.first_life_score,
            seconds=round(time.monotonic() - self._started, 2),
            stopped_by=stopped_by,
            resume_command=f"goexplore robustify --resume {self._path}" + (" --trust" if self._run.trust else ""),
        )


def _iteration(saved: dict[str, Any]) -> int:
    return int(json.loads(saved["training.values"].tobytes())["iteration"]) if saved else 0


def _range(values: list[float]) -> str:
    low, high = min(values), max(values)
    return number(low) if low == high else f"{number(low)} to {number(high)}"
