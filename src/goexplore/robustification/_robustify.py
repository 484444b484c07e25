"""The calls that people make: robustify, and going on with it.

A run folder holds config.json, provenance.json, metrics.jsonl and TensorBoard's files, `demonstrations/` (copies, so
that the folder is whole), the policy it began with if there is one, `policies/` (one now and then) and
`checkpoints/rank-N/`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from goexplore.cells import require_trust
from goexplore.demos import load_demonstrations, save_demonstrations
from goexplore.learn import default_ranks, default_workers
from goexplore.policies import Policy
from goexplore.robustification._config import RobustifyConfig, robustify_preset
from goexplore.robustification._run import FIRST, RobustifyResult, RobustifyRun
from goexplore.runs import RunFolder
from goexplore.training import CHECKPOINT_SECONDS, Limits, TrainingResult, altered, begin, go_on


def robustify(
    demonstrations: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
    preset: str = "laptop",
    steps: int | None = None,
    minutes: float | None = None,
    seed: int = 0,
    ranks: int | None = None,
    workers: int | None = None,
    trust: bool = False,
    progress: bool = True,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    config: RobustifyConfig | None = None,
    settings: Mapping[str, Any] | None = None,
    begin_with: str | os.PathLike[str] | None = None,
) -> RobustifyResult:
    """Trains a policy that matches demonstrations under noise, with the backward algorithm.

    Args:
        demonstrations: a folder of them, or one file.
        out: the run folder.
        preset: "laptop", "paper" or "original-code".
        steps: agent steps to train for, of all actors together; None takes the preset's.
        minutes: stop after this many minutes of this session, if that comes first.
        seed: the run's seed. One seed and one number of ranks give one training.
        ranks: processes that train together; None takes one for each core or GPU.
        workers: processes beside each rank that step its games; None takes some where there are GPUs.
        trust: import the environment that demonstrations name (`package.module:name`).
        progress: show progress on standard error.
        checkpoint_seconds: time between checkpoints.
        config: settings in place of a preset's.
        settings: single settings that differ, for example {"view.random_actions": 0.1, "ppo.learning_rate": 1e-3}.
        begin_with: a policy of the same kind, or a run folder with one, to begin with; None begins with nothing learnt.

    Raises:
        InputError: something about the arguments is wrong; the message says what.
    """
    found = load_demonstrations(demonstrations, trust=trust)
    chosen = altered(config or robustify_preset(preset, found[0].env.id), settings or {})
    run = RobustifyRun(
        config=chosen,
        seed=seed,
        ranks=ranks or default_ranks(),
        workers=default_workers() if workers is None else workers,
        steps=chosen.steps if steps is None else steps,
        trust=trust,
    )

    first = None if begin_with is None else Policy.load(begin_with, trust=trust)

    def fill(path: Path) -> None:
        save_demonstrations(found, path / "demonstrations")
        if first is not None:
            first.save(path / FIRST)

    limits = Limits(minutes, checkpoint_seconds)
    return _result(Path(out), run, begin(Path(out), run, limits, progress=progress, fill=fill))


def resume_robustify(
    path: str | os.PathLike[str],
    *,
    steps: int | None = None,
    minutes: float | None = None,
    trust: bool = False,
    progress: bool = True,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> RobustifyResult:
    """Goes on with a robustification from its newest whole checkpoint.

    Args:
        path: the run folder.
        steps: new total of agent steps.
        minutes: stop after this many minutes of this session.
        trust: import the environment that the demonstrations name.
        progress: show progress on standard error.
        checkpoint_seconds: time between checkpoints.

    Raises:
        InputError: the folder is not such a run, or is in use.
    """
    folder = RunFolder.open(Path(path))
    run = RobustifyRun.open(folder, steps=steps, trust=trust)
    require_trust(run.config.backward.landmarks, f"{path} has landmarks of", by="going on", trust=trust)
    return _result(folder.path, run, go_on(folder, run, Limits(minutes, checkpoint_seconds), progress=progress))


def _result(path: Path, run: RobustifyRun, came_to: TrainingResult) -> RobustifyResult:
    numbers = came_to.last.numbers if came_to.last else {}
    return RobustifyResult(
        run=path,
        iterations=came_to.iterations,
        steps=came_to.steps,
        frames=came_to.frames,
        way_to_start=numbers.get("way_to_start"),
        training_score=numbers.get("score"),
        training_first_life_score=numbers.get("first_life_score"),
        seconds=came_to.seconds,
        stopped_by=came_to.stopped_by,
        resume_command=run.resume_command(path),
    )
