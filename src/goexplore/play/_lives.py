"""Keeping the score of an episode."""

from __future__ import annotations


class LifeScore:
    """A score, and what it was when the first life was lost.

    Args:
        lives: at the beginning.
        score: at the beginning.
    """

    def __init__(self, lives: int, score: float = 0.0) -> None:
        self.lives, self.score = lives, score
        self._when_lost: float | None = None

    def add(self, reward: float, lives: int) -> bool:
        """Counts a step; returns whether it cost a life."""
        self.score += reward
        lost = lives < self.lives
        self.lives = lives
        if lost and self._when_lost is None:
            self._when_lost = self.score
        return lost

    @property
    def first_life(self) -> float:
        """The score until the first life was lost, or until now."""
        return self.score if self._when_lost is None else self._when_lost

    def save(self) -> list[float | None]:
        """As plain values."""
        return [self.lives, self.score, self._when_lost]

    @classmethod
    def restored(cls, saved: list[float | None]) -> LifeScore:
        """From what `save` returned."""
        lives, score, when_lost = saved
        made = cls(int(lives or 0), score or 0.0)
        made._when_lost = when_lost
        return made
