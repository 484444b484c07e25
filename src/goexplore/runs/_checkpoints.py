"""Checkpoints: arrays in one file, named after its own checksum.

`checkpoints/iteration-000000120.1f0c...9a.npz` is a plain NumPy archive (no pickle), and the letters are
the BLAKE2 digest of its bytes. A file that was cut short or altered no longer matches its name, and
the one before it is used.
"""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.errors import InputError
from goexplore.runs._files import sync_folder

KEPT = 2
_NAME = re.compile(r"iteration-(\d+)\.([0-9a-f]{32})\.npz")

Arrays = dict[str, NDArray[Any]]


def write_checkpoint(folder: Path, iteration: int, arrays: Arrays) -> Path:
    """Writes a checkpoint, then drops all but the newest two.

    Raises:
        OSError: it could not be written, for example because the disk is full. Earlier checkpoints are untouched.
    """
    temporary = folder / f".writing.{os.getpid()}.tmp"
    try:
        with temporary.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
            file.flush()
            os.fsync(file.fileno())
        path = folder / f"iteration-{iteration:09d}.{_digest(temporary)}.npz"
        temporary.replace(path)
        sync_folder(folder)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    for old in _newest_first(folder)[KEPT:]:
        old.unlink(missing_ok=True)
    for abandoned in folder.glob(".writing.*.tmp"):
        abandoned.unlink(missing_ok=True)
    return path


class NoCheckpointError(InputError):
    """The run was stopped before its first checkpoint."""


def read_newest_checkpoint(
    folder: Path, *, warn: Callable[[str], None], set_damaged_aside: bool = False, at_most: int | None = None
) -> Arrays:
    """Reads the newest checkpoint that is whole.

    Args:
        folder: where the checkpoints are.
        warn: told in one line about every damaged one.
        set_damaged_aside: rename those, so that they are not counted among the kept ones.
        at_most: look at none of a later iteration.

    Raises:
        NoCheckpointError: there is none.
        InputError: all are damaged.
    """
    found = [path for path in _newest_first(folder) if at_most is None or _iteration_of(path) <= at_most]
    for path in found:
        arrays = _read(path)
        if arrays is not None:
            return arrays
        warn(f"checkpoint {path.name} is damaged (its checksum does not match); using the one before it")
        if set_damaged_aside:
            path.rename(path.with_suffix(".damaged"))
    if found:
        raise InputError(f"every checkpoint in {folder} is damaged; nothing can be resumed from this run")
    raise NoCheckpointError(f"there is no checkpoint in {folder}: the run was stopped before its first one")


def _newest_first(folder: Path) -> list[Path]:
    found = [(path.name.partition(".")[0], path.stat().st_mtime_ns, path) for path in folder.glob("*.npz")]
    return [path for _, _, path in sorted(found, reverse=True) if _NAME.fullmatch(path.name)]


def _iteration_of(path: Path) -> int:
    return int(path.name.partition(".")[0].removeprefix("iteration-"))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _read(path: Path) -> Arrays | None:
    match = _NAME.fullmatch(path.name)
    try:
        if match is None or _digest(path) != match[2]:
            return None
        with np.load(path, allow_pickle=False) as saved:
            return {name: saved[name] for name in saved.files}
    except (OSError, ValueError, zipfile.BadZipFile, EOFError):
        return None
