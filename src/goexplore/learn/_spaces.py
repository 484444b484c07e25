"""What goes into a network and what comes out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Spaces:
    """Shapes and types of observations and actions."""

    observation_shape: tuple[int, ...]
    """(height, width, channels) of pictures, (numbers,) of anything else."""
    observation_dtype: str = "uint8"
    choices: int | None = None
    """Actions to choose from; None where actions are numbers."""
    action_shape: tuple[int, ...] = ()
    """Of one action; () for choices."""
    picture_shape: tuple[int, int, int] | None = None
    """Where a flat observation begins with a picture: that picture's shape. What follows it (a goal, say) joins in
    after the convolutions."""
    told: int = 0
    """Numbers at the end of a flat observation that are no part of what is seen: a goal, say."""

    @property
    def observation_is_bytes(self) -> bool:
        """Whether observations are bytes from 0 to 255, to be scaled to 1."""
        return np.dtype(self.observation_dtype) == np.uint8

    @property
    def action_dtype(self) -> str:
        """Of one action."""
        return "int64" if self.choices is not None else "float32"
