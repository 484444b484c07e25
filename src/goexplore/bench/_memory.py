"""Memory of a process, as the system counts it."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import sys
from pathlib import Path


def resident_bytes(pid: int | str = "self") -> int:
    """Returns the resident set size of a process (of this one where the system tells no more)."""
    status = Path(f"/proc/{pid}/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def release_free_memory() -> None:
    """Collects garbage and gives freed memory back, so that what remains is in use."""
    gc.collect()
    if sys.platform.startswith("linux"):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
