"""A demonstration made ready for training: the exact state before each of its steps, and what lies ahead of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

    def targets(self, horizon: int | None) -> NDArray[np.int64]:
        """For each start, the steps of the demonstration after which an episode from there has done its work.

        Args:
            horizon: the first reward at least so many steps after the start will do. None: only the whole will.
        """
        if horizon is None or self.ends_below_best:
            return np.full(len(self), len(self))
        rewarded = np.append(np.flatnonzero(self.rewards > 0) + 1, len(self))
        after = np.searchsorted(rewarded, np.arange(len(self)) + horizon)
        found: NDArray[np.int64] = rewarded[after.clip(max=len(rewarded) - 1)]
        return found

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

    def returns(self, gamma: float, scale: float) -> NDArray[np.float32]:
        """Scaled and discounted reward ahead of each step, to the demonstration's end."""
        return discounted(self.rewards, gamma, scale)


def discounted(
    rewards: Sequence[float] | NDArray[np.float64], gamma: float, scale: float, after: float = 0.0
) -> NDArray[np.float32]:
    """Scaled and discounted reward ahead of each step, with `after` behind the last."""
    result = np.zeros(len(rewards), np.float32)
    for step in range(len(rewards) - 1, -1, -1):
        after = scale * rewards[step] + gamma * after
        result[step] = after
    return result


def reward_scale(routes: Sequence[Route], gamma: float, target: float | None) -> float:
    """M = C / mu_V: rewards times this have a mean absolute value of `target` along the routes; 1 if it is None.

    Raises:
        InputError: no route has any reward.
    """
    values = np.concatenate([np.abs(route.returns(gamma, 1.0)) for route in routes])
    mean = float(values.mean())
    if mean == 0:
        raise InputError(
            "the demonstrations hold no reward at all, so that there is nothing to match: take some with a score"
            " (goexplore demos --which best, or explore longer)"
        )
    return 1.0 if target is None else target / mean


def _does_not_fit(demonstration: Demonstration, what: str) -> InputError:
    return InputError(
        f"the demonstration does not fit this environment: played here, {what}. It was recorded in"
        f" {demonstration.env.id} with {demonstration.facts or demonstration.env.kwargs}"
    )
