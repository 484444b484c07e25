"""Actors of the backward algorithm: episodes that begin along demonstrations, or at reset.

reward, end, cut = actor.step(action)       # after an end or a cut the next episode has already begun
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from goexplore.play import LifeScore, Play, restore_game, save_game
from goexplore.robustification._balance import Balance
from goexplore.robustification._config import BackwardConfig
from goexplore.robustification._curriculum import VIRTUAL, Curriculum, Episode
from goexplore.robustification._landmarks import Tracker
from goexplore.robustification._route import RewardScale, Route

GOES_ON = 0.5
"""Probability of going on into the next leg instead of being cut."""


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
        scale: RewardScale,
        rng: np.random.Generator,
    ) -> None:
        self.play, self._routes, self._curriculum, self._balance = play, routes, curriculum, balance
        self._config, self._scale, self._rng = config, scale, rng
        per_step = play.frames_per_step
        self._lag = math.ceil(config.allowed_lag_frames / per_step)
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
        # To be stuck is no way out either of points that would still be lost.
        self._stuck_ends = config.stuck_ends and not may_fall
        self._guide = max(routes, key=lambda route: route.final)
        self._tracker = Tracker(play, config.make_landmark_cells())
        self._put: tuple[int, int]
        """Leg and step of its demonstration where the game was put; an episode may go on into later legs."""
        self.over: list[Episode] = []
        """Episodes that are over and not yet counted."""
        self.begin()

    def begin(self) -> None:
        """Begins an episode."""
        config, rng, play = self._config, self._rng, self.play
        self.steps, self._something_at = 0, 0
        self._start, score = 0, 0.0
        self._matched_before, self._passed = False, 0
        if config.virtual and self._balance.wants_virtual:
            self._leg = VIRTUAL
            self._put = (VIRTUAL, 0)
            self._balance.running += 1
            self._put_at_start()
            play.do_nothing(self._no_ops())
        else:
            self._leg = self._curriculum.draw_leg(rng)
            route = self._route
            self._start = self._curriculum.draw(self._leg, rng, later=config.later_start_probability)
            score = float(route.scores[self._start])
            self._put, self._passed = (self._leg, self._start), route.landmarks.by(self._start)
            self._put_at_start()
            longer = rng.random() < config.mid_no_ops
            if longer or self._start == 0:
                lives = play.lives
                reward, over = play.do_nothing(self._no_ops(config.mid_no_op_frames if longer else None))
                if reward or over or play.lives < lives:
                    self._put_at_start()  # doing nothing is deadly here, or does the demonstration's work
        self._score = LifeScore(play.lives, score)
        self._extra = math.floor(math.exp(config.extra_frames_coefficient * rng.random())) / play.frames_per_step
        self.first = True

    @property
    def _demonstration(self) -> int:
        """Which one the episode follows."""
        return self._curriculum.legs[self._leg].demonstration

    @property
    def _end_of_leg(self) -> int:
        """Steps of the demonstration after which the episode has done its work."""
        return self._curriculum.legs[self._leg].end

    @property
    def _route(self) -> Route:
        """What it follows; from reset, the landmarks of the best demonstration."""
        return self._guide if self._leg == VIRTUAL else self._routes[self._demonstration]

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
        self._balance.count(virtual=self._leg == VIRTUAL)
        lost_life = self._score.add(reward, self.play.lives)
        passed, self._passed = self._passed, self._landmarks_behind()
        # With landmarks, going on to lose points is not yet coming on.
        if self._passed > passed or lost_life or (reward > 0 if len(self._route.landmarks.steps) else reward):
            self._something_at = self.steps
        brings = reward > 0 or self._passed > passed
        end, cut = self._virtual_end(over, lost_life) if self._leg == VIRTUAL else self._end(over, brings=brings)
        self.first = False
        learnt = self._scale(reward) + (self._scale.of_landmark if self._passed > passed else 0.0)
        # A life lost while the game goes on is an end for learning, but not of the episode.
        goes_on = self._leg == VIRTUAL and lost_life and not over and not self._has_all()
        if (end or cut) and not goes_on:
            self._finish(over=over)
        return learnt, end, cut

    def _landmarks_behind(self) -> int:
        """How many landmarks the episode has come to.

        Whoever has left out points on the way has not: a way round them would be the shorter one to all that follows.
        Where points are lost all the way, they say nothing about it.
        """
        route = self._route
        passed = route.landmarks.behind(self._passed, self._tracker.key())
        if passed == self._passed or route.ends_below_best:
            return passed
        wanted = route.reaches(int(route.landmarks.steps[passed - 1]))
        return passed if self._credited() >= wanted else self._passed

    def _end(self, over: bool, *, brings: bool) -> tuple[bool, bool]:
        route, at = self._route, self._start + self.steps
        if over or (self._config.life_loss_fails and self.play.lives < route.least_lives(at, self._lag)):
            return True, False
        if self._matches(over=False):
            if self._config.match_ends and self._end_of_leg == len(route):
                return True, False
            if self._may_go_on():
                self._go_on()
                return False, False
            # What the cut step brings is lost to learning, so that it is never one that brings something.
            self._extra -= self._matched_before
            cut = self._matched_before and self._extra <= 0 and not brings
            self._matched_before = True
            return False, cut
        # Where only the end of the game counts, whoever does not come to it has not got there.
        too_late = route.ends_below_best and at >= len(route) + self._lag
        lost = self._passed < route.landmarks.by(at - self._lag)
        failed = too_late or lost or self._credited() < route.threshold(at, self._lag)
        cut = self._config.cut_where_points_fall and route.ends_below_best
        return failed and not cut, failed and cut

    def _matches(self, *, over: bool) -> bool:
        """Whether the demonstration is matched so far as its leg goes: in score, and in the landmarks it comes to.

        One that ends below its best has to be sat through: to the end of the game if it gets there itself, sooner or
        later than it does, and else for as long as it lasts.
        """
        route, end = self._route, self._end_of_leg
        if self._passed < route.landmarks.by(end) or self._credited() < route.reaches(end):
            return False
        if not route.ends_below_best or end < len(route):
            return True
        return over if route.ends_episode else self._start + self.steps >= len(route)

    def _credited(self) -> float:
        """The score, with what may be missing of it."""
        return self._score.score + self._route.tolerated(self._config.score_tolerance)

    def _may_go_on(self) -> bool:
        """Whether an episode that has just done its leg enters the next: half of them, once that is begun in there."""
        following = self._leg + 1
        if self._matched_before or following >= len(self._curriculum.legs):
            return False
        of_the_same = self._curriculum.legs[following].demonstration == self._demonstration
        return of_the_same and self._curriculum.at_start(following) and bool(self._rng.random() < GOES_ON)

    def _go_on(self) -> None:
        """Counts the leg that is done; the next one begins where the game now is."""
        self._count(matched=True)
        self._leg += 1
        self._start, self.steps, self._something_at = self._curriculum.legs[self._leg].begin, 0, 0

    def _virtual_end(self, over: bool, lost_life: bool) -> tuple[bool, bool]:
        if over or self._has_all():
            return True, False
        too_long = self._virtual_cut is not None and self.steps - self._something_at >= self._virtual_cut
        if too_long and not lost_life:
            return self._stuck_ends, not self._stuck_ends
        return lost_life and self._death_ends, False

    def _has_all(self) -> bool:
        """Whether an episode from reset has got what the best demonstration gets, and that is its end."""
        return self._config.match_ends and self._score.score >= self._best * (1.0 - self._config.score_tolerance)

    def save(self) -> tuple[dict[str, Any], bytes]:
        """The episode under way and the generator, as plain values; and the game."""
        taken, game = save_game(self.play)
        values = {
            "leg": self._leg,
            "start": self._start,
            "put": self._put,
            "steps": self.steps,
            "score": self._score.save(),
            "something_at": self._something_at,
            "extra": self._extra,
            "matched_before": self._matched_before,
            "passed": self._passed,
            "tracked": self._tracker.save().hex(),
            "first": self.first,
            "rng": self._rng.bit_generator.state,
            "taken": taken,
        }
        return values, game

    def restore(self, values: dict[str, Any], game: bytes) -> None:
        """Takes over what `save` returned."""
        self._leg, self._start, self.steps = values["leg"], values["start"], values["steps"]
        self._put = tuple(values["put"])
        self._score, self._something_at = LifeScore.restored(values["score"]), values["something_at"]
        self._extra, self.first = values["extra"], values["first"]
        self._matched_before, self._passed = values["matched_before"], values["passed"]
        self.over.clear()
        restore_game(self.play, self._put_at_start, values["taken"], game)
        self._tracker.load(bytes.fromhex(values["tracked"]))
        self._rng.bit_generator.state = values["rng"]

    def _put_at_start(self) -> None:
        leg, step = self._put
        if leg == VIRTUAL:
            self.play.reset()
            self._tracker.reset()
            self._tracker.key()
        else:
            self._tracker.load(self._routes[self._curriculum.legs[leg].demonstration].put(self.play, step))

    def _finish(self, *, over: bool) -> None:
        self._count(matched=self._leg != VIRTUAL and self._matches(over=over))
        if self._leg == VIRTUAL:
            self._balance.running -= 1
        self.begin()

    def _count(self, *, matched: bool) -> None:
        score, first_life = self._score.score, self._score.first_life
        self.over.append(Episode(self._leg, self._start, matched, self.steps, score, first_life))
