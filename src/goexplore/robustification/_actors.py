"""Actors of the backward algorithm: episodes that begin along demonstrations, and replays to imitate.

reward, end, cut = actor.step(action)       # after an end or a cut the next episode has already begun
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.play import LifeScore, Play, restore_game, save_game
from goexplore.robustification._config import BackwardConfig
from goexplore.robustification._curriculum import VIRTUAL, Curriculum, Episode
from goexplore.robustification._route import Route

BALANCE_DECAY = 0.9999
"""What a step that was taken still counts one step later, of any actor."""


@dataclass(slots=True)
class Balance:
    """How much time goes to episodes from reset (the virtual demonstration), shared by the actors of a rank.

    The two kinds of episode differ in length by far. The paper draws the virtual demonstration with probability
    odds * l_d / l_v from the mean lengths, which gives the same share of steps in the long run; but until the first
    long episode is over its length is unknown, and every actor would be sent off. So steps are counted as they are
    taken, and no more actors are on their way from reset at a time than the share says.
    """

    odds: float
    """Steps from reset for each step along demonstrations."""
    actors: int
    running: int = 0
    """Actors in an episode from reset."""
    virtual_steps: float = 0.0
    other_steps: float = 0.0

    @property
    def wants_virtual(self) -> bool:
        """Whether the next episode should begin at reset."""
        most = math.ceil(self.actors * self.odds / (1.0 + self.odds))
        return self.running < most and self.virtual_steps <= self.odds * self.other_steps

    def count(self, *, virtual: bool) -> None:
        """Counts a step."""
        self.virtual_steps = BALANCE_DECAY * self.virtual_steps + virtual
        self.other_steps = BALANCE_DECAY * self.other_steps + (not virtual)


class Actor:
    """Plays episodes from starting points of the curriculum, or from reset.

    Args:
        play: its own game.
        routes: the demonstrations.
        curriculum: where to begin; shared.
        balance: how often to begin at reset; shared.
        config: settings.
        scale: of rewards.
        rng: its own.
    """

    def __init__(
        self,
        play: Play,
        routes: Sequence[Route],
        curriculum: Curriculum,
        balance: Balance,
        config: BackwardConfig,
        *,
        scale: float,
        rng: np.random.Generator,
    ) -> None:
        self.play, self._routes, self._curriculum, self._balance = play, routes, curriculum, balance
        self._config, self._scale, self._rng = config, scale, rng
        per_step = play.frames_per_step
        self._lag = math.ceil(config.allowed_lag_frames / per_step)
        self._targets = [route.targets(config.horizon_steps(per_step)) for route in routes]
        self._hot = config.hot_frames / per_step
        self._virtual_cut = None
        if config.virtual_cut_frames is not None:
            without_reward = max(route.longest_wait for route in routes)
            self._virtual_cut = max(config.virtual_cut_frames // per_step, self._lag + without_reward)
        # Where demonstrations themselves lose lives, a lost one is no end.
        self._death_ends = config.life_loss_fails and not any(route.loses_lives for route in routes)
        # A score that may still fall is not an end.
        may_fall = any(route.ends_below_best for route in routes)
        self._best = math.inf if may_fall else max(route.highest for route in routes)
        self.over: list[Episode] = []
        """Episodes that are over and not yet counted."""
        self.begin()

    def begin(self) -> None:
        """Begins an episode."""
        config, rng, play = self._config, self._rng, self.play
        self.steps, self._something_at = 0, 0
        self._start, score = 0, 0.0
        self._matched_before = False
        if config.virtual and self._balance.wants_virtual:
            self._demonstration = VIRTUAL
            self._balance.running += 1
            play.reset(self._no_ops())
        else:
            self._demonstration = int(rng.integers(len(self._routes)))
            route = self._routes[self._demonstration]
            self._start = self._curriculum.draw(self._demonstration, rng, later=config.later_start_probability)
            score = float(route.scores[self._start])
            route.put(play, self._start)
            if self._start == 0 or rng.random() < config.mid_no_ops:
                lives = play.lives
                reward, over = play.do_nothing(self._no_ops(None if self._start == 0 else config.mid_no_op_frames))
                if reward or over or play.lives < lives:
                    route.put(play, self._start)  # doing nothing is deadly here, or does the demonstration's work
        self._score = LifeScore(play.lives, score)
        self._extra = math.floor(math.exp(config.extra_frames_coefficient * rng.random())) / play.frames_per_step
        self.first = True

    def _no_ops(self, most: int | None = None) -> int:
        most = self.play.max_no_ops if most is None else most
        return int(self._rng.integers(most + 1)) if self.play.max_no_ops else 0

    @property
    def temperature(self) -> float:
        """At which the next action is drawn."""
        return self._config.hot_temperature if self.steps < self._hot else 1.0

    def step(self, action: Any) -> tuple[float, bool, bool]:
        """Takes one agent step; returns the scaled reward, whether it was an end, and whether it was a cut."""
        reward, over = self.play.step(action)
        self.steps += 1
        self._balance.count(virtual=self._demonstration == VIRTUAL)
        lost_life = self._score.add(reward, self.play.lives)
        if reward or lost_life:
            self._something_at = self.steps
        end, cut = self._virtual_end(over, lost_life) if self._demonstration == VIRTUAL else self._end(over, reward)
        self.first = False
        # A life lost while the game goes on is an end for learning, but not of the episode.
        goes_on = self._demonstration == VIRTUAL and end and not over and not self._has_all()
        if (end or cut) and not goes_on:
            self._finish(over=over)
        return self._scale * reward, end, cut

    def _end(self, over: bool, reward: float) -> tuple[bool, bool]:
        route, at = self._routes[self._demonstration], self._start + self.steps
        if over or (self._config.life_loss_fails and self.play.lives < route.least_lives(at, self._lag)):
            return True, False
        if self._matches(over=False):
            if self._config.match_ends and self._target() == len(route):
                return True, False
            # The cut step's own reward is lost to learning, so that it is never one that brings any.
            self._extra -= self._matched_before
            cut = self._matched_before and self._extra <= 0 and not reward
            self._matched_before = True
            return False, cut
        # Where only the end of the game counts, whoever does not come to it has not got there.
        too_late = route.ends_below_best and at >= len(route) + self._lag
        failed = too_late or self._score.score + self._tolerated(route) < route.threshold(at, self._lag)
        cut = self._config.cut_where_points_fall and route.ends_below_best
        return failed and not cut, failed and cut

    def _matches(self, *, over: bool) -> bool:
        """Whether the demonstration is matched so far as it goes.

        One that ends below its best has to be sat through: to the end of the game if it gets there itself, sooner or
        later than it does, and else for as long as it lasts.
        """
        route = self._routes[self._demonstration]
        score = self._score.score + self._tolerated(route)
        if not route.ends_below_best:
            return bool(score >= route.best_by[self._target()])
        through = over if route.ends_episode else self._start + self.steps >= len(route)
        return through and score >= route.final

    def _target(self) -> int:
        """Steps of the demonstration after which the episode has done its work."""
        return int(self._targets[self._demonstration][self._start])

    def _tolerated(self, route: Route) -> float:
        """Points that may be missing."""
        return self._config.score_tolerance * abs(route.final)

    def _virtual_end(self, over: bool, lost_life: bool) -> tuple[bool, bool]:
        if over or self._has_all():
            return True, False
        too_long = self._virtual_cut is not None and self.steps - self._something_at >= self._virtual_cut
        return lost_life and self._death_ends, too_long and not lost_life

    def _has_all(self) -> bool:
        """Whether an episode from reset has got what the best demonstration gets, and that is its end."""
        return self._config.match_ends and self._score.score >= self._best * (1.0 - self._config.score_tolerance)

    def save(self) -> tuple[dict[str, Any], bytes]:
        """The episode under way and the generator, as plain values; and the game."""
        taken, game = save_game(self.play)
        values = {
            "demonstration": self._demonstration,
            "start": self._start,
            "steps": self.steps,
            "score": self._score.save(),
            "something_at": self._something_at,
            "extra": self._extra,
            "matched_before": self._matched_before,
            "first": self.first,
            "rng": self._rng.bit_generator.state,
            "taken": taken,
        }
        return values, game

    def restore(self, values: dict[str, Any], game: bytes) -> None:
        """Takes over what `save` returned."""
        self._demonstration, self._start, self.steps = values["demonstration"], values["start"], values["steps"]
        self._score, self._something_at = LifeScore.restored(values["score"]), values["something_at"]
        self._extra, self.first = values["extra"], values["first"]
        self._matched_before = values["matched_before"]
        self.over.clear()
        restore_game(self.play, self._put_at_start, values["taken"], game)
        self._rng.bit_generator.state = values["rng"]

    def _put_at_start(self) -> None:
        if self._demonstration == VIRTUAL:
            self.play.reset()
        else:
            self._routes[self._demonstration].put(self.play, self._start)

    def _finish(self, *, over: bool) -> None:
        matched = self._demonstration != VIRTUAL and self._matches(over=over)
        score, first_life = self._score.score, self._score.first_life
        self.over.append(Episode(self._demonstration, self._start, matched, self.steps, score, first_life))
        if self._demonstration == VIRTUAL:
            self._balance.running -= 1
        self.begin()


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
        self._demonstration = int(rng.integers(len(self._routes)))
        route = self._routes[self._demonstration]
        latest = self._curriculum.latest[self._demonstration]
        earliest = max(0, latest - self._curriculum.window + 1 - int(rng.integers(self._span + 1)))
        self._until = min(len(route), latest + self._span)
        # `share` is that of steps: long replays from reset are drawn more seldom.
        around, from_start = self._until - earliest, self._until
        chance = share * around / (from_start * (1.0 - share) + share * around) if share else 0.0
        self._step = 0 if rng.random() < chance else earliest
        if self._config.imitate_shuffled:
            whole = rng.random() < share
            self._step = int(rng.integers(0 if whole else earliest, self._until))
        self.observation = route.seen(self.play, self._step)
        self.first = True

    @property
    def action(self) -> Any:
        """What the demonstration does now."""
        return self._routes[self._demonstration].actions[self._step]

    @property
    def achieved(self) -> float:
        """What it still achieves from here."""
        return float(self._returns[self._demonstration][self._step])

    @property
    def weight(self) -> float:
        """How much there is to learn here."""
        if not self._config.imitate_failures:
            return 1.0
        return max(1e-6, 1.0 - float(self._curriculum.success[self._demonstration][self._step]))

    def save(self) -> dict[str, Any]:
        """The replay under way and the generator, as plain values."""
        return {
            "demonstration": self._demonstration,
            "step": self._step,
            "until": self._until,
            "first": self.first,
            "rng": self._rng.bit_generator.state,
        }

    def restore(self, values: dict[str, Any]) -> None:
        """Takes over what `save` returned."""
        self._demonstration, self._step, self._until = values["demonstration"], values["step"], values["until"]
        self.first = values["first"]
        self._rng.bit_generator.state = values["rng"]
        self.observation = self._routes[self._demonstration].seen(self.play, self._step)

    def step(self) -> bool:
        """Goes on by a step; returns whether that was the last of a replay, and another has begun."""
        self._step += 1
        self.first = False
        if self._config.imitate_shuffled or self._step >= self._until:
            self.begin()
            return True
        self.observation = self._routes[self._demonstration].seen(self.play, self._step)
        return False
