"""A demonstration: the actions of a trajectory that was replayed from reset, and what identifies its environment.

A file is an .npz of two plain arrays and one JSON text; reading one runs no code.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.envs import AtariEnv, EnvSpec, RestorableEnv
from goexplore.errors import InputError
from goexplore.runs import write_atomically

FORMAT, FORMAT_VERSION = "goexplore-demonstration", 1
SUFFIX = ".demo.npz"


@dataclass(frozen=True, slots=True, eq=False)
class Demonstration:
    """Actions from reset, without noise, and what they bring."""

    env: EnvSpec
    """The environment in which it was found."""
    actions: NDArray[Any]
    """(steps, ...)."""
    rewards: NDArray[np.float64]
    """(steps,)."""
    ends_episode: bool
    """Whether the last step ends the episode in that environment."""
    state: str
    """Digest of the last simulator state."""
    frames_per_step: int
    facts: dict[str, Any] = field(default_factory=dict)
    """What else identifies the environment: on Atari the ROM's hash, the emulator's version and the actions."""
    source: dict[str, Any] = field(default_factory=dict)
    """Where it comes from, for people."""

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def score(self) -> float:
        """Sum of all rewards: a search score, reached without sticky actions."""
        return float(self.rewards.sum())

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes a file, whole or not at all.

        Raises:
            InputError: the environment has no importable name.
        """
        if self.env.factory is not None:
            raise InputError(
                f"the environment {self.env.id!r} is a Python object without an importable name, and a demonstration"
                " has to say which environment it is of; give the run one by name (package.module:name)"
            )
        about = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "env": self.env.to_json(),
            "score": self.score,
            "ends_episode": self.ends_episode,
            "state": self.state,
            "frames_per_step": self.frames_per_step,
            "facts": self.facts,
            "source": self.source,
        }
        text = np.frombuffer(json.dumps(about, allow_nan=False).encode(), np.uint8)
        target = Path(path)
        write_atomically(
            target,
            lambda file: np.savez_compressed(
                file, allow_pickle=False, actions=self.actions, rewards=self.rewards, about=text
            ),
        )
        return target

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, trust: bool = False) -> Demonstration:
        """Reads a file.

        Args:
            path: an .npz that `save` wrote.
            trust: allow it to name an environment of third parties (`package.module:name`), whose import runs code.

        Raises:
            InputError: it is damaged, of another version, or not a demonstration.
        """
        path = Path(path)
        try:
            with np.load(path, allow_pickle=False) as file:
                actions, rewards = file["actions"], file["rewards"]
                about = json.loads(file["about"].tobytes())
            if about["format"] != FORMAT:
                raise InputError(f"{path} is not a demonstration of ours (its format is {about['format']!r})")
            if about["format_version"] != FORMAT_VERSION:
                raise InputError(
                    f"{path} has format version {about['format_version']}, and this goexplore reads {FORMAT_VERSION}:"
                    " extract it again from its run, or install the version that wrote it"
                )
            made = cls(
                env=EnvSpec(**about["env"]),
                actions=actions,
                rewards=rewards.astype(np.float64),
                ends_episode=bool(about["ends_episode"]),
                state=str(about["state"]),
                frames_per_step=int(about["frames_per_step"]),
                facts=dict(about["facts"]),
                source=dict(about["source"]),
            )
            if rewards.shape != actions.shape[:1] or not len(actions) or made.score != about["score"]:
                raise ValueError("its parts do not fit together")
        except FileNotFoundError as error:
            raise InputError(f"there is no demonstration {path}") from error
        except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise InputError(
                f"the demonstration {path} is damaged ({type(error).__name__}: {error}); extract it again"
            ) from error
        made.env.require_trust(f"{path} is of", by="reading it", trust=trust)
        return made


def identifying_facts(env: RestorableEnv) -> dict[str, Any]:
    """What must be equal for a demonstration to mean the same again."""
    if not isinstance(env, AtariEnv):
        return {}
    return {
        "game": env.game,
        "rom_md5": env.rom_md5,
        "ale_py": metadata.version("ale-py"),
        "actions": env.action_names,
    }


def digest_of(fingerprint: bytes) -> str:
    """The form in which states are compared."""
    return hashlib.blake2b(fingerprint, digest_size=16).hexdigest()


def save_demonstrations(found: Iterable[Demonstration], folder: str | os.PathLike[str]) -> list[Path]:
    """Writes demonstrations into a folder, numbered on from those in it."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    taken = [path.name[len("demo-") : -len(SUFFIX)] for path in folder.glob("demo-*" + SUFFIX)]
    first = 1 + max((int(name) for name in taken if name.isdigit()), default=-1)
    return [each.save(folder / f"demo-{number:03d}{SUFFIX}") for number, each in enumerate(found, first)]


def load_demonstrations(path: str | os.PathLike[str], *, trust: bool = False) -> list[Demonstration]:
    """Reads one file, or all of a folder in the order of their names.

    Raises:
        InputError: there are none, one is damaged, or they are of different environments.
    """
    path = Path(path)
    files = sorted(path.glob("*" + SUFFIX)) if path.is_dir() else [path]
    if not files and (path / "config.json").exists():
        raise InputError(f"{path} is a run, not a folder of demonstrations: goexplore demos {path} --out demos")
    if not files:
        raise InputError(f"there is no demonstration in {path}: make some with goexplore demos RUN... --out {path}")
    found = [Demonstration.load(file, trust=trust) for file in files]
    for file, each in zip(files[1:], found[1:], strict=True):
        for name, ours, theirs in (
            ("environment", found[0].env.id, each.env.id),
            ("frames for each step", found[0].frames_per_step, each.frames_per_step),
            ("ROM", found[0].facts.get("rom_md5"), each.facts.get("rom_md5")),
            ("action set", found[0].facts.get("actions"), each.facts.get("actions")),
        ):
            if ours != theirs:
                raise InputError(
                    f"{file.name} has another {name} than {files[0].name} ({theirs} and {ours}): train on"
                    " demonstrations of one environment"
                )
    return found
