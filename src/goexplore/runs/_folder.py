"""The run folder: what a run is, where its files are, and who is using it.

config.json        what was asked for: environment, cells, settings, seed, budget
provenance.json    versions and machine, once for each session
first-ways.npz     the trajectories that it began with, if any
metrics.jsonl      one line for each iteration
events.out.*       the same for TensorBoard
checkpoints/       the newest two; see goexplore.runs._checkpoints
videos/
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import platform
import sys
import time
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import SnapshotCodec, names_own_selector
from goexplore.cells import Fitting, names_own_code
from goexplore.envs import EnvSpec
from goexplore.errors import InputError
from goexplore.exploration import ExplorationConfig, ExplorationLoop, WorkerSpec
from goexplore.plugins import named
from goexplore.runs._files import read_json, write_atomically, write_json

FORMAT = "goexplore-run"
FORMAT_VERSION = 2
SIMULATORS = ("ale-py", "mujoco", "minigrid", "gymnasium")


class Described(Protocol):
    """Anything that can say what config.json should hold."""

    def to_json(self) -> dict[str, Any]:
        """Plain values, with `format` and `format_version`."""


@dataclass(frozen=True, slots=True)
class Budget:
    """When a run stops: at whichever comes first."""

    frames: int | None = None
    """Raw frames explored, all sessions together."""
    minutes: float | None = None
    """Minutes of this session."""
    score: float | None = None
    """Stop once a score of at least this is reached."""

    def __post_init__(self) -> None:
        if self.frames is not None and self.frames <= 0:
            raise InputError(f"frames {self.frames:,}: expected a budget above 0, for example 2_000_000")
        if self.minutes is not None and not 0 < self.minutes < math.inf:
            raise InputError(f"minutes {self.minutes}: expected a budget above 0")
        if self.score is not None and not math.isfinite(self.score):
            raise InputError(f"until_score {self.score}: expected a finite number")
        if self.frames is None and self.minutes is None and self.score is None:
            raise InputError("give a budget: frames, minutes or until_score")


@dataclass(frozen=True, slots=True)
class RunConfig:
    """Everything that decides what a run finds."""

    env: EnvSpec
    cells: Any
    """Name of a cell function, or the object itself."""
    exploration: ExplorationConfig
    seed: int
    budget: Budget = field(default_factory=lambda: Budget(frames=2_000_000))
    first_ways: str = ""
    """A hash of the trajectories that it begins with; empty where it begins with none."""

    def __post_init__(self) -> None:
        if self.seed < 0 or self.env.reset_seed < 0:
            raise InputError(f"seed {min(self.seed, self.env.reset_seed)}: expected 0 or more")

    def worker_spec(self, loop: ExplorationLoop, codec: SnapshotCodec) -> WorkerSpec:
        """What workers need to run this run's rollouts."""
        return WorkerSpec(self.env, self.cells, self.exploration, self.seed, codec.reference, loop.frame_reference)

    def to_json(self) -> dict[str, Any]:
        """As it goes into config.json. Python objects without a name leave only a description."""
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "env": self.env.to_json() | ({"object": True} if self.env.factory is not None else {}),
            "cells": _name_or_object(self.cells),
            "exploration": {
                setting.name: _name_or_object(getattr(self.exploration, setting.name))
                for setting in dataclasses.fields(self.exploration)
                if setting.name != "fitting"
            }
            | {"fitting": dataclasses.asdict(self.exploration.fitting)},
            "seed": self.seed,
            "budget": dataclasses.asdict(self.budget),
        } | ({"first_ways": self.first_ways} if self.first_ways else {})

    def plugins(self) -> list[str]:
        """Names of third-party code that the run uses, as `package.module:name`."""
        named = [name for name in (self.env.id, self.exploration.explorer) if isinstance(name, str) and ":" in name]
        selector, cells = self.exploration.selector, self.cells
        named += [selector] if isinstance(selector, str) and names_own_selector(selector) else []
        return named + ([cells] if isinstance(cells, str) and names_own_code(cells) else [])

    def resume_command(self, path: Path) -> str | None:
        """What to type to go on; None where the run uses Python objects that only Python can give again."""
        parts = (self.cells, self.exploration.selector, self.exploration.explorer)
        if self.env.factory is not None or not all(isinstance(part, str) for part in parts):
            return None
        return f"goexplore resume {path}" + (" --trust" if self.plugins() else "")

    def identity(self) -> str:
        """A hash of everything but the budget: checkpoints carry it, so that none is taken for another run's."""
        told = {name: value for name, value in self.to_json().items() if name != "budget"}
        # Settings at their defaults are left out, so that a later version may add one without orphaning this run.
        told["exploration"] = _changed(told["exploration"], ExplorationConfig())
        told["exploration"]["fitting"] = _changed(told["exploration"].get("fitting", {}), Fitting())
        return hashlib.blake2b(json.dumps(told, sort_keys=True).encode(), digest_size=16).hexdigest()


class RunFolder:
    """A run's files on disk.

    Args:
        path: the folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = path / "checkpoints"
        self.videos = path / "videos"
        self.metrics = path / "metrics.jsonl"
        self._config = path / "config.json"
        self._first_ways = path / "first-ways.npz"
        self._provenance = path / "provenance.json"
        self._lock: IO[str] | None = None

    @classmethod
    def create(cls, path: Path, config: Described) -> RunFolder:
        """Makes a new run folder and takes its lock.

        Raises:
            InputError: there is something in it already, or it cannot be made.
        """
        folder = cls(path)
        try:
            if path.is_dir() and any(child.name != ".lock" for child in path.iterdir()):
                if folder._config.exists():
                    raise InputError(
                        f"{path} already holds a run; go on with it (goexplore resume, or robustify --resume), or give"
                        " another --out"
                    )
                raise InputError(f"{path} is not empty and holds no run; give another --out")
            folder.checkpoints.mkdir(parents=True, exist_ok=True)
            folder.videos.mkdir(exist_ok=True)
            folder.lock()
            write_json(folder._config, config.to_json())
        except OSError as error:
            raise InputError(f"the run folder {path} cannot be made: {error.strerror or error}") from error
        return folder

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Opens an existing run.

        Raises:
            InputError: it is not one.
        """
        folder = cls(path)
        if not path.is_dir():
            raise InputError(
                f"{path} is a file; expected a run folder" if path.exists() else f"there is no run folder {path}"
            )
        if not folder._config.exists():
            inside = sorted(str(config.parent) for config in path.glob("*/config.json"))[-3:]
            hint = f"; did you mean {' or '.join(inside)}?" if inside else ""
            raise InputError(f"{path} is not a run folder: it has no config.json{hint}")
        return folder

    def lock(self) -> None:
        """Claims the folder for this process, until it ends.

        Raises:
            InputError: another process is writing to it.
        """
        import fcntl

        self._lock = (self.path / ".lock").open("a+")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(f"{self.path} is in use by another process; wait for it, or stop it") from error

    def unlock(self) -> None:
        """Gives the folder back."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def read_config(self, expected: str = FORMAT, version: int = FORMAT_VERSION) -> dict[str, Any]:
        """Returns config.json after checking that it is ours.

        Args:
            expected: the kind of run.
            version: the version of its format.

        Raises:
            InputError: it is another kind, or comes from another version.
        """
        config = read_json(self._config)
        kind = config.get("format") if isinstance(config, dict) else None
        if not isinstance(config, dict) or kind != expected:
            known = isinstance(kind, str) and kind.startswith("goexplore-")
            instead = f", but a {str(kind).replace('-', ' ')}" if known else ""
            raise InputError(f"{self._config} does not describe a {expected.replace('-', ' ')}{instead}")
        if config.get("format_version") != version:
            raise InputError(
                f"{self._config} has format version {config.get('format_version')}; this goexplore reads version"
                f" {version}: install the version that wrote it"
            )
        return config

    def write_config(self, config: Described) -> None:
        """Replaces config.json, for a new budget."""
        write_json(self._config, config.to_json())

    def write_first_ways(self, ways: Sequence[NDArray[Any]]) -> None:
        """Keeps the trajectories that a run begins with, so that it can begin again."""
        if ways:
            write_atomically(self._first_ways, lambda file: np.savez_compressed(file, *ways, allow_pickle=False))

    def read_first_ways(self) -> list[NDArray[Any]]:
        """Reads them back.

        Raises:
            InputError: the file is damaged.
        """
        if not self._first_ways.exists():
            return []
        try:
            with np.load(self._first_ways, allow_pickle=False) as file:
                return [file[name] for name in file.files]
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            raise InputError(f"{self._first_ways} is damaged ({error}); begin a new run") from error

    def note_session(self, **facts: Any) -> None:
        """Adds this session to provenance.json."""
        write_json(self._provenance, [*self._sessions(), provenance() | facts])

    def changes_since_last_session(self, **facts: Any) -> list[str]:
        """Says which simulators are not what they were: a restored state may then mean something else."""
        last = self._sessions()[-1:]
        before = {**last[0].get("packages", {}), **last[0]} if last and isinstance(last[0], dict) else {}
        now = {name: version for name, version in provenance()["packages"].items() if name in SIMULATORS} | facts
        return [
            f"this run was made with {name} {before[name]}, and now it is {version}"
            for name, version in now.items()
            if name in before and before[name] != version
        ]

    def _sessions(self) -> list[Any]:
        sessions = read_json(self._provenance) if self._provenance.exists() else []
        return sessions if isinstance(sessions, list) else []


def run_config(saved: dict[str, Any], *, trust: bool = False, **objects: Any) -> RunConfig:
    """Rebuilds a configuration from config.json.

    Args:
        saved: its content.
        trust: allow it to name code of third parties. Importing that runs it, so a run from a stranger must not.
        objects: Python objects for what has no importable name: `env`, `cells`, `selector`, `explorer`.

    Raises:
        InputError: it is damaged, or an object that it needs was not given.
    """
    try:
        env = dict(saved["env"])
        factory = objects.get("env")
        if not isinstance(env["id"], str) or not isinstance(env["kwargs"], dict):
            raise TypeError("env")
        if not env.pop("object", False):
            factory = None
        elif factory is None:
            raise _needs_object("env", env["id"])
        config = RunConfig(
            env=EnvSpec(**env, factory=factory),
            cells=_object_or_name("cells", saved["cells"], objects.get("cells")),
            exploration=ExplorationConfig(
                **{
                    name: _object_or_name(name, value, objects.get(name))
                    for name, value in saved["exploration"].items()
                    if name != "fitting"
                },
                fitting=Fitting(**saved["exploration"]["fitting"]),
            ),
            seed=int(saved["seed"]),
            budget=Budget(**saved["budget"]),
            first_ways=str(saved.get("first_ways", "")),
        )
        given = {named(thing) for thing in objects.values() if thing is not None}
        plugins = [name for name in config.plugins() if name not in given]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"config.json is damaged or not ours ({type(error).__name__}: {error})") from error
    if plugins and not trust:
        raise InputError(
            f"this run uses code of its own ({', '.join(plugins)}), and reading it would run that code; if you trust"
            " the folder, say so with --trust (trust=True from Python)"
        )
    return config


def provenance() -> dict[str, Any]:
    """Versions and machine, so that numbers can be compared later."""
    packages = {}
    for name in ("goexplore", "numpy", "gymnasium", "ale-py", "mujoco", "minigrid", "numba", "zstandard"):
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "packages": packages,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
    }


def _changed(settings: dict[str, Any], defaults: Any) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value != getattr(defaults, name)}


def _name_or_object(part: Any) -> Any:
    return (
        part if isinstance(part, (str, int, float)) else {"object": getattr(part, "__qualname__", type(part).__name__)}
    )


def _object_or_name(part: str, saved: Any, given: Any) -> Any:
    if not isinstance(saved, dict):
        return saved
    if given is None:
        raise _needs_object(part, saved["object"])
    if _name_or_object(given) != saved:
        raise InputError(f"this run's {part} was {saved['object']!r}, and got {_name_or_object(given)['object']!r}")
    return given


def _needs_object(part: str, description: str) -> InputError:
    return InputError(
        f"this run's {part} was the Python object {description!r}, which cannot be read back from a file; give it again"
        f" from Python, for example goexplore.resume(path, {part}=...)"
    )
