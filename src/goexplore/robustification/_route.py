"""A demonstration made ready for training: the exact state before each of its steps, and what lies ahead of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import SnapshotCodec
from goexplore.demos import Demonstration, digest_of
from goexplore.errors import InputError
from goexplore.play import Play


class Route:
    """A demonstration that has been played through once, without noise.

    Every state is kept with the observations that led to it, so that an episode which begins there sees what it would
    have seen.

    Args:
        demonstration: what to play.
        play: where; left somewhere in the middle.
        on_step: told the steps played so far.

    Raises:
        InputError: the game does not do what the demonstration says.
    """

    def __init__(
        self, demonstration: Demonstration, play: Play, *, on_step: Callable[[int], None] = lambda steps: None
    ) -> None:
        self.rewards = demonstration.rewards
        self.actions = [play.policy_action(row) for row in demonstration.actions]
        self.scores: NDArray[np.float64] = np.concatenate([[0.0], np.cumsum(self.rewards)])
        """Score before each step, and after the last: (steps + 1,)."""
        self.best_by: NDArray[np.float64] = np.maximum.accumulate(self.scores)
        """The highest score so far, likewise."""
        self.final, self.highest = float(self.scores[-1]), float(self.best_by[-1])
        self.ends_below_best = self.final < self.highest
        """Whether points are lost after the best: having them once is then no match."""
        self.ends_episode = demonstration.ends_episode
        play.reset()
        self._codec = SnapshotCodec.for_start(play.snapshot(), b"")
        self._states: list[bytes | None] = []
        lives = []
        for step, row in enumerate(demonstration.actions):
            self._states.append(self._codec.encode(play.snapshot(), b""))
            lives.append(play.lives)
            reward, over = play.replay(row)
            if reward != self.rewards[step] or (over and step < len(self) - 1):
                raise _does_not_fit(demonstration, f"at step {step:,} it brings {reward:g} points")
            on_step(step + 1)
        self._lives = np.array([*lives, play.lives])
        self.loses_lives = bool((np.diff(self._lives) < 0).any())
        rewarded = np.flatnonzero(self.rewards) + 1
        self.longest_wait = int(np.diff([0, *rewarded, len(self)]).max())
        """Most steps in a row that bring no reward."""
        if demonstration.state and digest_of(play.fingerprint()) != demonstration.state:
            raise _does_not_fit(demonstration, "it ends in another state")

    def __len__(self) -> int:
        return len(self.actions)

    def put(self, play: Play, step: int) -> None:
        """Puts a game into the state before a step."""
        play.restore(self._codec.decode(self._states[step] or b"")[0])

    def seen(self, play: Play, step: int) -> NDArray[Any]:
        """What was seen before a step; where that is cheaper, without putting a game there."""
        return play.look(self._codec.decode(self._states[step] or b"")[0])

    def tolerated(self, tolerance: float) -> float:
        """Points that may be missing, for a share of the final score."""
        return tolerance * abs(self.final)

    def legs(self, shortest: int | None, tolerance: float = 0.0) -> list[tuple[int, int]]:
        """Parts that can be learnt side by side, as beginnings and ends: each but the last ends with a reward.

        Args:
            shortest: steps that a leg has at least, but for the last. None: there is one, which is the whole.
            tolerance: share of the final score that may be missing; a reward no larger than that ends no leg.
        """
        if shortest is None or self.ends_below_best:  # where points are lost, only the end tells
            return [(0, len(self))]
        legs, begin = [], 0
        for end in np.flatnonzero(self.rewards > self.tolerated(tolerance)) + 1:
            if end - begin >= shortest:
                legs.append((begin, int(end)))
                begin = int(end)
        return legs if begin == len(self) else [*legs, (begin, len(self))]

    def threshold(self, step: int, lag: int) -> float:
        """The score below which an episode lags too far behind: the demonstration's least within `lag` steps.

        Looking ahead too tolerates losses that the demonstration is about to make itself.
        """
        if step <= lag:
            return -np.inf
        last = len(self)
        part = self.scores[min(step - lag, last) : min(step + lag, last) + 1]
        return float(part.min())

    def least_lives(self, step: int, lag: int) -> int:
        """The fewest lives of the demonstration within `lag` steps: whoever has fewer has died where it did not."""
        last = len(self)
        return int(self._lives[min(max(step - lag, 0), last) : min(step + lag, last) + 1].min())

    def returns(self, gamma: float, scale: RewardScale) -> NDArray[np.float32]:
        """Scaled and discounted reward ahead of each step, to the demonstration's end."""
        return discounted(self.rewards, gamma, scale)


@dataclass(frozen=True, slots=True)
class RewardScale:
    """What a reward of the game counts for in learning."""

    factor: float = 1.0
    power: float = 1.0
    """Of its size: below 1, large rewards do not drown small ones; at 0 only the sign is left."""

    def __call__(self, reward: float) -> float:
        """A reward as it is learnt from."""
        if self.power == 1.0 or reward == 0.0:
            return self.factor * reward
        return self.factor * math.copysign(abs(reward) ** self.power, reward)


def discounted(
    rewards: Sequence[float] | NDArray[np.float64], gamma: float, scale: RewardScale, after: float = 0.0
) -> NDArray[np.float32]:
    """Scaled and discounted reward ahead of each step, with `after` behind the last."""
    result = np.zeros(len(rewards), np.float32)
    for step in range(len(rewards) - 1, -1, -1):
        after = scale(float(rewards[step])) + gamma * after
        result[step] = after
    return result


def reward_scale(routes: Sequence[Route], gamma: float, target: float | None, power: float = 1.0) -> RewardScale:
    """M = C / mu_V: rewards times this have a mean absolute value of `target` along the routes; 1 if it is None.

    Raises:
        InputError: no route has any reward.
    """
    values = np.concatenate([np.abs(route.returns(gamma, RewardScale(1.0, power))) for route in routes])
    mean = float(values.mean())
    if mean == 0:
        raise InputError(
            "the demonstrations hold no reward at all, so that there is nothing to match: take some with a score"
            " (goexplore demos --which best, or explore longer)"
        )
    return RewardScale(1.0 if target is None else target / mean, power)


def _does_not_fit(demonstration: Demonstration, what: str) -> InputError:
    return InputError(
        f"the demonstration does not fit this environment: played here, {what}. It was recorded in"
        f" {demonstration.env.id} with {demonstration.facts or demonstration.env.kwargs}"
    )
