"""Trajectories as a prefix forest.

A rollout that found something adds one chunk: its actions, and the (chunk, offset) it started from. A
trajectory is named by a chunk and an offset in it, and is what lies on the way back to the root. Cells
share prefixes, so memory grows with what the archive keeps and not with the frames that were played.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goexplore.archive._columns import Columns


class Trajectory(NamedTuple):
    """The actions from reset up to `offset` actions into a chunk."""

    chunk: int
    offset: int


START = Trajectory(-1, 0)
"""The empty trajectory: the state after reset."""


class Forest:
    """Chunks of actions, each with its parent.

    Args:
        shape: shape of one action.
        dtype: dtype of one action.
    """

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self._actions = Columns({"action": (dtype, shape)})
        self._chunks = Columns({"parent": np.int32, "parent_offset": np.int32, "first": np.int64, "length": np.int32})
        self._collect_above = 1 << 16

    def __len__(self) -> int:
        return len(self._chunks)

    @property
    def stored_actions(self) -> int:
        """Actions held by all chunks together."""
        return len(self._actions)

    def last(self, chunks: NDArray[Any], offsets: NDArray[Any], *, column: int, absent: int) -> NDArray[np.int64]:
        """One number of the last action of many trajectories; `absent` for empty ones."""
        there = (chunks >= 0) & (offsets > 0)
        found = np.full(len(chunks), absent, np.int64)
        found[there] = self._actions["action"][self._chunks["first"][chunks[there]] + offsets[there] - 1, column]
        return found

    def add(self, parent: Trajectory, actions: NDArray[Any]) -> int:
        """Adds a chunk that continues a trajectory; returns its number."""
        first = self._actions.extend(action=actions)
        return self._chunks.append(parent=parent.chunk, parent_offset=parent.offset, first=first, length=len(actions))

    def actions(self, trajectory: Trajectory) -> NDArray[Any]:
        """Returns all actions of a trajectory, from reset on, shape (length, *shape)."""
        chunk, offset = trajectory
        parents, offsets, firsts = (self._chunks[name] for name in ("parent", "parent_offset", "first"))
        pool = self._actions["action"]
        parts = []
        while chunk >= 0:
            first = firsts[chunk]
            parts.append(pool[first : first + offset])
            chunk, offset = int(parents[chunk]), int(offsets[chunk])
        return np.concatenate(parts[::-1]) if parts else pool[:0].copy()

    def digests(self, trajectories: Sequence[Trajectory]) -> list[bytes]:
        """Hashes the actions of many trajectories, each shared prefix only once."""
        parents, offsets = self._chunks["parent"].tolist(), self._chunks["parent_offset"].tolist()
        points: dict[int, set[int]] = {}  # where something begins or ends in each chunk
        for chunk, offset in [*zip(parents, offsets, strict=True), *trajectories]:
            points.setdefault(chunk, set()).add(offset)
        data = self._actions["action"].tobytes()
        size = len(data) // max(1, self.stored_actions)
        hashes = {(START.chunk, START.offset): hashlib.blake2b(digest_size=16)}
        for chunk, first in enumerate(self._chunks["first"].tolist()):  # parents are older than their children
            running, at = hashes[parents[chunk], offsets[chunk]].copy(), 0
            for offset in sorted(points.get(chunk, ())):
                running.update(data[(first + at) * size : (first + offset) * size])
                hashes[chunk, offset], at = running.copy(), offset
        return [hashes[chunk, offset].digest() for chunk, offset in trajectories]

    def wants_collection(self) -> bool:
        """Whether enough was added since the last collection to be worth another."""
        return self.stored_actions > self._collect_above

    def collect(self, chunks: NDArray[np.int32], offsets: NDArray[np.int32]) -> NDArray[np.int32]:
        """Drops every action that no given trajectory needs.

        Args:
            chunks: chunk of each trajectory still in use.
            offsets: its offset.

        Returns:
            New number of each old chunk (-1 where dropped), to be applied to whatever refers to chunks.
        """
        count = len(self._chunks)
        needed_array = np.zeros(count, np.int32)
        used = chunks >= 0
        np.maximum.at(needed_array, chunks[used], offsets[used])
        needed = needed_array.tolist()
        parents, parent_offsets = self._chunks["parent"].tolist(), self._chunks["parent_offset"].tolist()
        for chunk in range(count - 1, -1, -1):  # parents are older than their children
            parent = parents[chunk]
            if needed[chunk] and parent >= 0 and needed[parent] < parent_offsets[chunk]:
                needed[parent] = parent_offsets[chunk]
        lengths = np.array(needed, np.int32)
        kept = lengths > 0
        renumbered = np.where(kept, np.cumsum(kept, dtype=np.int32) - 1, -1).astype(np.int32)
        lengths = lengths[kept]
        firsts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])[:-1]
        sources = np.repeat(self._chunks["first"][kept] - firsts, lengths) + np.arange(lengths.sum())
        parents_kept = self._chunks["parent"][kept]
        self._actions.replace({"action": self._actions["action"][sources]})
        self._chunks.replace(
            {
                "parent": np.where(parents_kept >= 0, renumbered[parents_kept], -1),
                "parent_offset": self._chunks["parent_offset"][kept],
                "first": firsts,
                "length": lengths,
            }
        )
        self._collect_above = max(1 << 16, 2 * self.stored_actions)
        return renumbered

    def save(self) -> dict[str, NDArray[Any]]:
        """Returns the forest as arrays."""
        names = ("parent", "parent_offset", "first", "length")
        return {
            "actions": self._actions["action"],
            "collect_above": np.array(self._collect_above),
            **{name: self._chunks[name] for name in names},
        }

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Takes over what `save` returned."""
        self._actions.replace({"action": saved["actions"]})
        self._chunks.replace(saved)
        self._collect_above = int(saved["collect_above"])
