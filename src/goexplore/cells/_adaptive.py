"""Cells whose representation adapts itself to what the search has seen.

The exploration loop keeps a sample of recent frames and, now and then, lets the cell function fit itself to
them; every cell found so far is then given its new key (Methods, "Downscaling on Atari").
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.cells._protocol import CellFunction
from goexplore.errors import InputError

Frame = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Fitting:
    """When an adaptive representation is fitted again, and to what. The defaults are the paper's."""

    first_steps: int = 10_000
    """Agent steps before the first fit. Paper: not stated; the authors' scripts: 10,000."""
    every_steps: int = 10_000_000
    """Agent steps between two fits. Paper: not stated; the authors' scripts: 10,000,000 (40M frames)."""
    growth: float | None = None
    """Fit again once the steps have grown by this factor since the last fit, if that comes before `every_steps`:
    the first representations rest on little, and are soon outgrown. None: never. Paper: not mentioned."""
    max_cells: int = 50_000
    """Fit again when the archive holds more cells. Paper: 50,000 (Extended Data Fig. 3)."""
    patience_steps: int = 0
    """Agent steps after a fit before the archive's size may cause another. The converted archive may itself hold more
    than `max_cells`; in the paper the next fit then follows after one iteration, which on a small machine means
    fitting most of the time. Paper: 0."""
    sample_frames: int = 10_000
    """Most recent distinct frames kept to fit to. Paper: 10,000."""
    sample_probability: float = 0.01
    """Probability with which a frame seen while exploring enters the sample. Paper: 0.01."""
    least_frames: int = 1_000
    """A fit that is due waits until the sample holds this many frames: fewer mislead it. Paper: not mentioned; in
    the authors' code the first fit uses about 200 frames, and one that follows another at once about 100."""
    clear_sample: bool = False
    """Forget the sample after each fit. Paper: not mentioned; the authors' code does."""
    proposals: int = 3_000
    """Representations tried in each fit. Paper: not stated; the authors' scripts: 3,000."""
    target_share: float = 0.125
    """T, the cells aimed for, as a share of the sample's frames. Paper: "a fixed fraction"; the authors' scripts:
    0.125. Higher gives finer cells."""
    mean_offset: int = 0
    """Added to the mean of the proposals of width and height. Paper: 0; the authors' code: 1."""
    full_size: bool = True
    """Whether a proposal may have the frame's own width or height, and a depth of 1. Paper: yes; the authors'
    code: no."""
    near_best: float = 0.0
    """Share of proposals drawn close to one of the eight best so far. The objective has many local maxima, and a
    search of a given length comes closer to the best of them so (docs/measurements.md). Paper: 0, all are drawn
    from wide distributions around the best alone."""

    def __post_init__(self) -> None:
        least = {
            "first_steps": 1,
            "every_steps": 1,
            "max_cells": 2,
            "patience_steps": 0,
            "sample_frames": 2,
            "least_frames": 2,
            "proposals": 1,
            "mean_offset": 0,
        }
        for name, lowest in least.items():
            if (value := getattr(self, name)) < lowest:
                raise InputError(f"fitting {name} {value}: expected at least {lowest}")
        if not 0 < self.sample_probability <= 1:
            raise InputError(f"fitting sample_probability {self.sample_probability}: expected above 0 and at most 1")
        if not 0 < self.target_share <= 1:
            raise InputError(f"fitting target_share {self.target_share}: expected above 0 and at most 1")
        if not 0 <= self.near_best <= 1:
            raise InputError(f"fitting near_best {self.near_best}: expected 0 to 1")
        if self.growth is not None and self.growth <= 1:
            raise InputError(f"fitting growth {self.growth}: expected more than 1, or none")
        if self.least_frames > self.sample_frames:
            raise InputError(
                f"fitting least_frames {self.least_frames}: expected at most sample_frames ({self.sample_frames})"
            )

    def due(self, *, steps: int, fitted_at: int | None, cells: int, sampled: int) -> bool:
        """Whether to fit now.

        Args:
            steps: agent steps explored.
            fitted_at: the steps at the last fit; None before the first.
            cells: cells in the archive.
            sampled: frames in the sample.
        """
        if sampled < self.least_frames:
            return False
        if fitted_at is None:
            return steps > self.first_steps
        grown = self.growth is not None and steps > self.growth * fitted_at
        too_large = cells > self.max_cells and steps - fitted_at > self.patience_steps
        return grown or too_large or steps - fitted_at > self.every_steps


class AdaptiveCells(CellFunction):
    """A cell function with a representation that can be replaced while a search goes on.

    frame = cells.frame(observation, env)       # what is kept of a visit
    representation = cells.fit(frames, fitting, rng)
    cells.use(representation)                   # here and in every worker
    key = cells.key_of_frame(frame)             # the new key of a cell found long ago
    """

    representation: bytes = b""
    """The one in use; empty before the first."""

    @abstractmethod
    def frame(self, observation: Any, env: Any) -> Frame:
        """Returns what keys are computed from, (height, width); it may be a buffer that the next step overwrites."""

    @abstractmethod
    def key_of_frame(self, frame: Frame) -> bytes:
        """Returns the key of a frame under the representation in use."""

    @abstractmethod
    def fit(
        self,
        frames: NDArray[np.uint8],
        fitting: Fitting,
        rng: np.random.Generator,
        progress: Callable[[float, str], None] = lambda done, text: None,
    ) -> bytes:
        """Returns a representation that suits a sample of frames, (n, height, width)."""

    @abstractmethod
    def use(self, representation: bytes) -> None:
        """Switches to a representation that `fit` returned, perhaps in another process."""

    @abstractmethod
    def in_words(self, representation: bytes) -> str:
        """Says it in a few words, for people."""

    def key(self, observation: Any, env: Any) -> bytes:
        """The key of the observation's frame."""
        return self.key_of_frame(self.frame(observation, env))
