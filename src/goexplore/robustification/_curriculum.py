"""Where episodes begin: a window of starting points for each demonstration, which moves towards its start.

Positions are agent steps of a demonstration. Success is counted for each starting point; with success s(k) at point k
and a window of W points, the latest starting point becomes the first j at which (s(0) + ... + s(j)) / W reaches the
threshold. Where all of a window succeeds this moves it back by most of its length; at the threshold it stays; below,
it retreats smoothly towards points that still succeed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

VIRTUAL = -1
"""In place of a demonstration: an episode that follows none."""


class Episode(NamedTuple):
    """What the curriculum learns from an episode that is over, whatever ended it."""

    demonstration: int
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
    """The windows of all demonstrations.

    Args:
        lengths: agent steps of each demonstration.
        window: starting points in a window.
        threshold: success at which a window stays.
        decay: what remains of earlier counts at each move.
        most_move: longest move of a window, in steps.
        targets: for each demonstration, the steps of it after which an episode from each start has done its work;
            None: all of them.
    """

    def __init__(
        self,
        lengths: list[int],
        *,
        window: int,
        threshold: float,
        decay: float = 0.0,
        most_move: int | None = None,
        targets: Sequence[NDArray[np.int64]] | None = None,
    ) -> None:
        self.lengths, self.window = lengths, window
        self._threshold, self._decay, self._most_move = threshold, decay, most_move
        self._targets = targets or [np.full(length, length) for length in lengths]
        self.latest = [length - 1 for length in lengths]
        """Latest starting point of each demonstration."""
        self.success = [np.zeros(length) for length in lengths]
        """Share of episodes that matched, for each starting point; 0 where none has begun yet."""
        self._since = [0] * len(lengths)
        """Episodes of each demonstration counted since its last move."""
        self._moved_at = [0] * len(lengths)
        """When each was moved last, in steps of an actor."""
        self._wins = [np.zeros(length) for length in lengths]
        self._episodes = [np.zeros(length) for length in lengths]

    def draw(self, demonstration: int, rng: np.random.Generator, *, later: float = 0.0) -> int:
        """A starting point of a demonstration: in its window, or with a probability of `later` anywhere after it."""
        latest = self.latest[demonstration]
        earliest = max(0, latest - self.window + 1)
        if later and rng.random() < later:
            return int(rng.integers(earliest, self.lengths[demonstration]))
        return int(rng.integers(earliest, latest + 1))

    def count(self, episodes: Iterable[Episode]) -> None:
        """Counts episodes that are over."""
        for episode in episodes:
            if episode.demonstration != VIRTUAL:
                self._wins[episode.demonstration][episode.start] += episode.matched
                self._episodes[episode.demonstration][episode.start] += 1
                self._since[episode.demonstration] += 1

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
            or (self._since[index] >= episodes and now - self._moved_at[index] >= self._targets[index][latest] - latest)
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
        latest, last = self.latest[index], self.lengths[index] - 1
        # Near the start a window has fewer points; measured by all of them it could never reach it.
        points = min(self.window, latest + 1)
        reached = np.flatnonzero(np.cumsum(self.success[index]) / points >= self._threshold)
        target = int(reached[0]) if len(reached) else latest + self.window
        if self._most_move is not None:
            target = min(max(target, latest - self._most_move), latest + self._most_move)
        return min(max(target, 0), last)

    def at_start(self, index: int) -> bool:
        """Whether a demonstration's window has come to its start, as far as it goes."""
        return self.latest[index] < max(1, round(self._threshold * self.window))

    @property
    def way_to_start(self) -> float:
        """Share of the way from the ends to the starts, over all demonstrations."""
        whole = sum(max(1, length - 1) for length in self.lengths)
        return 1.0 - sum(self.latest) / whole

    def window_success(self, index: int) -> float:
        """Mean success over a window, as counted since the last move and before."""
        latest = self.latest[index]
        part = slice(max(0, latest - self.window + 1), latest + 1)
        episodes = float(self._episodes[index][part].sum())
        return float(self._wins[index][part].sum()) / episodes if episodes else float(self.success[index][part].mean())

    def save(self) -> dict[str, NDArray[Any]]:
        """Everything, as arrays."""
        saved: dict[str, NDArray[Any]] = {
            "curriculum.latest": np.array(self.latest),
            "curriculum.since": np.array([self._since, self._moved_at]),
        }
        for index in range(len(self.lengths)):
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
        for index in range(len(self.lengths)):
            self.success[index] = np.array(saved[f"curriculum.{index}.success"])
            self._wins[index] = np.array(saved[f"curriculum.{index}.wins"])
            self._episodes[index] = np.array(saved[f"curriculum.{index}.episodes"])
