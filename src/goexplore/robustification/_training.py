"""The training loop of one rank: collect, count, move the windows, learn."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from goexplore.demos import Demonstration
from goexplore.learn import ActorCritic, Learner, Ranks, Rollout, device_of
from goexplore.play import make_play
from goexplore.policies import Policy
from goexplore.robustification._actors import Balance
from goexplore.robustification._config import RobustifyConfig
from goexplore.robustification._curriculum import VIRTUAL, Curriculum, Episode
from goexplore.robustification._environments import BackwardEnvironments
from goexplore.robustification._route import Route, reward_scale

RECENT = 100
"""Episodes over which scores and success are averaged for people."""


@dataclass(frozen=True, slots=True)
class Iteration:
    """What one iteration of the training loop came to, over all ranks."""

    number: int
    steps: int
    """Agent steps taken so far, replayed ones included, as the paper counts them."""
    episodes: int
    """Episodes that were over in this iteration."""
    terms: dict[str, float]
    """Of the loss, and what to watch beside it."""
    latest: list[int]
    """Latest starting point of each demonstration."""
    success: list[float]
    """Success in each demonstration's window."""
    score: float | None
    """Mean score of the latest episodes from reset; None before there are any."""
    first_life_score: float | None
    """The same until the first life is lost."""


class Training:
    """Everything that one rank holds.

    Args:
        demonstrations: what to learn to match.
        config: settings.
        seed: the run's seed; every rank draws from streams of its own.
        ranks: who trains along.
    """

    def __init__(
        self, demonstrations: Sequence[Demonstration], config: RobustifyConfig, *, seed: int, ranks: Ranks
    ) -> None:
        self._config, self._ranks = config, ranks
        spec, backward, ppo = demonstrations[0].env, config.backward, config.ppo
        games, choices, shuffles = np.random.SeedSequence(seed, spawn_key=(ranks.rank,)).spawn(3)
        scratch = make_play(spec, config.view, np.random.default_rng(0))
        self.routes = [Route(each, scratch) for each in demonstrations]
        self.reward_scale = reward_scale(self.routes, ppo.gamma, backward.reward_target)
        per_step = scratch.frames_per_step
        self.curriculum = Curriculum(
            [len(route) for route in self.routes],
            window=max(1, backward.window_frames // per_step),
            threshold=backward.move_threshold,
            decay=backward.success_decay,
            most_move=None if backward.most_move_frames is None else max(1, backward.most_move_frames // per_step),
        )
        odds = 1.0 / (len(self.routes) + 1) if backward.virtual_odds is None else backward.virtual_odds
        self._balance = Balance(odds, _share(config.actors, ranks))
        self._environments = BackwardEnvironments(
            lambda rng: make_play(spec, config.view, rng),
            self.routes,
            self.curriculum,
            self._balance,
            backward,
            actors=_share(config.actors, ranks),
            imitators=_share(config.imitators, ranks),
            scale=self.reward_scale,
            gamma=ppo.gamma,
            seeds=games,
        )
        torch.manual_seed(seed)
        self.network = ActorCritic(config.network, self._environments.spaces).to(device_of(ranks.rank))
        self._choices = torch.Generator(self.network.device).manual_seed(int(choices.generate_state(1)[0]))
        self._shuffles = np.random.default_rng(shuffles)
        self._learner = Learner(self.network, ppo, ranks, self._shuffles)
        self._rollout = Rollout(
            self._environments, self.network, steps=ppo.steps, context=ppo.context, generator=self._choices
        )
        self.frames_per_step = per_step
        self.iteration, self.steps = 0, 0
        self._moves_every = max(1, round(backward.update_steps * len(self.routes) / ppo.steps))
        self._from_reset: deque[tuple[float, float]] = deque(maxlen=RECENT)
        self._demonstrations, self._spec = demonstrations, spec

    def iterate(self, *, done: float) -> Iteration:
        """Collects, counts, moves and learns once.

        Args:
            done: share of the training that is behind, for settings that change over it.
        """
        actors = self._config.actors + self._config.imitators
        self.steps += self._rollout.collect(self.network) * actors
        self.iteration += 1
        episodes = [Episode(*each) for part in self._ranks.gather(self._plain_episodes()) for each in part]
        self.curriculum.count(episodes)
        self._from_reset += [(each.score, each.first_life_score) for each in episodes if each.demonstration == VIRTUAL]
        if self.iteration % self._moves_every == 0:
            self.curriculum.move()
            at_start = all(self.curriculum.at_start(index) for index in range(len(self.routes)))
            if at_start and self._config.backward.virtual_odds_at_start is not None:
                self._balance.odds = self._config.backward.virtual_odds_at_start
        terms = self._learner.update(self._rollout, done=done)
        return Iteration(
            number=self.iteration,
            steps=self.steps,
            episodes=len(episodes),
            terms=terms,
            latest=list(self.curriculum.latest),
            success=[self.curriculum.window_success(index) for index in range(len(self.routes))],
            score=self._recent(0),
            first_life_score=self._recent(1),
        )

    def _recent(self, which: int) -> float | None:
        """Mean over the latest episodes from reset of the score, or of that until the first life is lost."""
        return float(np.mean([scores[which] for scores in self._from_reset])) if self._from_reset else None

    def _plain_episodes(self) -> list[tuple[Any, ...]]:
        return [tuple(episode) for episode in self._environments.episodes()]

    def policy(self) -> Policy:
        """What was learnt so far."""
        return Policy(
            self.network,
            self._spec,
            self._config.view,
            about={
                "iteration": self.iteration,
                "steps": self.steps,
                "frames": self.steps * self.frames_per_step,
                "training_score": self._recent(0),
                "training_episodes": len(self._from_reset),
                "demonstrations": [
                    {"score": each.score, "steps": len(each), **each.source} for each in self._demonstrations
                ],
            },
        )

    def save(self) -> dict[str, NDArray[Any]]:
        """This rank's whole state, as arrays."""
        parameters = {f"network.{name}": value.cpu().numpy() for name, value in self.network.state_dict().items()}
        values = {
            "iteration": self.iteration,
            "steps": self.steps,
            "from_reset": list(self._from_reset),
            "shuffles": self._shuffles.bit_generator.state,
            "ranks": self._ranks.size,
        }
        return {
            **parameters,
            **self._learner.save(),
            **self._rollout.save(),
            **self.curriculum.save(),
            **self._environments.save(),
            "training.choices": self._choices.get_state().numpy(),
            "training.values": np.frombuffer(json.dumps(values).encode(), np.uint8),
        }

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Takes over what `save` returned."""
        values = json.loads(saved["training.values"].tobytes())
        self.network.load_state_dict(
            {name: torch.from_numpy(np.array(saved[f"network.{name}"])) for name in self.network.state_dict()}
        )
        self._learner.restore(saved)
        self.curriculum.restore(saved)
        self._environments.restore(saved)
        self._rollout.restore(saved)
        self._choices.set_state(torch.from_numpy(np.array(saved["training.choices"])))
        self._shuffles.bit_generator.state = values["shuffles"]
        self.iteration, self.steps = values["iteration"], values["steps"]
        self._from_reset.extend(tuple(each) for each in values["from_reset"])


def _share(total: int, ranks: Ranks) -> int:
    """How many of some things this rank has; the first ranks take what is left over."""
    return total // ranks.size + (ranks.rank < total % ranks.size)
