"""A demonstration made ready for training: the exact state before each of its steps, and what lies ahead of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import SnapshotCodec
from goexplore.cells import CellFunction
from goexplore.demos import Demonstration, digest_of
from goexplore.errors import InputError
from goexplore.play import Play
from goexplore.robustification._landmarks import Landmarks, Tracker


class Route:
    """A demonstration that has been played through once, without noise.

    Every state is kept with the observations that led to it, so that an episode which begins there sees what it would
    have seen.

    Args:
        demonstration: what to play.
        play: where; left somewhere in the middle.
        cells: whose first entries are its landmarks; None for no landmarks.
        on_step: told the steps played so far.

    Raises:
        InputError: the game does not do what the demonstration says.
    """

    def __init__(
        self,
        demonstration: Demonstration,
        play: Play,
        *,
        cells: CellFunction | None = None,
        on_step: Callable[[int], None] = lambda steps: None,
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
        tracker = Tracker(play, cells)
        tracker.reset()
        keys = [tracker.key()]
        self._codec = SnapshotCodec.for_start(play.snapshot(), b"")
        self._states: list[bytes | None] = []
        lives = []
        for step, row in enumerate(demonstration.actions):
            self._states.append(self._codec.encode(play.snapshot(), tracker.save()))
            lives.append(play.lives)
            reward, over = play.replay(row)
            if reward != self.rewards[step] or (over and step < len(self) - 1):
                raise _does_not_fit(demonstration, f"at step {step:,} it brings {reward:g} points")
            keys.append(tracker.key())
            on_step(step + 1)
        self._lives = np.array([*lives, play.lives])
        self.loses_lives = bool((np.diff(self._lives) < 0).any())
        self.landmarks = Landmarks(keys)
        """Places that it comes to; none where no cells tell them apart."""
        rewarded = np.flatnonzero(self.rewards > 0 if len(self.landmarks.steps) else self.rewards) + 1
        self.longest_wait = int(np.diff([0, *np.union1d(rewarded, self.landmarks.steps), len(self)]).max())
        """Most steps in a row that bring neither a reward nor a landmark."""
        if demonstration.state and digest_of(play.fingerprint()) != demonstration.state:
            raise _does_not_fit(demonstration, "it ends in another state")

    def __len__(self) -> int:
        return len(self.actions)

    def put(self, play: Play, step: int) -> bytes:
        """Puts a game into the state before a step; returns what the cells of landmarks had tracked by then."""
        state, tracked = self._codec.decode(self._states[step] or b"")
        play.restore(state)
        return tracked

    def seen(self, play: Play, step: int) -> NDArray[Any]:
        """What was seen before a step; where that is cheaper, without putting a game there."""
        return play.look(self._codec.decode(self._states[step] or b"")[0])

    def tolerated(self, tolerance: float) -> float:
        """Points that may be missing, for a share of the final score."""
        return tolerance * abs(self.final)

    def legs(self, shortest: int | None, tolerance: float = 0.0) -> list[tuple[int, int]]:
        """Parts that can be learnt side by side, as beginnings and ends.

        Each but the last ends with a reward or at a landmark.

        Args:
            shortest: steps that a leg has at least, but for the last. None: there is one, which is the whole.
            tolerance: share of the final score that may be missing; a reward no larger than that ends no leg.
        """
        if shortest is None:
            return [(0, len(self))]
        rewarded = np.flatnonzero(self.rewards > self.tolerated(tolerance)) + 1
        if self.ends_below_best:  # where points are lost, a reward says little
            rewarded = rewarded[:0]
        legs, begin = [], 0
        for end in np.union1d(rewarded, self.landmarks.steps):
            if end - begin >= shortest:
                legs.append((begin, int(end)))
                begin = int(end)
        return legs if begin == len(self) else [*legs, (begin, len(self))]

    def reaches(self, step: int) -> float:
        """The score that an episode which comes as far as a step should have."""
        return float((self.scores if self.ends_below_best else self.best_by)[step])

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
        """Scaled and discounted reward ahead of each step, to the demonstration's end; landmarks included."""
        return discounted(self.learnt_rewards(scale), gamma)

    def learnt_rewards(self, scale: RewardScale) -> NDArray[np.float32]:
        """What each step brings, as it is learnt from."""
        learnt = np.array([scale(float(reward)) for reward in self.rewards], np.float32)
        learnt[self.landmarks.steps - 1] += scale.of_landmark
        return learnt


@dataclass(frozen=True, slots=True)
class RewardScale:
    """What a reward of the game, or a landmark, counts for in learning."""

    factor: float = 1.0
    power: float = 1.0
    """Of its size: below 1, large rewards do not drown small ones; at 0 only the sign is left."""
    landmark: float = 0.0
    """What coming to a landmark is worth, before the factor."""

    def __call__(self, reward: float) -> float:
        """A reward as it is learnt from."""
        if self.power == 1.0 or reward == 0.0:
            return self.factor * reward
        return self.factor * math.copysign(abs(reward) ** self.power, reward)

    @property
    def of_landmark(self) -> float:
        """A landmark as it is learnt from."""
        return self.factor * self.landmark


def discounted(rewards: NDArray[np.float32], gamma: float, after: float = 0.0) -> NDArray[np.float32]:
    """Discounted reward ahead of each step, with `after` behind the last."""
    result = np.zeros(len(rewards), np.float32)
    for step in range(len(rewards) - 1, -1, -1):
        result[step] = after = float(rewards[step]) + gamma * after
    return result


def reward_scale(
    routes: Sequence[Route], gamma: float, target: float | None, power: float = 1.0, landmark: float = 0.0
) -> RewardScale:
    """M = C / mu_V: rewards times this have a mean absolute value of `target` along the routes; 1 if it is None.

    Raises:
        InputError: no route has any reward.
    """
    values = np.concatenate([np.abs(route.returns(gamma, RewardScale(1.0, power, landmark))) for route in routes])
    mean = float(values.mean())
    if mean == 0:
        raise InputError(
            "the demonstrations hold no reward at all, so that there is nothing to match: take some with a score"
            " (goexplore demos --which best, or explore longer)"
        )
    return RewardScale(1.0 if target is None else target / mean, power, landmark)


def _does_not_fit(demonstration: Demonstration, what: str) -> InputError:
    return InputError(
        f"the demonstration does not fit this environment: played here, {what}. It was recorded in"
        f" {demonstration.env.id} with {demonstration.facts or demonstration.env.kwargs}"
    )
