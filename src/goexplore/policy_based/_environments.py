"""The actors of one rank with their games, as the learner sees them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import join_bytes, split_bytes
from goexplore.cells import GoalCells
from goexplore.errors import InputError
from goexplore.learn import Imitation, Spaces, Transitions
from goexplore.play import Play, draw_no_ops, restore_game, save_game
from goexplore.policy_based._actor import RETURNING, Actor, Directive
from goexplore.policy_based._atlas import ArchiveAtlas
from goexplore.policy_based._config import PolicyConfig
from goexplore.policy_based._imitation import Lesson, Sights, draw_lesson
from goexplore.policy_based._reliability import Leg
from goexplore.policy_based._stretch import END, Return, Stretch


class Goals:
    """Cells as the network sees them: a place for each value of each attribute, and two for "over" or not.

    Args:
        cells: what keys mean.
        seen: what the policy sees beside the goal.
    """

    def __init__(self, cells: GoalCells, seen: Spaces) -> None:
        self._cells, self._known = cells, dict[bytes, NDArray[Any]]()
        self.size = cells.goal_size + 2
        self._dtype = np.dtype(seen.observation_dtype)
        self._true = 255 if seen.observation_is_bytes else 1
        picture = seen.observation_shape if len(seen.observation_shape) == 3 else None
        self.spaces = Spaces(
            observation_shape=(int(np.prod(seen.observation_shape)) + self.size,),
            observation_dtype=seen.observation_dtype,
            choices=seen.choices,
            action_shape=seen.action_shape,
            picture_shape=picture,
        )

    def told(self, cell: Any) -> NDArray[Any]:
        """The numbers that stand for a cell."""
        if cell not in self._known:
            over = cell == END
            values = np.zeros(self._cells.goal_size, np.bool_) if over else self._cells.one_hot(cell)
            if len(values) != self.size - 2:
                raise InputError(
                    f"the cells' attributes have changed: a goal was {self.size - 2} numbers, now {len(values)}"
                )
            self._known[cell] = np.concatenate([values, [not over, over]]).astype(self._dtype) * self._true
        return self._known[cell]


class GoalPlayer:
    """One actor and its game.

    Args:
        number: of the actor on its rank.
        play: its game.
        cells: its own, as they may track something.
        atlas: the archive; shared.
        config: settings.
        rng: its own.
        name_episode: returns a number for the next episode.
    """

    def __init__(
        self,
        number: int,
        play: Play,
        cells: GoalCells,
        atlas: ArchiveAtlas,
        config: PolicyConfig,
        *,
        rng: np.random.Generator,
        name_episode: Callable[[], int],
    ) -> None:
        self.play, self._number, self._cells, self._config, self._rng = play, number, cells, config, rng
        self._name_episode = name_episode
        self.actor = Actor(config.rules, atlas, rng)
        self.stretches: list[Stretch] = []
        """Since the archive was last updated."""
        self.sights: list[NDArray[Any]] = []
        """What was seen before each of their steps."""
        self.scores: list[tuple[float, bool]] = []
        """Of episodes that are over and not yet counted: the score, and whether the chosen cell was reached."""
        self._random_action: Any = None
        self._begin()

    def _begin(self) -> None:
        play = self.play
        play.reset(draw_no_ops(play))
        self._cells.reset()
        self._score, self._steps, self._lives, self.first = 0.0, 0, play.lives, True
        cell = play.cell_key(self._cells)
        self.stretches.append(Stretch(self._number, self._name_episode(), cell, begins=True))
        self._random_action = None
        self.directive = self.actor.begin(cell)
        self._note_arrival()

    def _note_arrival(self) -> None:
        if self.directive.arrived:
            self._note_return(arrived=True)

    def _note_return(self, *, arrived: bool) -> None:
        self.stretches[-1].returns.append(Return(self.actor.chosen, arrived))  # type: ignore[arg-type]

    def step(self, action: Any) -> tuple[float, bool, bool, bool]:
        """Takes a step; returns its reward, whether it was an end, whether it was a cut, and whether it trains."""
        config, play = self._config, self.play
        if self.directive.random:
            action = self._drawn_action()
        self.sights.append(play.observation.copy())
        doing = self.actor.doing
        reward, over = play.step(action)
        too_long = play.cut_short or self._steps + 1 >= config.episode_steps
        over = (over and not play.cut_short) or (config.life_loss_ends and play.lives < self._lives)
        self._score, self._lives, self._steps, self.first = self._score + reward, play.lives, self._steps + 1, False
        cell = END if over else play.cell_key(self._cells)
        learnt = float(np.clip(reward, -config.reward_limit, config.reward_limit))
        stretch = self.stretches[-1]
        stretch.keys.append(cell)
        stretch.scores.append(self._score)
        stretch.rewards.append(learnt)
        stretch.actions.append(action)
        stretch.doing.append(doing)
        self.directive = directive = self.actor.observe(cell, over=over or too_long)
        stretch.legs += [Leg(*leg) for leg in self.actor.legs]  # type: ignore[arg-type]
        self._note_arrival()
        gives_up = not over and (directive.gives_up or too_long)
        if over or gives_up:
            if self.actor.doing == RETURNING:
                self._note_return(arrived=False)
            stretch.over = True
            self.scores.append((self._score, self.actor.returned))
            self._begin()
        parts = over or (directive.arrived and not config.rules.credit_exploration)
        return learnt + directive.reward, parts, gives_up and not parts, directive.trains

    def _drawn_action(self) -> Any:
        """Random, and often the one before again."""
        rng, spaces = self._rng, self.play.spaces
        if self._random_action is None or rng.random() >= self._config.rules.repeat_probability:
            if spaces.choices is not None:
                self._random_action = int(rng.integers(spaces.choices))
            else:  # spread evenly over what tanh will make of it
                self._random_action = np.arctanh(rng.uniform(-0.999, 0.999, spaces.action_shape)).astype(np.float32)
        return self._random_action

    def take(self) -> tuple[list[Stretch], list[NDArray[Any]]]:
        """The stretches since the last call, and what was seen in them; the episode under way goes on in a new one."""
        stretches, sights = self.stretches, self.sights
        last = stretches[-1]
        goes_on = Stretch(self._number, last.episode, last.start, begins=False)
        if not last.keys:  # an episode that has not taken a step yet begins in the next stretch
            stretches = stretches[:-1]
            goes_on.begins, goes_on.returns = last.begins, last.returns
        self.stretches, self.sights = [goes_on], []
        return stretches, sights

    def save(self) -> tuple[dict[str, Any], bytes]:
        """The episode under way as plain values, and the game. Stretches must have been taken."""
        taken, game = save_game(self.play)
        directive, stretch = self.directive, self.stretches[-1]
        values = {
            "actor": self.actor.save(bytes.hex),
            "directive": [directive.goal.hex(), directive.temperature, directive.random],  # type: ignore[attr-defined]
            "stretch": [
                stretch.episode,
                stretch.start.hex(),
                stretch.begins,
                [[each.cell.hex(), each.arrived] for each in stretch.returns],
            ],
            "score": self._score,
            "steps": self._steps,
            "lives": self._lives,
            "first": self.first,
            "random_action": None if self._random_action is None else np.asarray(self._random_action).tolist(),
            "cells": self._cells.save().hex(),
            "rngs": [each.bit_generator.state for each in (self._rng, self.play.rng)],
            "taken": taken,
        }
        return values, game

    def restore(self, values: dict[str, Any], game: bytes) -> None:
        """Takes over what `save` returned."""
        self.actor.restore(values["actor"], bytes.fromhex)
        goal, temperature, random = values["directive"]
        self.directive = Directive(bytes.fromhex(goal), temperature, random=random)
        episode, start, begins, returns = values["stretch"]
        stretch = Stretch(self._number, episode, bytes.fromhex(start), begins=begins)
        stretch.returns = [Return(bytes.fromhex(cell), arrived) for cell, arrived in returns]
        self.stretches, self.sights, self.scores = [stretch], [], []
        self._score, self._steps, self._lives = values["score"], values["steps"], values["lives"]
        self.first, action = values["first"], values["random_action"]
        self._random_action = np.array(action, np.float32) if isinstance(action, list) else action
        restore_game(self.play, self.play.reset, values["taken"], game)
        self._cells.load(bytes.fromhex(values["cells"]))
        for each, state in zip((self._rng, self.play.rng), values["rngs"], strict=True):
            each.bit_generator.state = state


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
        self.goals = Goals(cells(), self._seen_spaces)
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
        size = self.goals.size
        for index, player in enumerate(self.players):
            self.observations[index, :-size] = player.play.observation.reshape(-1)
            self.observations[index, -size:] = self.goals.told(player.directive.goal)
            self.first[index], self.temperature[index] = player.first, player.directive.temperature
        for index, imitator in enumerate(self._imitators, len(self.players)):
            if imitator.lesson is not None:
                self.observations[index, :-size] = imitator.lesson.seen[imitator.step].reshape(-1)
                self.observations[index, -size:] = self.goals.told(imitator.lesson.goals[imitator.step])

    def take(self) -> list[Stretch]:
        """What all actors went through since the last call; what they saw stays here."""
        taken: list[Stretch] = []
        for player in self.players:
            stretches, sights = player.take()
            at = 0
            for stretch in stretches:
                part = sights[at : at + len(stretch.keys)]
                self.sights.add(stretch.episode, np.array(part), begins=stretch.begins)
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
                None if each.lesson is None else [each.step, [goal.hex() for goal in each.lesson.goals]]  # type: ignore[attr-defined]
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
                imitator.step, goals = lesson
                seen, actions, returns = (saved[f"lesson-{index}.{name}"] for name in ("seen", "actions", "returns"))
                imitator.lesson = Lesson(seen, [bytes.fromhex(goal) for goal in goals], actions, returns)
        self.sights.restore(saved)
        self._look()
        self.first[:] = values["first"]
