"""Where episodes begin: a window of starting points for each demonstration, or leg of one, which moves to its start.

Positions are agent steps of a demonstration. Success is counted for each starting point; with success s(k) at point k
and a window of W points, the latest starting point becomes the first j at which (s(0) + ... + s(j)) / W reaches the
threshold. Where all of a window succeeds this moves it back by most of its length; at the threshold it stays; below,
it retreats smoothly towards points that still succeed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

VIRTUAL = -1
"""In place of a demonstration: an episode that follows none."""


@dataclass(frozen=True, slots=True)
class Leg:
    """A part of a demonstration that has a window of its own. In the paper, all of it."""

    demonstration: int
    begin: int
    """The earliest starting point."""
    end: int
    """One more than the latest."""


def whole(*lengths: int) -> list[Leg]:
    """One leg for each demonstration of so many steps."""
    return [Leg(index, 0, length) for index, length in enumerate(lengths)]


class Episode(NamedTuple):
    """What the curriculum learns from an episode that is over, whatever ended it."""

    leg: int
    """Its index, or `VIRTUAL`."""
    start: int
    """Agent step at which it began."""
    matched: bool
    """Whether its score was at least the demonstration's final one."""
    steps: int
    score: float
    """Unscaled, the demonstration's part before the start included."""
    first_life_score: float
    """Score when the first life was lost, or at the end."""


class Curriculum:
    """The windows of all legs. Positions are steps of their demonstrations.

    Args:
        legs: parts of demonstrations.
        window: starting points in a window.
        threshold: success at which a window stays.
        decay: what remains of earlier counts at each move.
        most_move: longest move of a window, in steps.
        least_practice: how often a leg that always succeeds is begun in, for each time that one which never does is.
    """

    def __init__(
        self,
        legs: Sequence[Leg],
        *,
        window: int,
        threshold: float,
        decay: float = 0.0,
        most_move: int | None = None,
        least_practice: float = 1.0,
    ) -> None:
        self.legs, self.window = legs, window
        self._least_practice = least_practice
        self._threshold, self._decay, self._most_move = threshold, decay, most_move
        self.latest = [leg.end - 1 for leg in legs]
        """Latest starting point of each leg."""
        self.success = [np.zeros(leg.end) for leg in legs]
        """Share of episodes that matched, for each starting point; 0 where none has begun yet."""
        self._since = [0] * len(legs)
        """Episodes of each leg counted since its last move."""
        self._moved_at = [0] * len(legs)
        """When each was moved last, in steps of an actor."""
        self._wins = [np.zeros(leg.end) for leg in legs]
        self._episodes = [np.zeros(leg.end) for leg in legs]

    def begin_at_starts(self) -> None:
        """Puts all windows at the starts, for a policy that may know the way; they retreat where it does not."""
        self.latest = [leg.begin for leg in self.legs]

    def _earliest(self, index: int) -> int:
        """First starting point of a window."""
        return max(self.legs[index].begin, self.latest[index] - self.window + 1)

    def draw_leg(self, rng: np.random.Generator) -> int:
        """A leg to begin in, rather one whose window does not succeed yet."""
        if self._least_practice == 1.0:
            return int(rng.integers(len(self.legs)))
        windows = [slice(self._earliest(index), latest + 1) for index, latest in enumerate(self.latest)]
        success = [float(each[part].mean()) for each, part in zip(self.success, windows, strict=True)]
        need = np.maximum(self._least_practice, 1.0 - np.array(success))
        return int(rng.choice(len(need), p=need / need.sum()))

    def draw(self, leg: int, rng: np.random.Generator, *, later: float = 0.0) -> int:
        """A starting point of a leg: in its window, or with a probability of `later` anywhere after it."""
        earliest = self._earliest(leg)
        if later and rng.random() < later:
            return int(rng.integers(earliest, self.legs[leg].end))
        return int(rng.integers(earliest, self.latest[leg] + 1))

    def count(self, episodes: Iterable[Episode]) -> None:
        """Counts episodes that are over."""
        for episode in episodes:
            if episode.leg != VIRTUAL:
                self._wins[episode.leg][episode.start] += episode.matched
                self._episodes[episode.leg][episode.start] += 1
                self._since[episode.leg] += 1

    def move(self, *, episodes: int | None = None, now: int = 0) -> bool:
        """Moves windows to where they belong by what was counted; returns whether there was any to move.

        Args:
            episodes: move only those of which so many were counted since their last move, and for whom an episode that
                succeeds has had the time to: failures are over sooner, and alone they would say that nothing succeeds.
            now: steps of an actor so far.
        """
        ready = [
            index
            for index, latest in enumerate(self.latest)
            if episodes is None
            or (self._since[index] >= episodes and now - self._moved_at[index] >= self.legs[index].end - latest)
        ]
        for index in ready:
            self._since[index], self._moved_at[index] = 0, now
            counted = self._episodes[index] >= 0.5  # what has decayed to less says nothing any more
            self.success[index][counted] = self._wins[index][counted] / self._episodes[index][counted]
            self.latest[index] = self._moved(index)
            self._wins[index] *= self._decay
            self._episodes[index] *= self._decay
        return bool(ready)

    def _moved(self, index: int) -> int:
        latest, leg = self.latest[index], self.legs[index]
        # Near the start a window has fewer points; measured by all of them it could never reach it.
        points = min(self.window, latest - leg.begin + 1)
        reached = np.flatnonzero(np.cumsum(self.success[index]) / points >= self._threshold)
        target = int(reached[0]) if len(reached) else latest + self.window
        if self._most_move is not None:
            target = min(max(target, latest - self._most_move), latest + self._most_move)
        return min(max(target, leg.begin), leg.end - 1)

    def at_start(self, index: int) -> bool:
        """Whether a leg's window has come to its start, as far as it goes."""
        return self.latest[index] - self.legs[index].begin < max(1, round(self._threshold * self.window))

    @property
    def way_to_start(self) -> float:
        """Share of the way from the ends to the starts, over all legs."""
        way = sum(max(1, leg.end - 1 - leg.begin) for leg in self.legs)
        left = sum(latest - leg.begin for latest, leg in zip(self.latest, self.legs, strict=True))
        return 1.0 - left / way

    def window_success(self, index: int) -> float:
        """Mean success over a window, as counted since the last move and before."""
        part = slice(self._earliest(index), self.latest[index] + 1)
        episodes = float(self._episodes[index][part].sum())
        return float(self._wins[index][part].sum()) / episodes if episodes else float(self.success[index][part].mean())

    def save(self) -> dict[str, NDArray[Any]]:
        """Everything, as arrays."""
        saved: dict[str, NDArray[Any]] = {
            "curriculum.latest": np.array(self.latest),
            "curriculum.since": np.array([self._since, self._moved_at]),
        }
        for index in range(len(self.legs)):
            saved |= {
                f"curriculum.{index}.success": self.success[index],
                f"curriculum.{index}.wins": self._wins[index],
                f"curriculum.{index}.episodes": self._episodes[index],
            }
        return saved

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Takes over what `save` returned."""
        self.latest = [int(each) for each in saved["curriculum.latest"]]
        self._since, self._moved_at = saved["curriculum.since"].tolist()
        for index in range(len(self.legs)):
            self.success[index] = np.array(saved[f"curriculum.{index}.success"])
            self._wins[index] = np.array(saved[f"curriculum.{index}.wins"])
            self._episodes[index] = np.array(saved[f"curriculum.{index}.episodes"])
