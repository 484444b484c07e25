"""Means over seeds, with bootstrap intervals that come out the same every time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
CONFIDENCE = 0.95
MOST_POINTS = 600


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over seeds, for one moment or for many."""

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    """Lower end of the 95% interval; NaN for a single seed, about which it says nothing."""
    high: NDArray[np.float64]
    seeds: int


def mean_over_seeds(values: NDArray[np.float64]) -> Mean:
    """Mean and percentile bootstrap interval over seeds.

    Args:
        values: (seeds, moments).
    """
    seeds = len(values)
    mean = values.mean(axis=0)
    if seeds < 2:
        unknown = np.full_like(mean, np.nan)
        return Mean(mean, unknown, unknown, seeds)
    drawn = np.random.default_rng(0).integers(seeds, size=(RESAMPLES, seeds))
    times = np.apply_along_axis(np.bincount, 1, drawn, minlength=seeds)  # (resamples, seeds)
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(times @ values / seeds, [tail, 100 - tail], axis=0)
    return Mean(mean, low, high, seeds)


@dataclass(frozen=True, slots=True)
class Curve:
    """What one run knew, from some number of frames on."""

    frames: NDArray[np.int64]
    values: NDArray[np.float64]
    jumps: bool
    """Whether a value holds until the next, as a best score does; else it changes evenly in between."""

    def at(self, frames: NDArray[np.int64]) -> NDArray[np.float64]:
        """The value at each number of frames, from the first known one on."""
        if self.jumps:
            held: NDArray[np.float64] = self.values[np.searchsorted(self.frames, frames, side="right") - 1]
            return held
        return np.interp(frames, self.frames, self.values)


def mean_curve(curves: list[Curve]) -> tuple[NDArray[np.int64], Mean] | None:
    """The mean over seeds where all of them have a value; None where there is no such moment.

    Elsewhere the mean would jump whenever a seed begins or ends.
    """
    first = max(curve.frames[0] for curve in curves)
    last = min(curve.frames[-1] for curve in curves)
    if first > last:
        return None
    frames = np.unique(np.concatenate([curve.frames for curve in curves]))
    frames = thinned(frames[(frames >= first) & (frames <= last)])
    return frames, mean_over_seeds(np.stack([curve.at(frames) for curve in curves]))


def thinned(frames: NDArray[np.int64], most: int = MOST_POINTS) -> NDArray[np.int64]:
    """As many moments as a figure can show, first and last among them."""
    at = np.linspace(0, len(frames) - 1, min(len(frames), most)).round().astype(int)
    kept: NDArray[np.int64] = frames[np.unique(at)]
    return kept
