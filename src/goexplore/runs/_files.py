"""Files that are either whole or absent."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from goexplore.errors import InputError


def write_atomically(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Writes a file through a temporary one, flushed to disk and then renamed.

    Whatever happens, a full disk or a kill included, `path` holds either its old content or the new.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flushes a folder's list of names, without which a rename may not survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, value: Any) -> None:
    """Writes JSON for people to read."""
    text = json.dumps(value, indent=2, allow_nan=False) + "\n"
    write_atomically(path, lambda file: file.writelines([text.encode()]))


def read_json(path: Path) -> Any:
    """Reads JSON.

    Raises:
        InputError: the file is missing or is not JSON.
    """
    try:
        return json.loads(path.read_text())
    except FileNotFoundError as error:
        raise InputError(f"there is no {path}") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not readable JSON ({error})") from error
