"""Compiled downscaling kernels: a few microseconds where the emulation takes hundreds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np


@cache
def compiled_downscale() -> Callable[..., None] | None:
    """Returns the kernel, compiled once and cached on disk, or None when numba is not installed."""
    try:
        import numba
    except ImportError:
        return None
    compiled: Callable[..., None] = numba.njit(cache=True, nogil=True)(_downscale)
    return compiled


@cache
def compiled_picture_hashes() -> Callable[..., None] | None:
    """Returns the kernel that hashes many downscaled frames, or None when numba is not installed.

    It lets go of the interpreter lock, so that several threads can share a sample.
    """
    try:
        import numba
    except ImportError:
        return None
    compiled: Callable[..., None] = numba.njit(cache=True, nogil=True)(_picture_hashes)
    return compiled


BLOCK = 64
"""Frames hashed together: the inner loops run over them, and their intermediate results stay in the cache."""


def _picture_hashes(
    integrals: Any,
    start: int,
    stop: int,
    rows: Any,
    columns: Any,
    levels: Any,
    out: Any,
) -> None:
    """FNV-1a of each downscaled frame, from the integral images of the frames.

    The integral over part of a pixel is linear in that part, so the integral up to any border is interpolated
    between four entries; multiplied by the target's height and width, all of it is whole numbers.

    Args:
        integrals: (height + 1, width + 1, frames).
        start: first frame.
        stop: frame after the last.
        rows: (h + 1, 2): whole source rows above each border between target rows, and h-ths of the next one.
        columns: (w + 1, 2), likewise.
        levels: what each mean gray level becomes.
        out: the hashes.
    """
    height, width = integrals.shape[0] - 1, integrals.shape[1] - 1
    h, w = len(rows) - 1, len(columns) - 1
    area = height * width
    inverse = 0.5 / area
    edge = np.empty((2, w + 1, BLOCK), np.float64)
    codes = np.empty(BLOCK, np.uint64)
    for first in range(start, stop, BLOCK):
        count = min(BLOCK, stop - first)
        codes[:] = np.uint64(14695981039346656037)
        for j in range(h + 1):
            now, before = edge[j % 2], edge[(j + 1) % 2]
            top, part = rows[j, 0], float(rows[j, 1])
            below = min(top + 1, height)
            for i in range(w + 1):
                left, side = columns[i, 0], float(columns[i, 1])
                right = min(left + 1, width)
                a, b = (h - part) * (w - side), (h - part) * side
                c, d = part * (w - side), part * side
                for k in range(count):
                    at = first + k
                    now[i, k] = (
                        a * integrals[top, left, at]
                        + b * integrals[top, right, at]
                        + c * integrals[below, left, at]
                        + d * integrals[below, right, at]
                    )
            if j == 0:
                continue
            for i in range(w):
                for k in range(count):
                    total = now[i + 1, k] - now[i, k] - before[i + 1, k] + before[i, k]
                    # floor((2 total + area) / (2 area)): half a unit more keeps the product off whole numbers
                    mean = np.int32((2.0 * total + area + 0.5) * inverse)
                    codes[k] = (codes[k] ^ np.uint64(levels[mean])) * np.uint64(1099511628211)
        out[first : first + count] = codes[:count]


def _downscale(gray: Any, rows: Any, row_spans: Any, columns: Any, column_spans: Any, depth: int, out: Any) -> None:
    """Area interpolation in whole numbers, rows first (that part vectorises), then columns."""
    area = gray.shape[0] * gray.shape[1]
    sums = np.empty(gray.shape[1], np.int32)  # at most 255 times the height: 32 bits are plenty
    for j in range(out.shape[0]):
        sums[:] = 0
        for k in range(row_spans[j], row_spans[j + 1]):
            y, weight = rows[k, 0], rows[k, 1]
            for x in range(gray.shape[1]):
                sums[x] += weight * np.int32(gray[y, x])
        for i in range(out.shape[1]):
            total = np.int64(0)
            for k in range(column_spans[i], column_spans[i + 1]):
                total += np.int64(columns[k, 1]) * sums[columns[k, 0]]
            out[j, i] = (2 * total + area) // (2 * area) * depth // 255
