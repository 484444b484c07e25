"""The calls that people make: explore with a policy that returns, and go on with it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from goexplore.cells import names_own_code, require_trust
from goexplore.envs import EnvSpec, atari_game_of, env_spec
from goexplore.errors import InputError
from goexplore.learn import Ranks, default_ranks
from goexplore.policy_based._config import PolicyConfig, policy_preset
from goexplore.policy_based._reliability import ReliabilityRules
from goexplore.policy_based._rules import ActorRules
from goexplore.policy_based._training import PolicyTraining, goal_cells
from goexplore.runs import RunFolder
from goexplore.training import CHECKPOINT_SECONDS, Limits, TrainingResult, TrainingRun, altered, begin, go_on

DOMAIN_GOALS = {"montezuma_revenge": "montezuma:goals", "pitfall": "pitfall:goals"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRun(TrainingRun):
    """Policy-based Go-Explore on one environment."""

    FORMAT: ClassVar[str] = "goexplore-policy-based"
    FORMAT_VERSION: ClassVar[int] = 2
    """2: checkpoints say in which cell each episode began."""
    CONFIG: ClassVar[type] = PolicyConfig

    env: EnvSpec
    cells: str

    def make(self, path: Path, ranks: Ranks) -> PolicyTraining:
        """Sets a rank's training up."""
        return PolicyTraining(self.env, self.cells, self.config, seed=self.seed, ranks=ranks)

    def resume_command(self, path: Path) -> str:
        """What to type to go on with it."""
        return f"goexplore policy --resume {path}" + (" --trust" if self.trust else "")

    def require_trust(self, path: Path, *, by: str, trust: bool) -> None:
        """Refuses to import code that a folder names, unless told to trust it.

        Raises:
            InputError: it names some.
        """
        self.env.require_trust(f"{path} trains on", by=by, trust=trust)
        require_trust(self.cells, f"{path} uses the cells", by=by, trust=trust)

    def to_json(self) -> dict[str, Any]:
        """As it goes into config.json."""
        return {**TrainingRun.to_json(self), "env": self.env.to_json(), "cells": self.cells}

    @classmethod
    def parts(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration's arguments, from plain values."""
        return {
            **TrainingRun.parts(saved),
            "rules": ActorRules(**saved["rules"]),
            "reliability": ReliabilityRules(**saved["reliability"]),
        }

    @classmethod
    def more(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        """The environment and its cells."""
        return {"env": EnvSpec(**saved["env"]), "cells": str(saved["cells"])}


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """What a run came to. Its scores are those of the archive: test returns with goexplore evaluate."""

    run: Path
    iterations: int
    steps: int
    frames: int
    cells: int | None
    best_score: float | None
    """Of any cell; the policy may or may not get there again."""
    returned: float | None
    """Share of the latest training episodes that reached the cell they had chosen."""
    seconds: float
    stopped_by: str
    resume_command: str


def explore_with_policy(
    env: str,
    *,
    out: str | os.PathLike[str],
    cells: str | None = None,
    preset: str = "laptop",
    steps: int | None = None,
    minutes: float | None = None,
    seed: int = 0,
    ranks: int | None = None,
    env_kwargs: dict[str, Any] | None = None,
    progress: bool = True,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    config: PolicyConfig | None = None,
    settings: Mapping[str, Any] | None = None,
) -> PolicyResult:
    """Explores with a goal-conditioned policy that learns to return, under whatever noise the environment has.

    Args:
        env: a Gymnasium id, an Atari game, or `package.module:name`.
        out: the run folder.
        cells: what counts as one place, with attributes that a policy can be told (`goexplore.cells.GoalCells`): by
            name, or `package.module:name`. None takes those that are known for the game.
        preset: "laptop", "paper" or "original-code".
        steps: agent steps to train for, of all actors together; None takes the preset's.
        minutes: stop after this many minutes of this session, if that comes first.
        seed: the run's seed. One seed and one number of ranks give one training.
        ranks: processes that train together; None takes one for each core or GPU.
        env_kwargs: arguments of the environment.
        progress: show progress on standard error.
        checkpoint_seconds: time between checkpoints.
        config: settings in place of a preset's.
        settings: single settings that differ, for example {"rules.window": 5}.

    Raises:
        InputError: something about the arguments is wrong; the message says what.
    """
    spec = env_spec(env, kwargs=dict(env_kwargs or {}))
    cells = goals_of(spec.id, cells)
    chosen = altered(config or policy_preset(preset, spec.id), settings or {})
    run = PolicyRun(
        env=spec,
        cells=cells,
        config=chosen,
        seed=seed,
        ranks=ranks or default_ranks(),
        steps=chosen.steps if steps is None else steps,
        trust=":" in spec.id or names_own_code(cells),
    )
    return _result(Path(out), run, begin(Path(out), run, Limits(minutes, checkpoint_seconds), progress=progress))


def goals_of(env_id: str, cells: str | None = None) -> str:
    """The cells' name, if it is of cells that a policy can be told; without one, those that are known for the game.

    Raises:
        InputError: there are none, or they are others.
    """
    if cells is None or cells == "domain":
        cells = DOMAIN_GOALS.get(atari_game_of(env_id) or "")
    if cells is None:
        raise InputError(
            f"there are no default goals for {env_id}: say what a place is, with a class that has attributes"
            " (goexplore.cells.GoalCells) and --cells package.module:name"
        )
    goal_cells(cells)
    return cells


def resume_with_policy(
    path: str | os.PathLike[str],
    *,
    steps: int | None = None,
    minutes: float | None = None,
    trust: bool = False,
    progress: bool = True,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> PolicyResult:
    """Goes on from the newest whole checkpoint.

    Args:
        path: the run folder.
        steps: new total of agent steps.
        minutes: stop after this many minutes of this session.
        trust: import the environment and the cells that it names (`package.module:name`).
        progress: show progress on standard error.
        checkpoint_seconds: time between checkpoints.

    Raises:
        InputError: the folder is not such a run, or is in use.
    """
    folder = RunFolder.open(Path(path))
    run = PolicyRun.open(folder, steps=steps, trust=trust)
    run.require_trust(folder.path, by="going on", trust=trust)
    return _result(folder.path, run, go_on(folder, run, Limits(minutes, checkpoint_seconds), progress=progress))


def _result(path: Path, run: PolicyRun, came_to: TrainingResult) -> PolicyResult:
    numbers = came_to.last.numbers if came_to.last else {}
    return PolicyResult(
        run=path,
        iterations=came_to.iterations,
        steps=came_to.steps,
        frames=came_to.frames,
        cells=numbers.get("cells"),
        best_score=numbers.get("best_score"),
        returned=numbers.get("returned"),
        seconds=came_to.seconds,
        stopped_by=came_to.stopped_by,
        resume_command=run.resume_command(path),
    )
