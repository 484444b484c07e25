"""Former cells: what a search found under earlier representations, kept when the representation changes.

Two cells that fall together under a coarser representation may be told apart again by a later one. So every cell
that was in the archive when the representation changed is kept here, the best for each distinct frame (frames that
are equal belong together under any representation), and each new archive is made from all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.archive._columns import Columns
from goexplore.archive._frames import identity
from goexplore.archive._joined import join_bytes, split_bytes


class FormerCells:
    """The best visit for each distinct frame.

    Args:
        fields: columns of the archive's table.
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.table = Columns(fields)
        self.frames: list[bytes] = []
        """Encoded frame of each."""
        self.snapshots: list[bytes | None] = []
        self._rows: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self.frames)

    def row_of(self, frame: bytes) -> int | None:
        """The row with an equal frame, or None."""
        return self._rows.get(identity(frame))

    def append(self, frame: bytes, snapshot: bytes | None, values: Mapping[str, Any]) -> int:
        """Adds a visit with a frame that is not here yet; returns its row."""
        row = self.table.append(**values)
        self._rows[identity(frame)] = row
        self.frames.append(frame)
        self.snapshots.append(snapshot)
        return row

    def save(self, *, with_snapshots: bool) -> dict[str, NDArray[Any]]:
        """Returns everything as arrays."""
        snapshots = [snapshot or b"" for snapshot in self.snapshots] if with_snapshots else [b""] * len(self)
        return {
            **{f"former.{name}": column for name, column in self.table.items()},
            **join_bytes("former.frames", self.frames),
            **join_bytes("former.snapshots", snapshots),
        }

    def restore(self, saved: dict[str, NDArray[Any]], *, with_snapshots: bool) -> None:
        """Takes over what `save` returned."""
        self.table.replace({name: saved[f"former.{name}"] for name, _ in self.table.items()})
        self.frames = split_bytes("former.frames", saved)
        self._rows = {identity(frame): row for row, frame in enumerate(self.frames)}
        snapshots = split_bytes("former.snapshots", saved) if with_snapshots else [b""] * len(self.frames)
        self.snapshots = [snapshot or None for snapshot in snapshots]

    def add_to_digest(self, update: Any) -> None:
        """Feeds what is here, trajectories aside, to a hash."""
        for name, column in self.table.items():
            if name not in ("chunk", "offset"):
                update(np.ascontiguousarray(column).tobytes())
        for frame in self.frames:
            update(identity(frame))
