"""Replays of demonstrations, for self-imitation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.play import Play
from goexplore.robustification._config import BackwardConfig
from goexplore.robustification._curriculum import Curriculum
from goexplore.robustification._route import Route


class Imitator:
    """Replays a stretch of a demonstration around its window, or from reset up to there; or draws steps from there.

    No simulator is stepped: every state of a demonstration is known.

    Args:
        play: its own game.
        routes: the demonstrations.
        returns: what lies ahead of each of their steps, scaled and discounted.
        curriculum: where the windows are; shared.
        config: settings.
        rng: its own.
    """

    def __init__(
        self,
        play: Play,
        routes: Sequence[Route],
        returns: Sequence[Any],
        curriculum: Curriculum,
        config: BackwardConfig,
        rng: np.random.Generator,
    ) -> None:
        self.play, self._routes, self._returns, self._curriculum = play, routes, returns, curriculum
        self._config, self._rng = config, rng
        self._span = max(1, config.imitation_frames // play.frames_per_step)
        self.observation: NDArray[Any] = play.observation
        """What the demonstration saw here."""
        self.begin()

    def begin(self) -> None:
        """Begins a replay, or draws a step."""
        rng, share = self._rng, self._config.imitation_from_start
        self._leg = self._curriculum.draw_leg(rng)
        leg, latest = self._curriculum.legs[self._leg], self._curriculum.latest[self._leg]
        earliest = max(leg.begin, latest - self._curriculum.window + 1 - int(rng.integers(self._span + 1)))
        self._until = min(leg.end, latest + self._span)
        # `share` is that of steps: long replays from reset are drawn more seldom.
        around, from_start = self._until - earliest, self._until - leg.begin
        chance = share * around / (from_start * (1.0 - share) + share * around) if share else 0.0
        self._step = leg.begin if rng.random() < chance else earliest
        if self._config.imitate_shuffled:
            whole = rng.random() < share
            self._step = int(rng.integers(leg.begin if whole else earliest, self._until))
        self.observation = self._route.seen(self.play, self._step)
        self.first = True

    @property
    def _demonstration(self) -> int:
        """Which one is replayed."""
        return self._curriculum.legs[self._leg].demonstration

    @property
    def _route(self) -> Route:
        return self._routes[self._demonstration]

    @property
    def action(self) -> Any:
        """What the demonstration does now."""
        return self._route.actions[self._step]

    @property
    def achieved(self) -> float:
        """What it still achieves from here."""
        return float(self._returns[self._demonstration][self._step])

    @property
    def weight(self) -> float:
        """How much there is to learn here."""
        if not self._config.imitate_failures:
            return 1.0
        return max(1e-6, 1.0 - float(self._curriculum.success[self._leg][self._step]))

    def save(self) -> dict[str, Any]:
        """The replay under way and the generator, as plain values."""
        return {
            "leg": self._leg,
            "step": self._step,
            "until": self._until,
            "first": self.first,
            "rng": self._rng.bit_generator.state,
        }

    def restore(self, values: dict[str, Any]) -> None:
        """Takes over what `save` returned."""
        self._leg, self._step, self._until = values["leg"], values["step"], values["until"]
        self.first = values["first"]
        self._rng.bit_generator.state = values["rng"]
        self.observation = self._route.seen(self.play, self._step)

    def step(self) -> bool:
        """Goes on by a step; returns whether that was the last of a replay, and another has begun."""
        self._step += 1
        self.first = False
        if self._config.imitate_shuffled or self._step >= self._until:
            self.begin()
            return True
        self.observation = self._route.seen(self.play, self._step)
        return False
