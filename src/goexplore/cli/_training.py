"""The commands that train: `robustify`, `control`, `policy`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tyro

from goexplore.cli._commands import INTERRUPTED, Json, warn
from goexplore.cli._output import emit
from goexplore.cli._search_options import parse_settings
from goexplore.errors import InputError

if TYPE_CHECKING:
    from goexplore.control import ControlResult
    from goexplore.policy_based import PolicyResult
    from goexplore.robustification import RobustifyResult


@dataclass(kw_only=True)
class TrainingOptions:
    """What trainings have in common."""

    out: Path | None = None
    """The run folder. Default: runs/policy."""
    resume: Path | None = None
    """Go on with this run folder instead."""
    preset: Literal["laptop", "paper", "original-code"] | None = None
    """laptop (the default; a few cores), paper (as published; for GPUs) or original-code (as the authors' scripts
    ran)."""
    steps: int | None = None
    """Agent steps to train for, of all actors together. Default: the preset's."""
    minutes: float | None = None
    """Stop after this many minutes of this session, if that comes first."""
    seed: int | None = None
    """One seed and one number of ranks give one training. Default: 0."""
    ranks: int | None = None
    """Processes that train together. Default: one for each core or GPU. Under torchrun those that it started."""
    workers: int | None = None
    """Processes beside each rank that step its games. Default: some where there are GPUs, none elsewhere."""
    set: tuple[str, ...] = ()
    """Settings that differ from the preset's, as NAME=VALUE: view.random_actions=0.1 ppo.learning_rate=1e-3."""
    checkpoint_seconds: float = 120.0
    """Time between checkpoints."""
    trust: bool = False
    """Import the environment that the demonstrations or the run name (package.module:name)."""
    json: Json = False
    """Print the result as one JSON object on the last line."""

    def check(self, given: object, what: str) -> None:
        """Whether it is clear what to train."""
        if (given is None) == (self.resume is None):
            raise InputError(f"expected {what}, or --resume RUN, and not both")
        if self.resume is None:
            return
        for name in ("out", "preset", "seed", "ranks", "workers", "set"):
            if getattr(self, name) not in (None, ()):
                raise InputError(f"--{name} belongs to a new run: one that goes on keeps its settings")

    def of_a_new_run(self) -> dict[str, Any]:
        """The arguments of the functions that begin a training."""
        return {
            "out": self.out or Path("runs/policy"),
            "preset": self.preset or "laptop",
            "seed": self.seed or 0,
            "ranks": self.ranks,
            "workers": self.workers,
            "settings": parse_settings(self.set),
        }

    def limits(self) -> dict[str, Any]:
        """The arguments of the functions that begin or go on."""
        return {"steps": self.steps, "minutes": self.minutes, "checkpoint_seconds": self.checkpoint_seconds}


@dataclass
class Robustify(TrainingOptions):
    """Train a policy that matches demonstrations under sticky actions and no-ops, with the backward algorithm.

    For example:
      goexplore robustify demos/mz --out runs/mz-policy
      goexplore robustify demos/mz --minutes 15 --seed 1 --out runs/mz-policy-1
      goexplore robustify --resume runs/mz-policy --steps 3_000_000
      goexplore robustify demos/mz-longer --begin-with runs/mz-policy --out runs/mz-longer
    """

    demonstrations: tyro.conf.Positional[Path | None] = None
    """A folder of demonstrations, or one file."""
    begin_with: Path | None = None
    """A policy to begin with, or a run folder with one: what it knows of the game need not be learnt again."""

    def run(self) -> int:
        """Trains."""
        from goexplore.robustification import resume_robustify, robustify

        self.check(self.demonstrations, "a folder of demonstrations")
        if self.resume is not None:
            if self.begin_with is not None:
                raise InputError("--begin-with belongs to a new run: one that goes on has its own policy")
            result = resume_robustify(self.resume, trust=self.trust, **self.limits())
        else:
            result = robustify(
                self.demonstrations or "",
                begin_with=self.begin_with,
                trust=self.trust,
                **self.of_a_new_run(),
                **self.limits(),
            )
        return _say(result, as_json=self.json)


@dataclass
class Control(TrainingOptions):
    """Train what learns without going back, beside which Go-Explore is judged: the same network, learner and steps.

    For example:
      goexplore control ppo ALE/MontezumaRevenge-v5 --steps 1_500_000 --out runs/mz-ppo
      goexplore control ppo --resume runs/mz-ppo --steps 3_000_000
      goexplore control count goexplore/FetchShelves-v0 --env-kwargs target=top-right --out runs/shelf-count
      goexplore control ppo ALE/MontezumaRevenge-v5 --beside policy --out runs/mz-ppo
    """

    method: tyro.conf.Positional[Literal["ppo", "count"]]
    """ppo: plain PPO from reset. count: with a bonus of 1/sqrt(n) for entering a cell, where n counts the episodes that
    have entered it."""
    env_id: tyro.conf.Positional[str | None] = None
    """A Gymnasium id, an Atari game, or package.module:name."""
    env_kwargs: tuple[str, ...] = ()
    """Settings of the environment as NAME=VALUE."""
    cells: str | None = None
    """Cells to count, by name. Default: those made from what is known of the environment, if there are any."""
    beside: Literal["robustify", "policy"] = "robustify"
    """The command that it is judged beside, whose network, view, learner and batch it takes."""

    def run(self) -> int:
        """Trains."""
        from goexplore.control import control, resume_control

        self.check(self.env_id, "an environment")
        if self.resume is not None:
            result = resume_control(self.resume, trust=self.trust, **self.limits())
        else:
            result = control(
                self.env_id or "",
                self.method,
                env_kwargs=parse_settings(self.env_kwargs),
                cells=self.cells,
                beside=self.beside,
                **self.of_a_new_run(),
                **self.limits(),
            )
        return _say(result, as_json=self.json)


@dataclass
class Policy(TrainingOptions):
    """Explore with a goal-conditioned policy that learns to return, in an environment that cannot be restored.

    For example:
      goexplore policy ALE/MontezumaRevenge-v5 --out runs/mz-pb
      goexplore policy my_module:Maze --cells my_module:Places --set view.sticky=0.25 --out runs/maze
      goexplore policy --resume runs/mz-pb --steps 10_000_000
    """

    env_id: tyro.conf.Positional[str | None] = None
    """A Gymnasium id, an Atari game, or package.module:name."""
    env_kwargs: tuple[str, ...] = ()
    """Settings of the environment as NAME=VALUE."""
    cells: str | None = None
    """What counts as one place, in attributes that a policy can be told: montezuma:goals, pitfall:goals, or a class of
    your own (package.module:name; see goexplore.cells.GoalCells). Default: what is known of the game."""

    def run(self) -> int:
        """Trains."""
        from goexplore.policy_based import explore_with_policy, resume_with_policy

        self.check(self.env_id, "an environment")
        if self.workers:
            raise InputError("--workers: here each rank steps its own games; give more --ranks instead")
        if self.resume is not None:
            result = resume_with_policy(self.resume, trust=self.trust, **self.limits())
        else:
            settings = self.of_a_new_run()
            del settings["workers"]
            result = explore_with_policy(
                self.env_id or "",
                env_kwargs=parse_settings(self.env_kwargs),
                cells=self.cells,
                **settings,
                **self.limits(),
            )
        return _say(result, as_json=self.json)


def _say(result: RobustifyResult | ControlResult | PolicyResult, *, as_json: bool) -> int:
    from goexplore.learn import torchrun_rank

    interrupted = result.stopped_by == "interrupt"
    if torchrun_rank():  # the first speaks for all
        return INTERRUPTED if interrupted else 0
    if interrupted:
        warn(f"stopped and saved; go on with: {result.resume_command}")
    next_commands = [f"goexplore evaluate {result.run}", result.resume_command]
    emit(dataclasses.asdict(result), as_json=as_json, next_commands=next_commands)
    return INTERRUPTED if interrupted else 0
