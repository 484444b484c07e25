"""Cells from downscaled frames (Methods, "Downscaling on Atari").

A gray frame is reduced to w x h by area interpolation, and each pixel p to floor(d * p / 255).

Area interpolation is done in whole numbers: source column i covers [i*w, (i+1)*w) and target column
j covers [j*W, (j+1)*W), so every overlap is an integer and the mean is exact. Keys are therefore the
same on every machine, and the same from the compiled kernel and from NumPy: sums stay far below 2^53,
where float64 arithmetic has no rounding either.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.cells._kernel import compiled_downscale
from goexplore.cells._protocol import CellFunction, short_key
from goexplore.errors import InputError

LUMA = (299, 587, 114)  # ITU-R 601 in thousandths, as OpenCV and ALE convert


class Downscale(CellFunction):
    """Fixed downscaling to `width` x `height` pixels of `depth` + 1 levels (0 to depth).

    Args:
        width: w, at most the frame's width. The paper searches 1..160.
        height: h, at most the frame's height. The paper searches 1..210.
        depth: d, 1..255.
        compiled: use the compiled kernel; None takes it if numba is installed. The keys are the same.
    """

    def __init__(self, width: int = 11, height: int = 8, depth: int = 8, *, compiled: bool | None = None) -> None:
        if width < 1 or height < 1 or not 1 <= depth <= 255:
            raise InputError(
                f"downscale:{width}x{height}x{depth}: expected a width and height of at least 1 and a depth of 1 to 255"
            )
        self.width, self.height, self.depth = width, height, depth
        self._kernel = compiled_downscale() if compiled is not False else None
        if compiled and self._kernel is None:
            raise InputError("the compiled kernel needs numba; get it with: pip install 'goexplore[fast]'")
        self._out = np.zeros((height, width), np.uint8)
        self._plan: _Plan | None = None

    def key(self, observation: Any, env: Any) -> bytes:
        """The downscaled frame's bytes, shortened."""
        return short_key(self.downscaled(observation).tobytes())

    def downscaled(self, frame: Any) -> NDArray[np.uint8]:
        """Returns the small picture, (height, width); the next call overwrites it."""
        gray = gray_frame(frame)
        plan = self._plan
        if plan is None or plan.shape != gray.shape:
            plan = self._plan = _plan(gray.shape, self.width, self.height)
        if self._kernel is not None:
            self._kernel(gray, plan.rows, plan.row_spans, plan.columns, plan.column_spans, self.depth, self._out)
        else:
            sums = plan.row_weights @ gray.astype(np.float64) @ plan.column_weights
            self._out[...] = _quantised(sums.astype(np.int64), gray.size, self.depth)
        return self._out


def _quantised(sums: NDArray[np.int64], area: int, depth: int) -> NDArray[np.int64]:
    """Rounds the mean half up to a whole gray level, then keeps `depth` + 1 levels."""
    result: NDArray[np.int64] = (2 * sums + area) // (2 * area) * depth // 255
    return result


def gray_frame(frame: Any) -> NDArray[np.uint8]:
    """Returns a picture as (height, width) gray levels.

    Raises:
        InputError: it is no picture.
    """
    if isinstance(frame, np.ndarray) and frame.dtype == np.uint8:
        if frame.ndim == 2:
            return frame
        if frame.ndim == 3 and frame.shape[2] == 1:
            return frame[:, :, 0]
        if frame.ndim == 3 and frame.shape[2] == 3:
            luma = frame.astype(np.uint32) @ np.array(LUMA, np.uint32)
            return ((luma + 500) // 1000).astype(np.uint8)
    got = f"{frame.dtype} array of shape {frame.shape}" if isinstance(frame, np.ndarray) else type(frame).__name__
    raise InputError(
        f"downscaled cells need a picture (uint8, height x width, gray or RGB), got a {got}; choose other cells,"
        " for example --cells observation or your own function"
    )


class _Plan:
    """Overlaps of source and target pixels for one frame shape and one target size."""

    def __init__(self, shape: tuple[int, ...], width: int, height: int) -> None:
        if width > shape[1] or height > shape[0]:
            raise InputError(
                f"cannot downscale a frame of {shape[1]} x {shape[0]} to {width} x {height}: give a smaller size"
            )
        self.shape = shape
        self.rows, self.row_spans, row_weights = _overlaps(shape[0], height)
        self.columns, self.column_spans, column_weights = _overlaps(shape[1], width)
        self.row_weights, self.column_weights = row_weights, np.ascontiguousarray(column_weights.T)


@lru_cache(maxsize=512)
def _overlaps(source: int, target: int) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """How source pixels cover target pixels along one axis, in whole numbers.

    Returns:
        (source index, weight) pairs; the span of pairs of each target index, (target + 1,); and the same weights as
        a dense (target, source) matrix.
    """
    dense = np.zeros((target, source), np.int32)
    for j in range(target):
        for i in range(j * source // target, -(-(j + 1) * source // target)):
            dense[j, i] = min((i + 1) * target, (j + 1) * source) - max(i * target, j * source)
    targets, sources = np.nonzero(dense)
    pairs = np.stack([sources, dense[targets, sources]], axis=1).astype(np.int32)
    spans = np.searchsorted(targets, np.arange(target + 1)).astype(np.int32)
    return pairs, spans, dense.astype(np.float64)


@lru_cache(maxsize=16)
def _plan(shape: tuple[int, ...], width: int, height: int) -> _Plan:
    return _Plan(shape, width, height)
