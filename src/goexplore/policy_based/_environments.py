"""The actors of one rank, as the learner sees them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import join_bytes, split_bytes
from goexplore.cells import GoalCells
from goexplore.learn import Imitation, Transitions
from goexplore.play import Play
from goexplore.policy_based._atlas import ArchiveAtlas
from goexplore.policy_based._config import PolicyConfig
from goexplore.policy_based._goals import Goals
from goexplore.policy_based._imitation import Lesson, Sights, draw_lesson
from goexplore.policy_based._player import GoalPlayer
from goexplore.policy_based._stretch import Stretch


class Imitator:
    """Replays one trajectory of the archive after the other."""

    def __init__(self) -> None:
        self.lesson: Lesson | None = None
        self.step = 0

    def advance(self) -> bool:
        """Goes to the next step; returns whether the lesson is over."""
        if self.lesson is None:
            return False
        self.step += 1
        return self.step == len(self.lesson.goals)


class GoalEnvironments:
    """Actors first, then imitators; all in this process.

    Args:
        plays: a game for each actor.
        cells: makes cells, for each actor its own.
        atlas: the archive.
        config: settings.
        imitators: how many replay.
        seeds: where the actors' randomness comes from, the games' noise aside.
        rank: of this process, and how many there are, so that names of episodes are unique.
    """

    def __init__(
        self,
        plays: Sequence[Play],
        cells: Callable[[], GoalCells],
        atlas: ArchiveAtlas,
        config: PolicyConfig,
        *,
        imitators: int,
        seeds: np.random.SeedSequence,
        rank: tuple[int, int] = (0, 1),
    ) -> None:
        *rngs, self._rng = [np.random.default_rng(each) for each in seeds.spawn(len(plays) + 1)]
        self._atlas, self._config = atlas, config
        self._episodes, self._rank = 0, rank
        self.players = [
            GoalPlayer(number, play, cells(), atlas, config, rng=rng, name_episode=self._name_episode)
            for number, (play, rng) in enumerate(zip(plays, rngs, strict=True))
        ]
        self._seen_spaces = plays[0].spaces
        self.goals = Goals(cells(), self._seen_spaces, with_place=config.tell_place)
        self.spaces = self.goals.spaces
        self.sights = Sights(config.sight_bytes)
        self._imitators = [Imitator() for _ in range(imitators)]
        count = len(plays) + imitators
        self.groups: Sequence[slice] = [slice(0, count)]
        self.observations: NDArray[Any] = np.zeros(
            (count, *self.spaces.observation_shape), self.spaces.observation_dtype
        )
        self.first, self.temperature = np.ones(count, np.bool_), np.ones(count, np.float32)
        self._actions: NDArray[Any] = np.zeros(0)
        self._look()

    def _name_episode(self) -> int:
        rank, ranks = self._rank
        self._episodes += 1
        return (self._episodes - 1) * ranks + rank

    def begin(self, group: int, actions: NDArray[Any]) -> None:
        """Takes note of the actions: everything happens in `finish`."""
        self._actions = actions

    def finish(self, group: int) -> Transitions:
        """Steps every actor and imitator."""
        count, actors = len(self.first), len(self.players)
        rewards = np.zeros(count, np.float32)
        ends, cuts, own = (np.zeros(count, np.bool_) for _ in range(3))
        for index, player in enumerate(self.players):
            rewards[index], ends[index], cuts[index], own[index] = player.step(self._actions[index])
        imitation = self._imitation() if self._imitators else None
        for index, imitator in enumerate(self._imitators, actors):
            self.first[index] = cuts[index] = imitator.advance()
            if cuts[index]:
                self._next_lesson(imitator)
        self._look()
        return Transitions(rewards, ends, cuts, own, imitation)

    def _imitation(self) -> Imitation:
        count = len(self.first)
        actions = np.zeros((count, *self.spaces.action_shape), self.spaces.action_dtype)
        returns, weights = np.zeros(count, np.float32), np.zeros(count, np.float32)
        for index, imitator in enumerate(self._imitators, len(self.players)):
            if imitator.lesson is not None:
                actions[index] = imitator.lesson.actions[imitator.step]
                returns[index], weights[index] = imitator.lesson.returns[imitator.step], 1.0
        return Imitation(actions, returns, weights)

    def _look(self) -> None:
        for index, player in enumerate(self.players):
            row = self.observations[index]
            self.goals.show(row, player.play.observation, place=player.cell, goal=player.directive.goal)
            self.first[index], self.temperature[index] = player.first, player.directive.temperature
        for index, imitator in enumerate(self._imitators, len(self.players)):
            if (lesson := imitator.lesson) is not None:
                row, step = self.observations[index], imitator.step
                self.goals.show(row, lesson.seen[step], place=lesson.places[step], goal=lesson.goals[step])

    def take(self) -> list[Stretch]:
        """What all actors went through since the last call; what they saw stays here."""
        taken: list[Stretch] = []
        for player in self.players:
            stretches, sights = player.take()
            at = 0
            for stretch in stretches:
                part = sights[at : at + len(stretch.keys)]
                self.sights.add(stretch.episode, np.array(part), start=stretch.start if stretch.begins else None)
                at += len(part)
            taken += stretches
        return taken

    def follow(self) -> None:
        """The archive was updated: forgets what no trajectory needs, and draws lessons where there were none."""
        under_way = {player.stretches[-1].episode for player in self.players}
        self.sights.keep_only(under_way | set(self._atlas.episodes().tolist()))
        for player in self.players:
            player.actor.forget()
        for index, imitator in enumerate(self._imitators, len(self.players)):
            if imitator.lesson is None:
                self._next_lesson(imitator)
                self.first[index] = True
        self._look()

    def _next_lesson(self, imitator: Imitator) -> None:
        imitator.lesson = draw_lesson(
            self._atlas,
            self.sights,
            self._config.rules,
            gamma=self._config.ppo.gamma,
            shape=self._seen_spaces.observation_shape,
            dtype=self._seen_spaces.observation_dtype,
            rng=self._rng,
        )
        imitator.step = 0

    def scores(self) -> list[tuple[float, bool]]:
        """Score, and whether the chosen cell was reached, of each episode that was over since the last call."""
        found = [each for player in self.players for each in player.scores]
        for player in self.players:
            player.scores.clear()
        return found

    def save(self) -> dict[str, NDArray[Any]]:
        """Everything under way, as arrays. Stretches must have been taken."""
        players = [player.save() for player in self.players]
        values = {
            "players": [values for values, _ in players],
            "episodes": self._episodes,
            "rng": self._rng.bit_generator.state,
            "first": self.first.tolist(),
            "lessons": [
                None if each.lesson is None else [each.step, _hex(each.lesson.places), _hex(each.lesson.goals)]
                for each in self._imitators
            ],
        }
        lessons = {
            f"lesson-{index}.{name}": getattr(each.lesson, name)
            for index, each in enumerate(self._imitators)
            if each.lesson is not None
            for name in ("seen", "actions", "returns")
        }
        return {
            "environments.values": np.frombuffer(json.dumps(values).encode(), np.uint8),
            **join_bytes("environments.games", [game for _, game in players]),
            **lessons,
            **self.sights.save(),
        }

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Takes over what `save` returned."""
        values, games = json.loads(saved["environments.values"].tobytes()), split_bytes("environments.games", saved)
        for player, each, game in zip(self.players, values["players"], games, strict=True):
            player.restore(each, game)
        self._episodes, self._rng.bit_generator.state = values["episodes"], values["rng"]
        for index, (imitator, lesson) in enumerate(zip(self._imitators, values["lessons"], strict=True)):
            imitator.lesson = None
            if lesson is not None:
                imitator.step, places, goals = lesson
                seen, actions, returns = (saved[f"lesson-{index}.{name}"] for name in ("seen", "actions", "returns"))
                imitator.lesson = Lesson(
                    seen, list(map(bytes.fromhex, places)), list(map(bytes.fromhex, goals)), actions, returns
                )
        self.sights.restore(saved)
        self._look()
        self.first[:] = values["first"]


def _hex(cells: list[Any]) -> list[str]:
    return [cell.hex() for cell in cells]
