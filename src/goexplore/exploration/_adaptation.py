"""Letting the representation follow the search: a sample of recent frames, and a fit to it now and then.

Paper, Methods, "Downscaling on Atari". When the representation changes, every cell found so far gets its new key,
and of those that fall together the best stays in the archive.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import Archive, FrameCodec, identity, join_bytes, split_bytes
from goexplore.cells import AdaptiveCells, Fitting


@dataclass(frozen=True, slots=True)
class Refit:
    """A representation that replaced another."""

    representation: bytes
    description: str
    sampled: int
    """Frames it was fitted to."""
    cells_before: int
    cells_after: int


class Adaptation:
    """Keeps the sample, knows when a fit is due, and converts the archive.

    Args:
        cells: the cell function to fit; this object's own.
        codec: encodes frames.
        fitting: when and how to fit.
        add_counters: whether cells that fall together add up their counters.
    """

    def __init__(self, cells: AdaptiveCells, codec: FrameCodec, fitting: Fitting, *, add_counters: bool) -> None:
        self.codec = codec
        self._cells, self._fitting, self._add_counters = cells, fitting, add_counters
        self._sample: dict[bytes, bytes] = {}  # identity -> encoded frame, oldest first
        self._fitted_at: int | None = None
        self.on_progress: Callable[[float, str], None] = lambda done, text: None
        """Told now and then, while fitting, the share done and the best so far."""

    @property
    def sampled(self) -> int:
        """Frames in the sample."""
        return len(self._sample)

    def sample(self) -> NDArray[np.uint8]:
        """The frames in the sample, (n, height, width), oldest first."""
        return np.stack([self.codec.decode(frame) for frame in self._sample.values()])

    def observe(self, frames: Iterable[bytes]) -> None:
        """Adds encoded frames to the sample, unless they are in it; the oldest make room."""
        for frame in frames:
            self._sample.setdefault(identity(frame), frame)
        excess = len(self._sample) - self._fitting.sample_frames
        for oldest in list(itertools.islice(self._sample, max(0, excess))):
            del self._sample[oldest]

    def due(self, archive: Archive, steps: int) -> bool:
        """Whether the representation should be fitted again."""
        return self._fitting.due(steps=steps, fitted_at=self._fitted_at, cells=len(archive), sampled=len(self._sample))

    def refit(self, archive: Archive, steps: int, rng: np.random.Generator) -> Refit:
        """Fits the representation to the sample and converts the archive to it."""
        representation = self._cells.fit(self.sample(), self._fitting, rng, self.on_progress)
        before = len(archive)
        archive.remember(add_counters=self._add_counters)
        self._cells.use(representation)
        keys = [self._cells.key_of_frame(self.codec.decode(frame)) for frame in archive.former.frames]
        archive.change_representation(representation, keys, add_counters=self._add_counters)
        refit = Refit(representation, self._cells.in_words(representation), len(self._sample), before, len(archive))
        self._fitted_at = steps
        if self._fitting.clear_sample:
            self._sample.clear()
        return refit

    def save(self) -> dict[str, NDArray[Any]]:
        """Returns the sample and when it was last used, as arrays."""
        return {
            **join_bytes("sample", list(self._sample.values())),
            "sample.reference": self.codec.reference,
            "sample.fitted_at": np.array(-1 if self._fitted_at is None else self._fitted_at),
        }

    def restore(self, saved: dict[str, NDArray[Any]], representation: bytes) -> None:
        """Takes over what `save` returned, and the representation of the archive."""
        self.codec = FrameCodec(saved["sample.reference"])
        self._sample = {identity(frame): frame for frame in split_bytes("sample", saved)}
        fitted_at = int(saved["sample.fitted_at"])
        self._fitted_at = None if fitted_at < 0 else fitted_at
        self._cells.use(representation)
