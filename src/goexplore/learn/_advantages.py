"""Generalised advantage estimation (SI, "PPO and SIL"), with two kinds of end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def advantages(
    rewards: Floats,
    values: Floats,
    ends: NDArray[np.bool_],
    cuts: NDArray[np.bool_],
    *,
    gamma: float,
    gae_lambda: float,
) -> Floats:
    """Returns the advantage of each step, (steps, actors).

    An end is real: nothing follows, and the step's value target is its reward alone. A cut is ours (the
    demonstration was matched and the extra time is over): the game would have gone on. A cut step learns nothing,
    and those before it count on the value of the state in which it was taken.

    Args:
        rewards: of each step, (steps, actors).
        values: of each observation and of the one after the last step, (steps + 1, actors).
        ends: steps after which nothing follows.
        cuts: steps after which an actor was put elsewhere.
        gamma: discount factor.
        gae_lambda: between one-step returns (0) and returns to the end of the stretch (1).
    """
    result = np.zeros_like(rewards)
    ahead = np.zeros(rewards.shape[1], np.float32)
    for step in range(len(rewards) - 1, -1, -1):
        goes_on = ~ends[step]
        delta = rewards[step] + gamma * values[step + 1] * goes_on - values[step]
        ahead = np.where(cuts[step], 0.0, delta + gamma * gae_lambda * goes_on * ahead).astype(np.float32)
        result[step] = ahead
    return result
