"""The two scores that a sweep reports for a run, replayed from reset; and what the run cost."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from goexplore.archive import NEVER, Best
from goexplore.demos import Replayer
from goexplore.envs import make_env
from goexplore.errors import InputError
from goexplore.runs import RunFolder, load, read_json, run_config


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether a run's scores replay."""

    best_verified: bool
    """The highest score of the archive."""
    end_verified: bool | None
    """The highest score at an end of episode; None if no episode ended."""
    mismatch: str | None
    """What differed, in words; None when everything replayed."""


def verify_run(
    run: str | os.PathLike[str], *, trust: bool = False, warn: Callable[[str], None] = lambda message: None
) -> Verification:
    """Replays a run's best score and its best end of episode, each from reset in a fresh simulator.

    Args:
        run: the run folder.
        trust: import the code that the run names (`package.module:name`); for your own runs.
        warn: told in one line about damaged checkpoints.

    Raises:
        InputError: the folder is not a run, or cannot be read.
    """
    folder = RunFolder.open(Path(run))
    config = run_config(folder.read_config(), trust=trust)
    loop, codec, _ = load(folder, config, make_env(config.env), warn=warn)
    archive, replayer = loop.archive, Replayer(loop.archive, codec, config)

    def difference(best: Best) -> str | None:
        replayed = replayer.replay(best)
        differences = replayer.differences(best, replayed)
        if not differences:
            return None
        return (
            f"the archive says {best.score:g} after {best.length:,} steps, the replay reached {replayed.score:g} after"
            f" {replayed.length:,} (differs in {', '.join(differences)})"
        )

    best, end = archive.best(), archive.end
    best_difference = difference(best)
    end_difference = best_difference if best is end else None if end is NEVER else difference(end)
    wrong = {f"best score: {best_difference}": best_difference, f"end score: {end_difference}": end_difference}
    return Verification(
        best_verified=best_difference is None,
        end_verified=None if end is NEVER else end_difference is None,
        mismatch="; ".join(text for text, found in wrong.items() if found is not None) or None,
    )


def core_seconds(run: Path) -> float | None:
    """Seconds times worker processes, over all sessions of a run; None if its files do not tell.

    The time of an iteration counts with the workers of the session that it was run in. What a kill made the run do
    again is counted once.
    """
    try:
        sessions = [(int(session["from_frames"]), int(session["workers"])) for session in _sessions(run)]
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        points = [(int(line["frames"]), float(line["seconds"])) for line in lines]
    except (InputError, OSError, ValueError, KeyError, TypeError):
        return None
    total, before = 0.0, 0.0
    for frames, seconds in points:
        workers = next((workers for first, workers in reversed(sessions) if first < frames), 1)
        total += workers * max(0.0, seconds - before)
        before = seconds
    return round(total, 2)


def _sessions(run: Path) -> list[dict[str, int]]:
    sessions: list[dict[str, int]] = read_json(run / "provenance.json")
    return sessions
