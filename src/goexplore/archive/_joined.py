"""Many byte strings as two arrays, for checkpoints."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def join_bytes(name: str, parts: list[bytes]) -> dict[str, NDArray[Any]]:
    """Many byte strings as two arrays: all bytes, and the length of each."""
    return {
        f"{name}.bytes": np.frombuffer(b"".join(parts), np.uint8),
        f"{name}.lengths": np.fromiter(map(len, parts), np.int64, len(parts)),
    }


def split_bytes(name: str, saved: dict[str, NDArray[Any]]) -> list[bytes]:
    """The inverse of `join_bytes`."""
    joined = saved[f"{name}.bytes"].tobytes()
    ends = np.cumsum(saved[f"{name}.lengths"])
    starts = ends - saved[f"{name}.lengths"]
    return [joined[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
