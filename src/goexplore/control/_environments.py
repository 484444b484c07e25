"""Environments that are played from reset, one episode after the other, as a learner sees them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import join_bytes, split_bytes
from goexplore.control._config import ControlConfig
from goexplore.control._counts import Counts
from goexplore.envs import EnvSpec
from goexplore.learn import Transitions
from goexplore.play import LifeScore, Play, draw_no_ops, make_play, restore_game, save_game


class Episode(NamedTuple):
    """An episode that is over."""

    score: float
    first_life_score: float
    """The score until the first life was lost."""
    steps: int
    events: dict[str, int]
    """Steps after which the environment's `info` said that something was so."""


class Player:
    """Plays one game after the other.

    Args:
        play: its game.
        config: settings.
        counts: of cells; shared. None counts nothing.
    """

    def __init__(self, play: Play, config: ControlConfig, counts: Counts | None) -> None:
        self.play, self._config, self._counts = play, config, counts
        self._cells = config.make_cells()
        self.over: list[Episode] = []
        """Episodes that are over and not yet counted."""
        self._begin()

    def _begin(self) -> None:
        play = self.play
        play.reset(draw_no_ops(play))
        self._score, self._steps, self.first = LifeScore(play.lives), 0, True
        self._events: Counter[str] = Counter()
        self._visited: set[bytes] = set()
        if self._cells is not None:
            self._cells.reset()
            self._enter()

    def _enter(self) -> float:
        """Counts the cell that the game is in, if it is the first time in this episode; returns the bonus."""
        if self._cells is None or self._counts is None:
            return 0.0
        key = self.play.cell_key(self._cells)
        if key in self._visited:
            return 0.0
        self._visited.add(key)
        return self._config.bonus * self._counts.enter(key)

    def step(self, action: Any) -> tuple[float, bool]:
        """Takes one step; returns the reward for learning, and whether it was an end."""
        reward, over = self.play.step(action)
        lost_life = self._score.add(reward, self.play.lives)
        self._steps += 1
        self._events.update(self.play.events)
        self.first = False
        learnt = float(np.sign(reward)) if self._config.rewards == "sign" else reward
        over = over or (lost_life and self._config.life_loss_resets)
        if over:
            self.over.append(Episode(self._score.score, self._score.first_life, self._steps, dict(self._events)))
            self._begin()
        else:
            learnt += self._enter()
        return learnt, over or (lost_life and self._config.life_loss_ends)

    def save(self) -> tuple[dict[str, Any], bytes]:
        """The episode under way as plain values, and the game."""
        taken, game = save_game(self.play)
        values = {
            "score": self._score.save(),
            "steps": self._steps,
            "first": self.first,
            "rng": self.play.rng.bit_generator.state,
            "taken": taken,
            "events": dict(self._events),
            "visited": sorted(key.hex() for key in self._visited),
            "cells": "" if self._cells is None else self._cells.save().hex(),
        }
        return values, game

    def restore(self, values: dict[str, Any], game: bytes) -> None:
        """Takes over what `save` returned."""
        self._score = LifeScore.restored(values["score"])
        self._steps, self.first = values["steps"], values["first"]
        self.over.clear()
        restore_game(self.play, self.play.reset, values["taken"], game)
        self.play.rng.bit_generator.state = values["rng"]
        self._events = Counter(values["events"])
        self._visited = {bytes.fromhex(key) for key in values["visited"]}
        if self._cells is not None:
            self._cells.load(bytes.fromhex(values["cells"]))


class ResetEnvironments:
    """The players of one rank, all in this process.

    Args:
        make: makes a game with a generator of its own.
        config: settings.
        actors: how many play.
        seeds: where all randomness comes from.
    """

    def __init__(
        self,
        make: Callable[[np.random.Generator], Play],
        config: ControlConfig,
        *,
        actors: int,
        seeds: np.random.SeedSequence,
    ) -> None:
        self.counts = Counts() if config.cells is not None else None
        self._players = [Player(make(np.random.default_rng(each)), config, self.counts) for each in seeds.spawn(actors)]
        play = self._players[0].play
        self.spaces = play.spaces
        self.groups: Sequence[slice] = [slice(0, actors)]
        self.observations: NDArray[Any] = np.zeros(
            (actors, *self.spaces.observation_shape), self.spaces.observation_dtype
        )
        self.first, self.temperature = np.ones(actors, np.bool_), np.ones(actors, np.float32)
        self._none, self._all = np.zeros(actors, np.bool_), np.ones(actors, np.bool_)
        self._actions: NDArray[Any] = np.zeros(0)
        self._look()

    def begin(self, group: int, actions: NDArray[Any]) -> None:
        """Takes note of the actions: everything happens in `finish`."""
        self._actions = actions

    def finish(self, group: int) -> Transitions:
        """Steps every player."""
        rewards, ends = np.zeros(len(self._players), np.float32), np.zeros(len(self._players), np.bool_)
        for index, player in enumerate(self._players):
            rewards[index], ends[index] = player.step(self._actions[index])
        self._look()
        return Transitions(rewards, ends, self._none, self._all)

    def _look(self) -> None:
        for index, player in enumerate(self._players):
            self.observations[index] = player.play.observation
            self.first[index] = player.first

    def episodes(self) -> list[Episode]:
        """Episodes that were over since the last call."""
        found = [episode for player in self._players for episode in player.over]
        for player in self._players:
            player.over.clear()
        return found

    def new_counts(self) -> dict[bytes, int]:
        """Cells entered since the last call, and how often."""
        return self.counts.take_new() if self.counts is not None else {}

    def learn_counts(self, parts: list[dict[bytes, int]]) -> int:
        """Takes up what was counted everywhere; returns the number of cells known."""
        if self.counts is None:
            return 0
        self.counts.add(parts)
        return len(self.counts)

    def save(self) -> dict[str, NDArray[Any]]:
        """Every episode under way, as arrays."""
        saved = [player.save() for player in self._players]
        text = np.frombuffer(json.dumps([values for values, _ in saved]).encode(), np.uint8)
        counts = self.counts.save() if self.counts is not None else {}
        return {"environments.values": text, **join_bytes("environments.games", [game for _, game in saved]), **counts}

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Takes over what `save` returned."""
        values, games = json.loads(saved["environments.values"].tobytes()), split_bytes("environments.games", saved)
        for player, each, game in zip(self._players, values, games, strict=True):
            player.restore(each, game)
        if self.counts is not None:
            self.counts.restore(saved)
        self._look()


@dataclass(frozen=True, slots=True)
class Crew:
    """What the players of one process are made from. Crosses processes."""

    spec: EnvSpec
    config: ControlConfig
    actors: int
    seeds: np.random.SeedSequence

    def make(self) -> ResetEnvironments:
        """Begins."""
        return ResetEnvironments(
            lambda rng: make_play(self.spec, self.config.view, rng),
            self.config,
            actors=self.actors,
            seeds=self.seeds,
        )
