"""Episodes that test returns: each goes to one cell, and is over on arrival."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from goexplore.cells import GoalCells
from goexplore.learn import ActorCritic
from goexplore.play import Play, draw_no_ops
from goexplore.policy_based._actor import Actor
from goexplore.policy_based._atlas import ArchiveAtlas
from goexplore.policy_based._config import PolicyConfig
from goexplore.policy_based._goals import Goals
from goexplore.policy_based._player import stepped
from goexplore.policy_based._stretch import END


@dataclass(slots=True)
class ReturnEpisode:
    """What happened in an episode; enough to play it again."""

    noise: Mapping[str, Any]
    """State of the game's generator when it began."""
    actions: list[Any] = field(default_factory=list)
    goals: list[Any] = field(default_factory=list)
    """What the policy was shown before each of them."""
    score: float = 0.0
    arrived: bool = False
    fingerprint: bytes = b""
    """Of the simulator when it was over."""

    @property
    def steps(self) -> int:
        """How long it took."""
        return len(self.actions)


class ReturnPlayer:
    """Plays one episode after the other, each until it arrives, is over or is given up.

    Args:
        config: of the run.
        play: its game.
        cells: its own, as they may track something.
        atlas: the archive.
        chosen: cells to return to, one after the other.
        goals: what the policy is shown.
        rng: the actor's own.
    """

    def __init__(
        self,
        config: PolicyConfig,
        play: Play,
        cells: GoalCells,
        atlas: ArchiveAtlas,
        chosen: Sequence[bytes],
        goals: Goals,
        rng: np.random.Generator,
    ) -> None:
        self._config, self.play, self._cells, self._goals = config, play, cells, goals
        self._actor = Actor(config.rules, atlas, rng)
        self._atlas, self._chosen = atlas, itertools.cycle(chosen)
        self.begin()

    def begin(self) -> None:
        """Begins an episode; one that arrives with its first observation is over in the first step."""
        play = self.play
        self.episode = ReturnEpisode(play.rng.bit_generator.state)
        play.reset(draw_no_ops(play))
        self._cells.reset()
        self._lives = play.lives
        chosen = next(self._chosen)
        row = self._atlas.archive.row_of(chosen)
        self._pays = chosen == END and self._atlas.archive.table["score"][row] > 0
        self._cell = play.cell_key(self._cells)
        self.directive = self._actor.begin(self._cell, chosen=chosen)

    @property
    def observation(self) -> NDArray[Any]:
        """What the policy sees."""
        row = np.zeros(self._goals.spaces.observation_shape, self._goals.spaces.observation_dtype)
        self._goals.show(row, self.play.observation, place=self._cell, goal=self.directive.goal)
        return row

    def step(self, action: Any) -> ReturnEpisode | None:
        """Takes a step; returns the episode, if that was its last."""
        episode, play, config = self.episode, self.play, self._config
        if self.directive.arrived:
            return self._over(arrived=True)
        episode.goals.append(self.directive.goal)
        reward, over, too_long = stepped(play, action, config, lives=self._lives, steps=episode.steps)
        episode.actions.append(action)
        episode.score, self._lives = episode.score + reward, play.lives
        self._cell = END if over else play.cell_key(self._cells)
        self.directive = self._actor.observe(self._cell, over=over)
        if self.directive.arrived or over or self.directive.gives_up or too_long:
            # Games end in many ways, and what a good end brings may depend on when it comes.
            return self._over(arrived=self.directive.arrived and (episode.score > 0 or not self._pays))
        return None

    def _over(self, *, arrived: bool) -> ReturnEpisode:
        self.episode.arrived, self.episode.fingerprint = arrived, self.play.fingerprint()
        return self.episode


@torch.no_grad()
def play_returns(
    players: Sequence[ReturnPlayer],
    network: ActorCritic,
    episodes: int,
    *,
    temperature: float,
    generator: torch.Generator,
    on_episode: Callable[[int, float], None],
) -> list[ReturnEpisode]:
    """Every player plays as many episodes as the others, so that short ones are not counted more often.

    Args:
        players: who plays, side by side.
        network: the policy.
        episodes: how many, of all players together.
        temperature: what logits are divided by while no goal is overdue; 0 always takes the likeliest action.
        generator: where choices of actions come from.
        on_episode: told the episodes that are over and their mean score.
    """
    shares = [episodes // len(players) + (index < episodes % len(players)) for index in range(len(players))]
    played: list[ReturnEpisode] = []
    state = network.initial_state(len(players))
    while any(shares):
        output = network.act(
            torch.from_numpy(np.stack([player.observation for player in players])),
            state,
            torch.tensor([player.episode.steps == 0 for player in players]),
        )
        state = output.state
        if temperature:
            heat = torch.tensor([temperature * player.directive.temperature for player in players])
            actions = output.policy.at_temperature(heat).sample(generator).numpy()
        else:
            actions = output.policy.mode().numpy()
        for index, player in enumerate(players):
            episode = player.step(actions[index].copy()) if shares[index] else None
            if episode is not None:
                played.append(episode)
                shares[index] -= 1
                player.begin()
                on_episode(len(played), float(np.mean([each.score for each in played])))
    return played
