"""Runs as the report sees them: their folders, settings and metrics, read without importing any code of theirs."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from goexplore.envs import is_atari
from goexplore.errors import InputError
from goexplore.runs import RunFolder, read_json, run_config

Warn = Callable[[str], None]
Read = TypeVar("Read")
NUMBERS = ("iteration", "frames", "steps", "seconds", "cells", "best_score")


@dataclass(frozen=True, slots=True)
class Metrics:
    """metrics.jsonl in columns; one entry for each iteration."""

    iteration: NDArray[np.int64]
    frames: NDArray[np.int64]
    steps: NDArray[np.int64]
    seconds: NDArray[np.float64]
    cells: NDArray[np.int64]
    best_score: NDArray[np.float64]
    best_steps: NDArray[np.float64]
    """Steps of the shortest way to the best score; NaN where an older run did not write it."""
    end_score: NDArray[np.float64]
    """NaN until an end of episode was reached."""
    refit_frames: NDArray[np.int64]
    """Frames at which the cell representation was recomputed."""
    rollouts_with: dict[str, NDArray[np.float64]]
    """In how many rollouts so far the environment said that something was so."""
    unreadable: int
    """Lines that could not be read, the last one aside: that one may be half written."""

    def frames_when(self, found: NDArray[Any]) -> NDArray[np.int64]:
        """Frames spent by the end of the iteration in which a cell was found.

        Args:
            found: the archive's column of that name; it counts iterations from 0, and metrics.jsonl from 1.
        """
        at = np.searchsorted(self.iteration, np.asarray(found) + 1)
        frames: NDArray[np.int64] = self.frames[at.clip(max=len(self.frames) - 1)]
        return frames


@dataclass(frozen=True)
class Run:
    """A run folder, read."""

    folder: RunFolder
    config: dict[str, Any]
    metrics: Metrics
    sessions: list[dict[str, Any]]

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.path.name or str(self.folder.path)

    @property
    def env_id(self) -> str:
        """The environment's id."""
        return str(self.config["env"]["id"])

    @property
    def env_kwargs(self) -> dict[str, Any]:
        """Arguments of the environment."""
        return dict(self.config["env"]["kwargs"])

    @property
    def cells_name(self) -> str:
        """The cell function, by name or description."""
        cells = self.config["cells"]
        return str(cells.get("object", cells) if isinstance(cells, dict) else cells)

    @property
    def seed(self) -> int:
        """The run's seed."""
        return int(self.config["seed"])

    @cached_property
    def rom(self) -> str | None:
        """ROM name of an Atari game, or None."""
        try:
            if not is_atari(self.env_id):
                return None
        except InputError:  # the id is Atari's and the emulator is not installed; the report needs none
            pass
        name = re.sub(r"((-ram|NoFrameskip|Deterministic)*-v\d+)$", "", self.env_id.removeprefix("ALE/"))
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()

    @property
    def game(self) -> str:
        """What runs are put together by: the ROM, or the environment's id."""
        return self.rom or self.env_id

    @property
    def title(self) -> str:
        """The game for people."""
        return self.rom.replace("_", " ").title() if self.rom else self.env_id

    @property
    def frames(self) -> int:
        """Raw frames explored."""
        return int(self.metrics.frames[-1])

    @property
    def cells(self) -> int:
        """Cells in the archive."""
        return int(self.metrics.cells[-1])

    @property
    def best_score(self) -> float:
        """Highest score reached, in a cell or at an end of episode."""
        return float(self.metrics.best_score[-1])

    @property
    def end_score(self) -> float | None:
        """Highest score at an end of episode; None if no episode has ended."""
        score = float(self.metrics.end_score[-1])
        return score if math.isfinite(score) else None

    @cached_property
    def core_hours(self) -> float:
        """Hours times workers, summed over sessions."""
        starts = [int(session.get("from_frames", 0)) for session in self.sessions] or [0]
        workers = [int(session.get("workers", 1)) for session in self.sessions] or [1]
        # A session ends where the next began; work that a kill undid is in neither.
        seconds = [self._seconds_at(frames) for frames in [*starts[1:], self.frames]]
        spent = np.diff([self._seconds_at(starts[0]), *seconds])
        return float(np.clip(spent, 0, None) @ np.array(workers)) / 3600

    def _seconds_at(self, frames: int) -> float:
        at = int(np.searchsorted(self.metrics.frames, frames, side="right")) - 1
        return float(self.metrics.seconds[at]) if at >= 0 else 0.0

    def resume_command(self) -> str | None:
        """What to type to go on; None where only Python can."""
        try:
            # Trusted as text only: nothing is imported until an environment or a loop is made of it.
            return run_config(self.config, trust=True).resume_command(self.folder.path)
        except InputError:
            return None

    def video(self) -> Path | None:
        """The newest film of the run."""
        videos = sorted(self.folder.videos.glob("*.mp4"), key=lambda path: path.stat().st_mtime)
        return videos[-1] if videos else None


def find_runs(paths: Sequence[Path]) -> list[Path]:
    """Run folders among the paths and anywhere below them, each once, in the order given.

    Raises:
        InputError: a path does not exist, or there is no run in any.
    """
    if not paths:
        raise InputError("give at least one run folder, for example: goexplore report runs/*")
    found: dict[Path, Path] = {}
    for path in paths:
        if not path.is_dir():
            raise InputError(
                f"{path} is a file; expected a run folder" if path.exists() else f"there is no run folder {path}"
            )
        inside = [path] if (path / "config.json").exists() else _runs_below(path)
        found.update({run.resolve(): run for run in inside})
    if not found:
        raise InputError(
            f"there is no run in {', '.join(map(str, paths))}: expected folders with a config.json;"
            " make one with: goexplore explore"
        )
    return list(found.values())


def _runs_below(path: Path) -> list[Path]:
    return sorted(config.parent for config in path.rglob("config.json") if not _is_foreign(config))


def _is_foreign(config: Path) -> bool:
    """Whether a config.json is whole and some other program's."""
    try:
        content = read_json(config)
    except InputError:
        return False
    return not isinstance(content, dict) or not str(content.get("format")).startswith("goexplore-")


def read_runs(paths: Sequence[Path], *, warn: Warn) -> list[Run]:
    """Reads runs; whatever cannot be read is named in a warning and left out."""
    return read_each(paths, lambda path: read_run(path, warn=warn), warn=warn)


def read_each(paths: Sequence[Path], read: Callable[[Path], Read], *, warn: Warn) -> list[Read]:
    """Reads what can be read, and names the rest in warnings."""
    found = []
    for path in paths:
        try:
            found.append(read(path))
        except KeyError as error:
            warn(f"{path} is left out: it says nothing of {error}")
        except (AttributeError, InputError, TypeError, ValueError) as error:
            warn(f"{path} is left out: {error}")
    return found


def read_run(path: Path, *, warn: Warn) -> Run:
    """Reads one run.

    Raises:
        InputError: its configuration is damaged, or it has no metrics yet.
    """
    folder = RunFolder.open(path)
    config = folder.read_config()
    try:
        whole = isinstance(config["env"]["id"], str) and isinstance(config["exploration"], dict)
        dict(config["env"]["kwargs"]), int(config["seed"]), config["cells"]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"config.json is damaged ({type(error).__name__}: {error})") from error
    if not whole:
        raise InputError("config.json is damaged (env or exploration)")
    metrics = read_metrics(folder.metrics)
    if metrics.unreadable:
        warn(f"{path}: {metrics.unreadable} unreadable lines of metrics.jsonl are left out")
    return Run(folder, config, metrics, _sessions(path / "provenance.json"))


def read_metrics(path: Path) -> Metrics:
    """Reads metrics.jsonl, also while it is being written.

    Raises:
        InputError: there is no whole line.
    """
    lines = path.read_bytes().splitlines() if path.exists() else []
    kept: list[dict[str, Any]] = []
    unreadable = 0
    for number, line in enumerate(lines):
        values = _values(line)
        if values is None:
            unreadable += number < len(lines) - 1
            continue
        # A resumed run drops what a kill undid; should a stale line have stayed, the later one holds.
        while kept and kept[-1]["iteration"] >= values["iteration"]:
            kept.pop()
        kept.append(values)
    if not kept:
        raise InputError("it has no metrics yet (metrics.jsonl is missing, empty or half written)")

    def column(name: str, dtype: Any) -> NDArray[Any]:
        return np.array([line[name] for line in kept], dtype)

    return Metrics(
        iteration=column("iteration", np.int64),
        frames=column("frames", np.int64),
        steps=column("steps", np.int64),
        seconds=column("seconds", np.float64),
        cells=column("cells", np.int64),
        best_score=column("best_score", np.float64),
        best_steps=np.array([line.get("best_steps", math.nan) for line in kept], np.float64),
        end_score=np.array([line.get("end_score", math.nan) for line in kept], np.float64),
        refit_frames=np.array([line["frames"] for line in kept if line.get("refit")], np.int64),
        rollouts_with={name: counts.cumsum() for name, counts in counted(kept, "rollouts_with_").items()},
        unreadable=unreadable,
    )


def counted(lines: Sequence[dict[str, Any]], prefix: str) -> dict[str, NDArray[np.float64]]:
    """Columns whose names begin so, without that beginning; what a line leaves out is 0."""
    names = sorted({name for line in lines for name in line if name.startswith(prefix)})
    return {name.removeprefix(prefix): np.array([line.get(name, 0) for line in lines], np.float64) for name in names}


def _values(line: bytes) -> dict[str, Any] | None:
    try:
        values = json.loads(line)
        numbers = [float(values[name]) for name in NUMBERS] + [
            float(values.get(name, 0.0)) for name in ("end_score", "best_steps")
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return values if all(map(math.isfinite, numbers)) else None


def _sessions(path: Path) -> list[dict[str, Any]]:
    try:
        sessions = read_json(path)
    except InputError:
        return []
    return [session for session in sessions if isinstance(session, dict)] if isinstance(sessions, list) else []
