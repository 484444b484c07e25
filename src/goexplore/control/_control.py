"""The calls that people make: train a control, and go on with it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from goexplore.cells import require_trust
from goexplore.control._config import ControlConfig, control_preset
from goexplore.control._training import ControlTraining
from goexplore.envs import EnvSpec, env_spec
from goexplore.learn import Ranks, default_ranks, default_workers
from goexplore.runs import RunFolder
from goexplore.training import CHECKPOINT_SECONDS, Limits, TrainingResult, TrainingRun, altered, begin, go_on


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRun(TrainingRun):
    """A training from reset."""

    FORMAT: ClassVar[str] = "goexplore-control"
    CONFIG: ClassVar[type] = ControlConfig

    env: EnvSpec

    def make(self, path: Path, ranks: Ranks) -> ControlTraining:
        """Sets a rank's training up."""
        return ControlTraining(self.env, self.config, seed=self.seed, ranks=ranks, workers=self.workers)

    def resume_command(self, path: Path) -> str:
        """What to type to go on with it."""
        method = "count" if self.config.bonus else "ppo"
        return f"goexplore control {method} --resume {path}" + (" --trust" if self.trust else "")

    def to_json(self) -> dict[str, Any]:
        """As it goes into config.json."""
        return {**TrainingRun.to_json(self), "env": self.env.to_json()}

    @classmethod
    def more(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        """The environment."""
        return {"env": EnvSpec(**saved["env"])}


@dataclass(frozen=True, slots=True)
class ControlResult:
    """What a control came to. Its scores are those of training episodes: test with goexplore evaluate."""

    run: Path
    iterations: int
    steps: int
    frames: int
    training_score: float | None
    """Mean score of the latest training episodes; a policy score."""
    best_episode: float | None
    """The best training episode."""
    cells: int | None
    """Cells that training has entered, where they are counted."""
    seconds: float
    stopped_by: str
    resume_command: str


def control(
    env: str,
    method: str = "ppo",
    *,
    out: str | os.PathLike[str],
    preset: str = "laptop",
    steps: int | None = None,
    minutes: float | None = None,
    seed: int = 0,
    ranks: int | None = None,
    workers: int | None = None,
    env_kwargs: dict[str, Any] | None = None,
    cells: str | None = None,
    beside: str = "robustify",
    progress: bool = True,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    config: ControlConfig | None = None,
    settings: Mapping[str, Any] | None = None,
) -> ControlResult:
    """Trains from reset: what learning does without Go-Explore, with the same network and steps.

    Args:
        env: a Gymnasium id, an Atari game, or `package.module:name`.
        method: "ppo" (plain PPO), or "count" (with a bonus of 1/sqrt(n) for entering a cell).
        out: the run folder.
        preset: "laptop", "paper" or "original-code": those of the command that it is judged beside.
        steps: agent steps to train for, of all actors together; None takes the preset's.
        minutes: stop after this many minutes of this session, if that comes first.
        seed: the run's seed. One seed and one number of ranks give one training.
        ranks: processes that train together; None takes one for each core or GPU.
        workers: processes beside each rank that step its games; None takes some where there are GPUs.
        env_kwargs: arguments of the environment.
        cells: whose visits are counted, by name; None takes those that are known for the environment.
        beside: the command that it is judged beside, whose network, view, learner and batch it takes: "robustify" or
            "policy".
        progress: show progress on standard error.
        checkpoint_seconds: time between checkpoints.
        config: settings in place of a preset's.
        settings: single settings that differ, for example {"ppo.learning_rate": 1e-3}.

    Raises:
        InputError: something about the arguments is wrong; the message says what.
    """
    spec = env_spec(env, kwargs=dict(env_kwargs or {}))
    chosen = altered(
        config or control_preset(preset, spec.id, method=method, cells=cells, beside=beside), settings or {}
    )
    run = ControlRun(
        env=spec,
        config=chosen,
        seed=seed,
        ranks=ranks or default_ranks(),
        workers=default_workers() if workers is None else workers,
        steps=chosen.steps if steps is None else steps,
        trust=":" in spec.id or chosen.counts_own_code,
    )
    came_to = begin(Path(out), run, Limits(minutes, checkpoint_seconds), progress=progress)
    return _result(Path(out), run, came_to)


def resume_control(
    path: str | os.PathLike[str],
    *,
    steps: int | None = None,
    minutes: float | None = None,
    trust: bool = False,
    progress: bool = True,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> ControlResult:
    """Goes on with a control from its newest whole checkpoint.

    Args:
        path: the run folder.
        steps: new total of agent steps.
        minutes: stop after this many minutes of this session.
        trust: import the environment that it names (`package.module:name`).
        progress: show progress on standard error.
        checkpoint_seconds: time between checkpoints.

    Raises:
        InputError: the folder is not such a run, or is in use.
    """
    folder = RunFolder.open(Path(path))
    run = ControlRun.open(folder, steps=steps, trust=trust)
    run.env.require_trust(f"{path} trains on", by="going on", trust=trust)
    require_trust(run.config.cells, f"{path} counts", by="going on", trust=trust)
    return _result(folder.path, run, go_on(folder, run, Limits(minutes, checkpoint_seconds), progress=progress))


def _result(path: Path, run: ControlRun, came_to: TrainingResult) -> ControlResult:
    numbers = came_to.last.numbers if came_to.last else {}
    return ControlResult(
        run=path,
        iterations=came_to.iterations,
        steps=came_to.steps,
        frames=came_to.frames,
        training_score=numbers.get("score"),
        best_episode=numbers.get("best_score"),
        cells=numbers.get("cells"),
        seconds=came_to.seconds,
        stopped_by=came_to.stopped_by,
        resume_command=run.resume_command(path),
    )
