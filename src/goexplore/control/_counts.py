"""How often episodes have entered each cell, and the bonus for entering those that few have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import join_bytes, split_bytes

NAME = "counts"


class Counts:
    """Counts of all ranks as they were after the last iteration, and of this process since then."""

    def __init__(self) -> None:
        self._known: Counter[bytes] = Counter()
        self._new: Counter[bytes] = Counter()

    def __len__(self) -> int:
        """Cells that any episode has entered."""
        return len(self._known)

    def enter(self, key: bytes) -> float:
        """Counts a cell entered for the first time in an episode; returns 1/sqrt(n)."""
        self._new[key] += 1
        return float((self._known[key] + self._new[key]) ** -0.5)

    def take_new(self) -> dict[bytes, int]:
        """Hands over what was counted since the last call; `add` brings it back, with that of the others."""
        new, self._new = dict(self._new), Counter()
        return new

    def add(self, parts: Iterable[dict[bytes, int]]) -> None:
        """Takes up what was counted everywhere."""
        for part in parts:
            self._known.update(part)

    def save(self) -> dict[str, NDArray[Any]]:
        """As arrays; between iterations, when nothing is new."""
        return {
            **join_bytes(f"{NAME}.keys", list(self._known)),
            f"{NAME}.times": np.array([*self._known.values()], np.int64),
        }

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Takes over what `save` returned."""
        keys = split_bytes(f"{NAME}.keys", saved)
        self._known = Counter(dict(zip(keys, saved[f"{NAME}.times"].tolist(), strict=True)))
        self._new = Counter()
