"""One actor with its game."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.cells import GoalCells
from goexplore.errors import InputError
from goexplore.play import Play, draw_no_ops, restore_game, save_game
from goexplore.policy_based._actor import RETURNING, Actor, Directive
from goexplore.policy_based._atlas import ArchiveAtlas
from goexplore.policy_based._config import PolicyConfig
from goexplore.policy_based._reliability import Leg
from goexplore.policy_based._stretch import END, Return, Stretch


def stepped(play: Play, action: Any, config: PolicyConfig, *, lives: int, steps: int) -> tuple[float, bool, bool]:
    """Takes a step; returns the reward, whether the game is over, and whether it has lasted too long.

    Args:
        play: the game.
        action: the policy's.
        config: settings.
        lives: before the step.
        steps: of the episode before it.
    """
    reward, over = play.step(action)
    died = config.life_loss_ends and play.lives < lives
    too_long = play.cut_short or steps + 1 >= config.episode_steps
    return reward, (over and not play.cut_short) or died, too_long


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
        self._name_episode, self._promised = name_episode, dict(cells.attributes)
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
        self.cell = self._entered()
        self.stretches.append(Stretch(self._number, self._name_episode(), self.cell, begins=True))
        self._random_action = None
        self.directive = self.actor.begin(self.cell)
        self._note_arrival()

    def _entered(self) -> bytes:
        """The cell that the game is in."""
        cell, attributes = self.play.cell_key(self._cells), self._cells.attributes
        if attributes != self._promised:
            raise InputError(
                f"the cells' attributes have changed from {self._promised} to {dict(attributes)}; expected the same"
                " during the whole run, as the network is built for them"
            )
        return cell

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
        reward, over, too_long = stepped(play, action, config, lives=self._lives, steps=self._steps)
        self._score, self._lives, self._steps, self.first = self._score + reward, play.lives, self._steps + 1, False
        self.cell = cell = END if over else self._entered()
        learnt = min(max(float(reward), -config.reward_limit), config.reward_limit)
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
            "cell": self.cell.hex(),
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
        self.cell = bytes.fromhex(values["cell"])
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
