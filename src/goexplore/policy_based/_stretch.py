"""What actors went through since the archive was last updated. Crosses ranks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goexplore.learn import Spaces
from goexplore.policy_based._reliability import Leg

END = b"end"
"""The cell of all states in which a game is over."""


class Return(NamedTuple):
    """An attempt to return to a cell that is over."""

    cell: bytes
    arrived: bool


@dataclass(slots=True)
class Stretch:
    """Steps of one actor in one episode."""

    actor: int
    episode: int
    """Unique among all actors of all ranks."""
    start: bytes
    """The cell in which the episode began."""
    begins: bool
    """Whether the episode begins with it."""
    over: bool = False
    """Whether the episode ends with it."""
    keys: list[bytes] = field(default_factory=list)
    """The cell after each step."""
    scores: list[float] = field(default_factory=list)
    """The game's score after each step."""
    rewards: list[float] = field(default_factory=list)
    """The game's reward of each step, as it is learnt from."""
    actions: list[Any] = field(default_factory=list)
    doing: list[str] = field(default_factory=list)
    """What the actor was doing in each step."""
    returns: list[Return] = field(default_factory=list)
    """Attempts to return that ended in it."""
    legs: list[Leg] = field(default_factory=list)
    """Parts of them."""


CELL, EPISODE, REWARD, ACTION = range(4)
"""Columns of a step, as the archive's forest keeps it; the action takes up the rest."""
NO_EPISODE = -1


class StepCodec:
    """Steps as rows of whole numbers.

    Args:
        spaces: what actions are like.
    """

    def __init__(self, spaces: Spaces) -> None:
        self._choices = spaces.choices is not None
        self._action_shape = spaces.action_shape
        self.width = ACTION + int(np.prod(spaces.action_shape))

    def encode(self, stretch: Stretch, rows: list[int]) -> NDArray[np.int32]:
        """Rows of the archive stand for cells."""
        count = len(rows)
        encoded = np.empty((count, self.width), np.int32)
        encoded[:, CELL], encoded[:, EPISODE] = rows, stretch.episode
        encoded[:, REWARD] = np.array(stretch.rewards, np.float32).view(np.int32)
        if self._choices:
            encoded[:, ACTION] = stretch.actions
        else:
            encoded[:, ACTION:] = np.array(stretch.actions, np.float32).reshape(count, -1).view(np.int32)
        return encoded

    def rewards(self, encoded: NDArray[np.int32]) -> NDArray[np.float32]:
        """The game's rewards."""
        return np.ascontiguousarray(encoded[:, REWARD]).view(np.float32)

    def actions(self, encoded: NDArray[np.int32]) -> NDArray[Any]:
        """What the policy would have to choose."""
        if self._choices:
            return encoded[:, ACTION].astype(np.int64)
        return np.ascontiguousarray(encoded[:, ACTION:]).view(np.float32).reshape(-1, *self._action_shape)
