"""The actors of one process, as the learner sees them."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import join_bytes, split_bytes
from goexplore.demos import Demonstration
from goexplore.learn import Imitation, Transitions, WorkerEnvironments
from goexplore.play import Play, make_play
from goexplore.robustification._actor import Actor
from goexplore.robustification._balance import Balance
from goexplore.robustification._config import BackwardConfig, RobustifyConfig
from goexplore.robustification._curriculum import Curriculum, Episode, Leg
from goexplore.robustification._imitator import Imitator
from goexplore.robustification._route import RewardScale, Route, reward_scale


class BackwardEnvironments:
    """Actors first, then imitators; all in this process.

    Args:
        make: makes a game with a generator of its own.
        routes: the demonstrations.
        curriculum: where episodes begin.
        balance: how many begin at reset.
        config: settings of the backward algorithm.
        actors: how many play.
        imitators: how many replay.
        scale: of rewards.
        gamma: discount factor.
        seeds: where all randomness comes from.
    """

    def __init__(
        self,
        make: Callable[[np.random.Generator], Play],
        routes: Sequence[Route],
        curriculum: Curriculum,
        balance: Balance,
        config: BackwardConfig,
        *,
        actors: int,
        imitators: int,
        scale: RewardScale,
        gamma: float,
        seeds: np.random.SeedSequence,
    ) -> None:
        rngs = [np.random.default_rng(each) for each in seeds.spawn(actors + imitators)]
        self.actors = [
            Actor(make(rng), routes, curriculum, balance, config, scale=scale, rng=rng) for rng in rngs[:actors]
        ]
        returns = [route.returns(gamma, scale) for route in routes]
        self.imitators = [Imitator(make(rng), routes, returns, curriculum, config, rng=rng) for rng in rngs[actors:]]
        count = actors + imitators
        self.spaces = (self.actors[0].play).spaces
        self.groups: Sequence[slice] = [slice(0, count)]
        self.observations: NDArray[Any] = np.zeros(
            (count, *self.spaces.observation_shape), self.spaces.observation_dtype
        )
        self.first, self.temperature = np.ones(count, np.bool_), np.ones(count, np.float32)
        self._own, self._balance, self._curriculum = np.arange(count) < actors, balance, curriculum
        self._actions: NDArray[Any] = np.zeros(0)
        self._look()

    def follow(self, windows: dict[str, NDArray[Any]], odds: float) -> None:
        """Goes by new windows and another share of episodes from reset.

        Args:
            windows: what the curriculum that counts has saved.
            odds: steps from reset for each step along demonstrations.
        """
        self._curriculum.restore(windows)
        self._balance.odds = odds

    def begin(self, group: int, actions: NDArray[Any]) -> None:
        """Takes note of the actions: everything happens in `finish`."""
        self._actions = actions

    def finish(self, group: int) -> Transitions:
        """Steps every actor and imitator."""
        count = len(self._own)
        rewards, ends, cuts = np.zeros(count, np.float32), np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        for index, actor in enumerate(self.actors):
            rewards[index], ends[index], cuts[index] = actor.step(self._actions[index])
        imitation = self._imitation() if self.imitators else None
        for index, imitator in enumerate(self.imitators, len(self.actors)):
            cuts[index] = imitator.step()
        self._look()
        return Transitions(rewards, ends, cuts, self._own, imitation)

    def _imitation(self) -> Imitation:
        count = len(self._own)
        actions = np.zeros((count, *self.spaces.action_shape), self.spaces.action_dtype)
        returns, weights = np.zeros(count, np.float32), np.zeros(count, np.float32)
        for index, imitator in enumerate(self.imitators, len(self.actors)):
            actions[index], returns[index], weights[index] = imitator.action, imitator.achieved, imitator.weight
        return Imitation(actions, returns, weights)

    def _look(self) -> None:
        for index, actor in enumerate(self.actors):
            self.observations[index] = actor.play.observation
            self.first[index], self.temperature[index] = actor.first, actor.temperature
        for index, imitator in enumerate(self.imitators, len(self.actors)):
            self.observations[index] = imitator.observation
            self.first[index] = imitator.first

    def save(self) -> dict[str, NDArray[Any]]:
        """Every episode and replay under way, as arrays."""
        actors = [actor.save() for actor in self.actors]
        values = {
            "actors": [plain for plain, _ in actors],
            "imitators": [imitator.save() for imitator in self.imitators],
            "balance": dataclasses.asdict(self._balance),
        }
        text = np.frombuffer(json.dumps(values).encode(), np.uint8)
        return {"environments.values": text, **join_bytes("environments.games", [game for _, game in actors])}

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Takes over what `save` returned."""
        values = json.loads(saved["environments.values"].tobytes())
        games = split_bytes("environments.games", saved)
        for actor, plain, game in zip(self.actors, values["actors"], games, strict=True):
            actor.restore(plain, game)
        for imitator, plain in zip(self.imitators, values["imitators"], strict=True):
            imitator.restore(plain)
        for name, value in values["balance"].items():
            setattr(self._balance, name, value)
        self._look()

    def episodes(self) -> list[Episode]:
        """Episodes that were over since the last call."""
        found = [episode for actor in self.actors for episode in actor.over]
        for actor in self.actors:
            actor.over.clear()
        return found


@dataclass(frozen=True, slots=True)
class Crew:
    """What the actors of one process are made from. Crosses processes."""

    demonstrations: Sequence[Demonstration]
    config: RobustifyConfig
    actors: int
    imitators: int
    seeds: np.random.SeedSequence

    def make(self, routes: Sequence[Route] | None = None) -> BackwardEnvironments:
        """Begins; plays the demonstrations through first, unless their routes are known."""
        config, spec = self.config, self.demonstrations[0].env
        scratch = make_play(spec, config.view, np.random.default_rng(0))
        routes = routes or make_routes(self.demonstrations, scratch, config.backward)
        backward = config.backward
        if config.network.memory:  # which single steps would leave empty
            backward = dataclasses.replace(backward, imitate_shuffled=False)
        return BackwardEnvironments(
            lambda rng: make_play(spec, config.view, rng),
            routes,
            make_curriculum(routes, config.backward, scratch.frames_per_step),
            Balance(first_odds(len(routes), backward), self.actors),
            backward,
            actors=self.actors,
            imitators=self.imitators,
            scale=make_scale(routes, backward, config.ppo.gamma),
            gamma=config.ppo.gamma,
            seeds=self.seeds,
        )


class BackwardWorkers(WorkerEnvironments):
    """The same in processes beside the rank's."""

    def follow(self, windows: dict[str, NDArray[Any]], odds: float) -> None:
        """Goes by new windows and another share of episodes from reset."""
        self.call("follow", windows, odds)


def make_routes(demonstrations: Sequence[Demonstration], play: Play, config: BackwardConfig) -> list[Route]:
    """Plays the demonstrations through."""
    return [Route(each, play, cells=config.make_landmark_cells()) for each in demonstrations]


def make_scale(routes: Sequence[Route], config: BackwardConfig, gamma: float) -> RewardScale:
    """What rewards count for in learning."""
    return reward_scale(routes, gamma, config.reward_target, config.reward_power, config.landmark_reward)


def make_curriculum(routes: Sequence[Route], config: BackwardConfig, frames_per_step: int) -> Curriculum:
    """Windows at the ends of all legs; settings in frames become steps."""
    most = config.most_move_frames
    shortest = None if config.leg_frames is None else math.ceil(config.leg_frames / frames_per_step)
    return Curriculum(
        [
            Leg(index, *leg)
            for index, route in enumerate(routes)
            for leg in route.legs(shortest, config.score_tolerance)
        ],
        window=max(1, config.window_frames // frames_per_step),
        threshold=config.move_threshold,
        decay=config.success_decay,
        most_move=None if most is None else max(1, most // frames_per_step),
        least_practice=config.least_practice,
    )


def first_odds(demonstrations: int, config: BackwardConfig) -> float:
    """Steps from reset for each step along demonstrations, at first."""
    return 1.0 / (demonstrations + 1) if config.virtual_odds is None else config.virtual_odds
