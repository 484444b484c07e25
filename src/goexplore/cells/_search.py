"""The search for downscaling parameters (Methods, "Downscaling on Atari").

Width, height and depth are proposed at random around the best known ones, and judged by how evenly they spread a
sample of frames over how many cells: O(p, n) = H_n(p) / L(n, T).

Most of the time of a search would go into downscaling every frame for every proposal. Three things make it cheap:
frames are decoded once, into integral images, so that a target pixel costs four look-ups however large it is; only
a hash of each small picture is kept; and a proposal is given up as soon as it has shown more cells than a winner
could have. None of them changes the outcome.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.cells._kernel import compiled_picture_hashes

LOWEST_MEANS = (8.0, 10.5, 12.0)
"""Least mean of the proposals of width, height and depth (paper)."""
DEPTHS = 255
MAX_BYTES = 3 << 29
"""Largest table of integral images (10,000 Atari frames take 1.36 GB); of larger samples an even part is used."""
CHUNK = 128
"""Frames integrated together."""
STAGES = (0.05, 0.25, 1.0)
"""Shares of the sample after which a proposal may be given up."""
FEW, NEAR_SPREAD = 8, 0.2
"""How many of the best `near_best` chooses from, and how far from one a proposal lies: about a fifth of each value."""
REDRAWS = 1_000
"""Draws without anything new after which a search ends early: a tiny frame has few representations."""


@dataclass(frozen=True, slots=True)
class Downscaling:
    """What a search came to."""

    width: int
    height: int
    depth: int
    score: float
    """O(p, n), at most 1."""
    cells: int
    """n: cells that the sample falls into."""
    frames: int
    """Frames in the sample."""
    proposals: int
    """Representations tried."""


def objective(counts: NDArray[np.int64], target: float) -> float:
    """O(p, n) = H_n(p) / L(n, T) for the frames in each cell.

    Args:
        counts: frames in each cell, all above 0.
        target: T, the number of cells aimed for.

    Example:
        >>> objective(np.array([5, 5]), target=2)
        1.0
    """
    cells = len(counts)
    if cells < 2:
        return 0.0
    total = int(counts.sum())
    sizes, times = np.unique(counts, return_counts=True)  # exact sums in a fixed order, equal on every machine
    weighted = math.fsum(
        many * size * math.log(size) for size, many in zip(sizes.tolist(), times.tolist(), strict=True)
    )
    entropy = math.log(total) - weighted / total
    return entropy / math.log(cells) / discrepancy(cells, target)


def discrepancy(cells: int, target: float) -> float:
    """L(n, T) = sqrt(|n / T - 1| + 1)."""
    return math.sqrt(abs(cells / target - 1.0) + 1.0)


class Sample:
    """A sample of frames, ready to be counted under many representations.

    Args:
        frames: (height, width) arrays of uint8, all of one shape.
        compiled: use the compiled kernels; None takes them if numba is installed. The counts are the same.
    """

    def __init__(self, frames: Iterable[NDArray[np.uint8]], *, compiled: bool | None = None) -> None:
        frames = list(frames)
        self.height, self.width = frames[0].shape
        most = max(2, MAX_BYTES // (4 * (self.height + 1) * (self.width + 1)))
        if len(frames) > most:
            frames = [frames[index] for index in np.linspace(0, len(frames) - 1, most).astype(int)]
        # A fixed order that mixes early and late frames, so that a part of the sample resembles the whole.
        mixed = [frames[index] for index in np.random.default_rng(0).permutation(len(frames))]
        self._kernel = compiled_picture_hashes() if compiled is not False else None
        self._threads = os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self._threads)
        self._integrals = np.zeros((self.height + 1, self.width + 1, len(frames)), np.uint32)
        self._hashes = np.empty(len(frames), np.uint64)
        list(
            self._pool.map(
                lambda first: self._integrate(first, mixed[first : first + CHUNK]), range(0, len(mixed), CHUNK)
            )
        )

    def _integrate(self, first: int, frames: Sequence[NDArray[np.uint8]]) -> None:
        sums = np.stack(frames, axis=-1).cumsum(axis=0, dtype=np.uint32)
        np.cumsum(sums, axis=1, out=self._integrals[1:, 1:, first : first + len(frames)])

    def __len__(self) -> int:
        return len(self._hashes)

    def counts(self, width: int, height: int, depth: int, *, give_up_above: float = math.inf) -> NDArray[np.int64]:
        """Returns the frames in each cell; what it has so far, once that is more cells than `give_up_above`."""
        done = 0
        for share in STAGES:
            stop = max(done, math.ceil(share * len(self)))
            self._hash(done, stop, width, height, depth)
            done = stop
            counts: NDArray[np.int64] = np.unique(self._hashes[:done], return_counts=True)[1]
            if len(counts) > give_up_above:
                break
        return counts

    def _hash(self, start: int, stop: int, width: int, height: int, depth: int) -> None:
        """Sets a hash of the downscaled picture of each frame from `start` to `stop`."""
        rows, columns = _borders(self.height, height), _borders(self.width, width)
        levels = (np.arange(256) * depth // 255).astype(np.uint8)
        if self._kernel is not None:
            edges = np.linspace(start, stop, self._threads + 1).astype(int).tolist()
            parts = [
                self._pool.submit(self._kernel, self._integrals, first, last, rows, columns, levels, self._hashes)
                for first, last in pairwise(edges)
            ]
            for part in parts:
                part.result()
            return
        area = self.height * self.width
        integrals = self._integrals[:, :, start:stop]
        down = _interpolated(integrals, rows, height)
        across = _interpolated(down.swapaxes(0, 1), columns, width)
        totals = np.diff(np.diff(across, axis=0), axis=1).astype(np.int64)  # (width, height, frames)
        small = levels[(2 * totals + area) // (2 * area)].astype(np.uint64)
        hashes = np.full(stop - start, _OFFSET, np.uint64)
        for j in range(height):
            for i in range(width):
                hashes = (hashes ^ small[i, j]) * _PRIME
        self._hashes[start:stop] = hashes


_OFFSET, _PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)  # FNV-1a


def _borders(source: int, target: int) -> NDArray[np.int64]:
    """Where target pixels begin and end: whole source pixels, and `target`-ths of the next one; (target + 1, 2)."""
    return np.stack(np.divmod(np.arange(target + 1) * source, target), axis=1)


def _interpolated(integrals: NDArray[Any], borders: NDArray[np.int64], target: int) -> NDArray[np.float64]:
    """Integrals up to each border along the first axis, times `target`; whole numbers far below 2^53."""
    whole, part = borders[:, 0], borders[:, 1, None, None]
    above = integrals[whole].astype(np.float64)
    below = integrals[np.minimum(whole + 1, len(integrals) - 1)]
    result: NDArray[np.float64] = (target - part) * above + part * below
    return result


def search(
    sample: Sample,
    rng: np.random.Generator,
    *,
    proposals: int = 3_000,
    target_share: float = 0.125,
    mean_offset: int = 0,
    full_size: bool = True,
    near_best: float = 0.0,
    progress: Callable[[float, str], None] = lambda done, text: None,
) -> Downscaling:
    """Searches for the downscaling with the best objective.

    Args:
        sample: the frames to fit to.
        rng: where proposals come from.
        proposals: representations to try.
        target_share: T as a share of the sample's frames.
        mean_offset: added to the mean of the proposals of width and height.
        full_size: allow the frame's own width and height, and depth 1.
        near_best: share of proposals drawn close to one of the few best, rather than around the best alone.
        progress: told now and then the share done, and the best so far.
    """
    target = target_share * len(sample)
    lowest = (1, 1, 1 if full_size else 2)
    highest = (max(1, sample.width - (not full_size)), max(1, sample.height - (not full_size)), DEPTHS)
    proposal = tuple(int(rng.integers(low, high + 1)) for low, high in zip(lowest, highest, strict=True))
    tried = {proposal}
    best, best_score, best_cells = proposal, -math.inf, 0
    few_best: list[tuple[float, tuple[int, ...]]] = []
    for number in range(1, proposals + 1):
        # Past this many cells even a perfectly even spread would score less than the best.
        give_up_above = target / best_score**2 if best_score > 0 else math.inf
        counts = sample.counts(*proposal, give_up_above=give_up_above)
        score = objective(counts, target) if len(counts) <= give_up_above else -1.0
        if score >= best_score:
            best, best_score, best_cells = proposal, score, len(counts)
        few_best = sorted([*few_best, (score, proposal)], reverse=True)[:FEW]
        if number % 50 == 0:
            progress(number / proposals, f"{best[0]} x {best[1]}, {best[2] + 1} levels, {best_cells:,} cells")
        means = (best[0] + mean_offset, best[1] + mean_offset, best[2])
        for _ in range(REDRAWS):
            proposal = tuple(
                _geometric(rng, max(mean, floor), low, high)
                for mean, floor, low, high in zip(means, LOWEST_MEANS, lowest, highest, strict=True)
            )
            if near_best and rng.random() < near_best:
                proposal = tuple(
                    min(max(low, round(value * rng.lognormal(sigma=NEAR_SPREAD)) + int(rng.integers(-1, 2))), high)
                    for value, low, high in zip(_any(rng, few_best), lowest, highest, strict=True)
                )
            if proposal not in tried:
                break
        else:
            break
        tried.add(proposal)
    width, height, depth = best
    return Downscaling(width, height, depth, score=best_score, cells=best_cells, frames=len(sample), proposals=number)


def _any(rng: np.random.Generator, scored: list[tuple[float, tuple[int, ...]]]) -> tuple[int, ...]:
    return scored[int(rng.integers(len(scored)))][1]


def _geometric(rng: np.random.Generator, mean: float, low: int, high: int) -> int:
    """A geometric number (1, 2, ...) with that mean, drawn again while it is out of range."""
    while True:
        value = int(rng.geometric(1.0 / mean))
        if low <= value <= high:
            return value
