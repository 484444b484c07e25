"""Downscaled cells that choose their own resolution (Methods, "Downscaling on Atari")."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.cells._adaptive import AdaptiveCells, Fitting, Frame
from goexplore.cells._downscale import Downscale, gray_frame
from goexplore.cells._search import Sample, search
from goexplore.errors import InputError


class DynamicDownscale(AdaptiveCells):
    """Downscaling whose width, height and depth are fitted to the frames of the search.

    Before the first fit every frame belongs to one cell, or to those of `start`.

    Args:
        start: (width, height, depth) before the first fit.
    """

    def __init__(self, start: tuple[int, int, int] | None = None) -> None:
        self._downscale: Downscale | None = None
        self.use(b"" if start is None else _packed(*start))

    def frame(self, observation: Any, env: Any) -> Frame:
        """The gray picture."""
        return gray_frame(observation)

    def key_of_frame(self, frame: Frame) -> bytes:
        """The key of the downscaled frame."""
        return b"" if self._downscale is None else self._downscale.key(frame, None)

    def fit(
        self,
        frames: NDArray[np.uint8],
        fitting: Fitting,
        rng: np.random.Generator,
        progress: Callable[[float, str], None] = lambda done, text: None,
    ) -> bytes:
        """Searches for the parameters with the best objective on a sample."""
        found = search(
            Sample(frames),
            rng,
            proposals=fitting.proposals,
            target_share=fitting.target_share,
            mean_offset=fitting.mean_offset,
            full_size=fitting.full_size,
            near_best=fitting.near_best,
            progress=progress,
        )
        return _packed(found.width, found.height, found.depth)

    def use(self, representation: bytes) -> None:
        """Switches to other parameters."""
        self._downscale = Downscale(*_unpacked(representation)) if representation else None
        self.representation = representation

    def in_words(self, representation: bytes) -> str:
        """5 x 4 pixels, 59 levels."""
        if not representation:
            return "one cell for everything"
        width, height, depth = _unpacked(representation)
        return f"{width} x {height} pixels, {depth + 1} levels"


def parse_size(text: str) -> tuple[int, int, int]:
    """Reads 11x8x8.

    Raises:
        InputError: it does not look like that.
    """
    match = re.fullmatch(r"(\d+)x(\d+)x(\d+)", text)
    if match is None:
        raise InputError(f"{text!r} should look like 11x8x8: width, height and depth of a downscaled frame")
    width, height, depth = map(int, match.groups())
    return width, height, depth


def _packed(width: int, height: int, depth: int) -> bytes:
    return json.dumps([width, height, depth]).encode()


def _unpacked(representation: bytes) -> tuple[int, int, int]:
    try:
        width, height, depth = map(int, json.loads(representation))
    except (ValueError, TypeError) as error:
        raise InputError(f"{representation!r} is no downscaled representation") from error
    return width, height, depth
