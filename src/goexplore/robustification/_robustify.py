"""The calls that people make: robustify, and going on with it.

A run folder holds config.json, provenance.json, metrics.jsonl and TensorBoard's files, `demonstrations/` (copies, so
that the folder is whole), `policies/` (one now and then) and `checkpoints/rank-N/`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
from pathlib import Path

from goexplore.demos import load_demonstrations, save_demonstrations
from goexplore.errors import InputError
from goexplore.learn import Ranks, default_ranks, launch, torchrun_rank
from goexplore.robustification._config import RobustifyConfig, robustify_preset
from goexplore.robustification._run import FORMAT, FORMAT_VERSION, RobustifyResult, RobustifyRun
from goexplore.robustification._session import CHECKPOINT_SECONDS, Session
from goexplore.runs import RunFolder, StopRequest, make_display


def robustify(
    demonstrations: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
    preset: str = "laptop",
    steps: int | None = None,
    minutes: float | None = None,
    seed: int = 0,
    ranks: int | None = None,
    trust: bool = False,
    progress: bool = True,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    config: RobustifyConfig | None = None,
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
        trust: import the environment that demonstrations name (`package.module:name`).
        progress: show progress on standard error.
        checkpoint_seconds: time between checkpoints.
        config: settings in place of a preset's.

    Raises:
        InputError: something about the arguments is wrong; the message says what.
    """
    found = load_demonstrations(demonstrations, trust=trust)
    chosen = config or robustify_preset(preset, found[0])
    budget = chosen.steps if steps is None else steps
    if budget <= 0 or (minutes is not None and minutes <= 0):
        raise InputError(f"steps {budget}, minutes {minutes}: expected budgets above 0")
    run = RobustifyRun(chosen, seed, ranks or default_ranks(), budget, trust)
    if run.ranks > chosen.actors:
        raise InputError(f"ranks {run.ranks} with {chosen.actors} actors: expected at least one actor for each rank")
    if torchrun_rank():
        return _launched(RunFolder(Path(out)), run, minutes, checkpoint_seconds, progress)  # rank 0 makes the folder
    folder = RunFolder.create(Path(out), run)
    save_demonstrations(found, folder.path / "demonstrations")
    try:
        return _launched(folder, run, minutes, checkpoint_seconds, progress)
    except InputError:
        if not folder.metrics.exists() or not folder.metrics.stat().st_size:
            shutil.rmtree(folder.path)  # nothing was trained, and the same command may be given again
        raise


def resume_robustify(
    path: str | os.PathLike[str],
    *,
    steps: int | None = None,
    minutes: float | None = None,
    ranks: int | None = None,
    trust: bool = False,
    progress: bool = True,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> RobustifyResult:
    """Goes on with a robustification from its newest whole checkpoint.

    Args:
        path: the run folder.
        steps: new total of agent steps.
        minutes: stop after this many minutes of this session.
        ranks: processes; as many as before, each goes on with its own episodes.
        trust: import the environment that the demonstrations name.
        progress: show progress on standard error.
        checkpoint_seconds: time between checkpoints.

    Raises:
        InputError: the folder is not such a run, or is in use.
    """
    folder = RunFolder.open(Path(path))
    run = RobustifyRun.from_json(folder.read_config(FORMAT, FORMAT_VERSION), trust=trust)
    if ranks is not None and ranks != run.ranks:
        raise InputError(f"ranks {ranks}: {path} was trained with {run.ranks}, and goes on with as many")
    if steps is not None and steps <= 0:
        raise InputError(f"steps {steps}: expected a budget above 0")
    run = dataclasses.replace(run, steps=run.steps if steps is None else steps)
    if not torchrun_rank():
        folder.lock()
        folder.write_config(run)
    return _launched(folder, run, minutes, checkpoint_seconds, progress)


def _launched(
    folder: RunFolder, run: RobustifyRun, minutes: float | None, checkpoint_seconds: float, progress: bool
) -> RobustifyResult:
    if not torchrun_rank():
        folder.note_session(ranks=run.ranks)
    try:
        result: RobustifyResult = launch(
            _train, (folder.path, run, minutes, checkpoint_seconds, progress), ranks=run.ranks
        )
        return result
    finally:
        folder.unlock()


def _train(
    ranks: Ranks, path: Path, run: RobustifyRun, minutes: float | None, checkpoint_seconds: float, progress: bool
) -> RobustifyResult:
    """The work of one rank."""
    display = make_display(progress=progress and ranks.leads)
    try:
        with StopRequest() if ranks.leads else contextlib.nullcontext() as stop:  # the others do as the first
            return Session(ranks, path, run, minutes, checkpoint_seconds, display).drive(stop)
    finally:
        display.close()
