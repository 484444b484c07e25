"""Action spaces as the engine stores and samples them: one array row for each action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from goexplore.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class ActionSpace:
    """A discrete or continuous action space.

    Discrete actions are counts of choices per component; continuous ones are boxes. Trajectories store
    actions as an array of shape (steps, *shape) and of this dtype.
    """

    shape: tuple[int, ...]
    """() for a single discrete action, (k,) and so on otherwise."""
    dtype: np.dtype[Any]
    low: Any
    """Smallest value: an int for a single discrete action, otherwise an array of shape `shape`."""
    high: Any
    """Largest value, inclusive."""
    discrete: bool

    @classmethod
    def of_choices(cls, count: int, *, start: int = 0) -> ActionSpace:
        """A single discrete action in start..start+count-1."""
        dtype = np.dtype(np.uint8) if start >= 0 and start + count <= 256 else np.dtype(np.int64)
        return cls((), dtype, start, start + count - 1, True)

    @classmethod
    def from_gymnasium(cls, space: gym.Space[Any]) -> ActionSpace:
        """Converts a Gymnasium space.

        Raises:
            InputError: the space is a Dict, Tuple, Text, ... or an unbounded box.
        """
        if isinstance(space, gym.spaces.Discrete):
            return cls.of_choices(int(space.n), start=int(space.start))
        if isinstance(space, gym.spaces.MultiDiscrete):
            start = np.asarray(space.start, np.int64)
            return cls(space.nvec.shape, np.dtype(np.int64), start, start + space.nvec - 1, True)
        if isinstance(space, gym.spaces.MultiBinary):
            shape = tuple(space.shape)
            return cls(shape, np.dtype(np.uint8), np.zeros(shape, np.uint8), np.ones(shape, np.uint8), True)
        if isinstance(space, gym.spaces.Box):
            if not space.is_bounded("both"):
                raise InputError(
                    f"the action space {space} is unbounded, and random exploration needs limits: wrap the"
                    " environment in gymnasium.wrappers.RescaleAction or ClipAction with finite bounds"
                )
            return cls(
                space.shape,
                np.dtype(space.dtype),
                space.low,
                space.high,
                np.issubdtype(space.dtype, np.integer),
            )
        raise InputError(
            f"the action space {space} is not supported: expected Discrete, MultiDiscrete, MultiBinary or Box;"
            " flatten it with a wrapper"
        )

    def sample(self, rng: np.random.Generator, count: int) -> NDArray[Any]:
        """Draws `count` uniform actions, shape (count, *shape)."""
        size = (count, *self.shape)
        if self.discrete:
            return rng.integers(self.low, self.high, size=size, endpoint=True).astype(self.dtype)
        return rng.uniform(self.low, self.high, size=size).astype(self.dtype)

    def sample_repeating(self, rng: np.random.Generator, count: int, repeat_probability: float) -> NDArray[Any]:
        """Draws `count` uniform actions, each of which repeats the one before with a given probability."""
        return repeating(self.sample(rng, count), rng, repeat_probability)

    def row(self, action: Any) -> Any:
        """Turns what an explorer returns into what is stored: an int, or an array of its own.

        Raises:
            InputError: it has the wrong shape, or lies outside the space.
        """
        if self.shape == () and self.discrete:
            number = int(action)
            if not self.low <= number <= self.high:
                raise InputError(f"the explorer returned action {number}; expected {self.low} to {self.high}")
            return number
        row = np.array(action, self.dtype)
        if row.shape != self.shape or not ((self.low <= row) & (row <= self.high)).all():
            raise InputError(
                f"the explorer returned the action {row.tolist()}; expected shape {self.shape}, each part within"
                f" {self.low.tolist()} and {self.high.tolist()}"
            )
        return row

    def to_env(self, row: Any) -> Any:
        """Turns a stored row into what the environment's `step` takes: an int, or an array."""
        return int(row) if self.discrete and self.shape == () else np.asarray(row, self.dtype)


def repeating(fresh: NDArray[Any], rng: np.random.Generator, probability: float) -> NDArray[Any]:
    """Takes each action or, with a given probability, the one before again; the first is always taken."""
    renew = rng.random(len(fresh)) >= probability
    renew[0] = True
    drawn_at = np.maximum.accumulate(np.where(renew, np.arange(len(fresh)), 0))
    repeated: NDArray[Any] = fresh[drawn_at]
    return repeated
