"""One run of a sweep in a process of its own: `python -m goexplore.sweeps._child JOB`.

JOB is JSON, see `goexplore.sweeps._job`. Standard input is a lifeline to the sweep: when it closes, whatever became
of the sweep, the run saves and leaves. Standard output carries one JSON object a line: what is known about the run,
and what it does now. Everything else goes to standard error, which the sweep sends to a log file.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import threading
import time
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from goexplore.errors import GoExploreError, InputError
from goexplore.sweeps._job import INTERRUPTED, Job

WAIT_FOR_LOCK_SECONDS = 60.0
"""A run whose sweep was killed takes a moment to save; the next sweep waits for it."""


def main() -> None:
    """Does the job, and exits: 0 done, 130 interrupted, 1 or 2 failed."""
    threading.Thread(target=_leave_with_the_sweep, daemon=True).start()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # an environment that prints must not disturb the answers
    try:
        sys.exit(_work(Job(**json.loads(sys.argv[1])), answers))
    except GoExploreError as error:
        _tell(answers, error=str(error))
        sys.exit(error.exit_code)
    except Exception as error:
        traceback.print_exc()
        _tell(answers, error=f"{type(error).__name__}: {error} (the log has the traceback)")
        sys.exit(1)


def _work(job: Job, answers: IO[str]) -> int:
    from goexplore.evaluation import random_play
    from goexplore.runs import RunFolder, run_config
    from goexplore.sweeps._verify import core_seconds, verify_run

    run, frames = Path(job.run), job.explored_frames
    if "explore" in job.stages:
        result = _explore(job)
        frames, cost = result.frames, core_seconds(run)
        found = {
            name: getattr(result, name)
            for name in ("frames", "steps", "seconds", "cells", "best_score", "end_score", "archive_digest")
        }
        _tell(answers, **found, core_seconds=cost, best_verified=None, end_verified=None, mismatch=None)
        if result.stopped_by == "interrupt":
            return INTERRUPTED
    trust = _trust(job)
    if "verify" in job.stages:
        _tell(answers, stage="replaying")
        _tell(answers, **asdict(verify_run(run, trust=trust, warn=_say)))
    if "random" in job.stages:
        _tell(answers, stage="random play")
        env = run_config(RunFolder.open(run).read_config(), trust=trust).env
        played = random_play(env, frames=frames, seed=job.seed)
        _tell(
            answers,
            random_frames=played.frames,
            random_episodes=len(played.episode_scores),
            random_mean=played.mean_score,
            random_best_score=played.best_score,
            random_end_score=played.end_score,
        )
    return 0


def _explore(job: Job) -> Any:
    from goexplore.runs import explore, resume

    run = Path(job.run)
    if (run / "config.json").exists():
        _wait_until_free(run)
        return resume(
            run,
            frames=job.frames,
            workers=job.workers,
            checkpoint_seconds=job.checkpoint_seconds,
            trust=_trust(job),
        )
    _clear_half_made(run)
    return explore(
        job.env_id,
        cells=job.cells,
        frames=job.frames,
        out=run,
        seed=job.seed,
        workers=job.workers,
        preset=job.preset,
        env_kwargs=job.env_kwargs,
        checkpoint_seconds=job.checkpoint_seconds,
        **job.exploration,
    )


def _trust(job: Job) -> bool:
    """Whether the folder may name code: only what this sweep was asked for by name.

    Raises:
        InputError: the folder holds another run, or names other code.
    """
    from goexplore.runs import RunFolder, run_config

    config = run_config(RunFolder.open(Path(job.run)).read_config(), trust=True)  # imports nothing
    if (config.env.id, config.seed) != (job.env_id, job.seed):
        raise InputError(
            f"{job.run} holds a run of {config.env.id} with seed {config.seed}, and not of {job.env_id} with seed"
            f" {job.seed}; move it away, or give another --out"
        )
    asked = {job.env_id, job.cells, *job.exploration.values()}
    if foreign := set(config.plugins()) - asked:
        raise InputError(f"{job.run} uses code that this sweep was not asked for: {', '.join(sorted(foreign))}")
    return bool(config.plugins())


def _wait_until_free(run: Path) -> None:
    from goexplore.runs import RunFolder

    folder, until = RunFolder.open(run), time.monotonic() + WAIT_FOR_LOCK_SECONDS
    while True:
        try:
            folder.lock()
        except InputError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
        else:
            folder.unlock()
            return


def _clear_half_made(run: Path) -> None:
    """Removes what a kill left of a run folder before it had a configuration, and nothing else."""
    if not run.is_dir():
        return
    left = [path for path in run.rglob("*") if not path.name.startswith(".")]
    if all(path.parent == run and path.name in ("checkpoints", "videos") for path in left):
        shutil.rmtree(run)


def _leave_with_the_sweep() -> None:
    """Waits for the end of the sweep, then asks this process to stop as Ctrl-C would."""
    while os.read(0, 1):
        pass
    main_thread = threading.main_thread().ident
    if main_thread is not None:
        signal.pthread_kill(main_thread, signal.SIGTERM)


def _tell(answers: IO[str], **values: Any) -> None:
    with contextlib.suppress(OSError):  # the sweep is gone, and will read the run folder instead
        answers.write(json.dumps(values) + "\n")


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
