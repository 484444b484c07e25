"""Beginning a training and going on with it: the folder, the ranks, and what is left when something fails."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path

from goexplore.errors import GoExploreError
from goexplore.learn import Ranks, launch, torchrun_rank
from goexplore.runs import RunFolder, StopRequest, make_display
from goexplore.training._run import TrainingRun
from goexplore.training._session import Limits, Session, TrainingResult


def begin(
    path: Path,
    run: TrainingRun,
    limits: Limits,
    *,
    progress: bool,
    fill: Callable[[Path], object] = lambda path: None,
) -> TrainingResult:
    """Makes a run folder and trains.

    Args:
        path: the folder.
        run: what to train.
        limits: when to stop and save.
        progress: show progress on standard error.
        fill: writes into the folder what the training needs beside its settings.

    Raises:
        InputError: the folder is in use, or the training cannot be set up; then no folder is left behind.
    """
    if torchrun_rank():
        return _launched(RunFolder(path), run, limits, progress)  # rank 0 makes the folder
    folder = RunFolder.create(path, run)
    try:
        fill(folder.path)
        return _launched(folder, run, limits, progress)
    except GoExploreError:
        if not folder.metrics.exists() or not folder.metrics.stat().st_size:
            shutil.rmtree(folder.path)  # nothing was trained, and the same command may be given again
        raise


def go_on(folder: RunFolder, run: TrainingRun, limits: Limits, *, progress: bool) -> TrainingResult:
    """Goes on from the newest whole checkpoint.

    Args:
        folder: the run folder.
        run: what to train, perhaps with a new budget.
        limits: when to stop and save.
        progress: show progress on standard error.
    """
    if not torchrun_rank():
        folder.lock()
        folder.write_config(run)
    return _launched(folder, run, limits, progress)


def _launched(folder: RunFolder, run: TrainingRun, limits: Limits, progress: bool) -> TrainingResult:
    if not torchrun_rank():
        folder.note_session(ranks=run.ranks)
    try:
        result: TrainingResult = launch(_train, (folder.path, run, limits, progress), ranks=run.ranks)
        return result
    finally:
        folder.unlock()


def _train(ranks: Ranks, path: Path, run: TrainingRun, limits: Limits, progress: bool) -> TrainingResult:
    """The work of one rank."""
    display = make_display(progress=progress and ranks.leads)
    try:
        with StopRequest() if ranks.leads else contextlib.nullcontext() as stop:  # the others do as the first
            return Session(ranks, path, run, limits, display).drive(stop)
    finally:
        display.close()
