"""The training loop of one rank: collect, count, move the windows, learn."""

from __future__ import annotations

import json
import warnings
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from goexplore.demos import Demonstration
from goexplore.errors import InputError
from goexplore.learn import ActorCritic, Agent, Ranks, WorkerEnvironments
from goexplore.play import Play, make_play
from goexplore.policies import Policy
from goexplore.robustification._cloning import clone, noisy_replays, noisy_stretches
from goexplore.robustification._config import RobustifyConfig
from goexplore.robustification._curriculum import VIRTUAL, Episode
from goexplore.robustification._environments import (
    BackwardEnvironments,
    BackwardWorkers,
    Crew,
    first_odds,
    make_curriculum,
    make_routes,
    make_scale,
)
from goexplore.robustification._route import Route
from goexplore.runs import number
from goexplore.training import Progress

RECENT = 100
"""Episodes over which scores and success are averaged for people."""

GLIMPSES = 300
"""Observations of all demonstrations together whose mean is the centre of others."""


class Training:
    """Everything that one rank holds.

    Args:
        demonstrations: what to learn to match.
        config: settings.
        seed: the run's seed; every rank draws from streams of its own.
        ranks: who trains along.
        workers: processes beside this one that step the games; 0 for none.
        first: a policy to begin with, in place of a network that knows nothing.

    Raises:
        InputError: `first` does not fit the settings or the game.
    """

    def __init__(
        self,
        demonstrations: Sequence[Demonstration],
        config: RobustifyConfig,
        *,
        seed: int,
        ranks: Ranks,
        workers: int = 0,
        first: Policy | None = None,
    ) -> None:
        self._config, self._ranks, self._seed = config, ranks, seed
        spec, backward, ppo = demonstrations[0].env, config.backward, config.ppo
        self._demonstrations, self._spec = demonstrations, spec
        games, choices = np.random.SeedSequence(seed, spawn_key=(ranks.rank,)).spawn(2)
        scratch = make_play(spec, config.view, np.random.default_rng(0))
        self.routes = make_routes(demonstrations, scratch, backward)
        self.reward_scale = make_scale(self.routes, backward, ppo.gamma)
        per_step = scratch.frames_per_step
        self.curriculum = make_curriculum(self.routes, backward, per_step)
        self._odds = first_odds(len(self.routes), backward)
        parts = max(1, workers)
        crews = [
            Crew(demonstrations, config, actors, imitators, seeds)
            for actors, imitators, seeds in zip(
                ranks.split(config.actors, parts),
                ranks.split(config.imitators, parts),
                games.spawn(parts),
                strict=True,
            )
        ]
        self._environments: BackwardEnvironments | BackwardWorkers
        if workers:
            sizes = [crew.actors + crew.imitators for crew in crews]
            self._environments = BackwardWorkers(scratch.spaces, [crew.make for crew in crews], sizes)
        else:
            self._environments = crews[0].make(self.routes)
        self._agent = Agent(self._environments, config.network, ppo, seed=seed, seeds=choices, ranks=ranks)
        if config.network.centred:
            self.network.centre_on(_glimpses(self.routes, scratch))
        if first is not None:
            self._begin_with(first)
        self.frames_per_step = per_step
        self.iteration, self.steps = 0, 0
        self._moves_every = max(1, round(backward.update_steps * len(self.routes) / ppo.steps))
        self._from_reset: deque[tuple[float, float]] = deque(maxlen=RECENT)
        self._successful = 0  # iterations in a row

    def _begin_with(self, first: Policy) -> None:
        known, own = first.network, self.network
        for what, has, wanted in (
            ("environment", first.env.id, self._spec.id),
            ("network", known.config, own.config),
            ("kind of observations or actions", known.spaces, own.spaces),
        ):
            if has != wanted:
                raise InputError(f"the policy to begin with has another {what}: {has}, and this training {wanted}")
        own.load_state_dict(known.state_dict())
        self.curriculum.begin_at_starts()
        self._environments.follow(self.curriculum.save(), self._odds)

    @property
    def network(self) -> ActorCritic:
        """What is trained."""
        return self._agent.network

    @property
    def about(self) -> str:
        """One sentence that says what is trained."""
        found, config = self._demonstrations, self._config
        return (
            f"robustifying {len(found)} demonstration{'s' if len(found) > 1 else ''} of {self._spec.id}:"
            f" scores {_range([each.score for each in found])}, {_range([len(each) for each in found])} steps;"
            f" {config.actors} actors and {config.imitators} imitators on {self._ranks.size}"
            f" rank{'s' if self._ranks.size > 1 else ''}; rewards times {self.reward_scale.factor:.4g}"
        )

    def iterate(self, *, done: float) -> Progress:
        """Collects, counts, moves and learns once.

        Args:
            done: share of the training that is behind, for settings that change over it.
        """
        if self.iteration == 0 and self._config.cloning.replays:
            self._clone()
        actors = self._config.actors + self._config.imitators
        self.steps += self._agent.collect() * actors  # replayed steps included, as the paper counts them
        self.iteration += 1
        episodes = [Episode(*each) for part in self._ranks.gather(self._plain_episodes()) for each in part]
        self.curriculum.count(episodes)
        self._from_reset += [(each.score, each.first_life_score) for each in episodes if each.leg == VIRTUAL]
        if self._moved():
            self._environments.follow(self.curriculum.save(), self._odds)
        return self._progress(len(episodes), self._agent.learn(done=done))

    def _clone(self) -> None:
        """The warm start. Its own stream of randomness leaves everything else as it would be without."""
        config = self._config
        noise, order, starts = np.random.SeedSequence(self._seed, spawn_key=(self._ranks.rank, 1)).spawn(3)
        play = make_play(self._spec, config.view, np.random.default_rng(noise))
        count, steps = self._ranks.share(config.cloning.replays), config.cloning.stretch_steps
        scale, gamma, tolerance = self.reward_scale, config.ppo.gamma, config.backward.score_tolerance
        if steps:
            replays = noisy_stretches(
                play,
                self.routes,
                count=count,
                steps=steps,
                scale=scale,
                gamma=gamma,
                tolerance=tolerance,
                rng=np.random.default_rng(starts),
            )
        else:
            replays = noisy_replays(play, self.routes, count=count, scale=scale, gamma=gamma, tolerance=tolerance)
        loss = clone(self._agent, replays, config.cloning, self._ranks, np.random.default_rng(order))
        if loss is None:
            warnings.warn("no blind replay succeeded under noise: there is no warm start", stacklevel=2)

    def _moved(self) -> bool:
        """Moves the windows that are due; the more of them are at the start, the more episodes begin at reset."""
        backward, count = self._config.backward, len(self.curriculum.legs)
        if backward.move_episodes is None:
            moved = self.iteration % self._moves_every == 0 and self.curriculum.move()
        else:
            now = self.iteration * self._config.ppo.steps
            moved = self.curriculum.move(episodes=backward.move_episodes, now=now)
        if moved and backward.virtual_odds_at_start is not None:
            share = sum(self.curriculum.at_start(index) for index in range(count)) / count
            first = first_odds(len(self.routes), backward)
            self._odds = first + share * (backward.virtual_odds_at_start - first)
        return moved

    def _progress(self, episodes: int, terms: dict[str, float]) -> Progress:
        curriculum, score = self.curriculum, self._recent(0)
        success = [curriculum.window_success(index) for index in range(len(curriculum.legs))]
        finished = self._is_learnt(success)
        starts = " ".join(
            f"{latest}/{leg.end} ({share:.0%})"
            for latest, leg, share in zip(curriculum.latest, curriculum.legs, success, strict=True)
        )
        return Progress(
            [f"starts {starts}", f"score from reset {number(None if score is None else round(score, 1))}"],
            {
                "episodes": episodes,
                "score": score,
                "first_life_score": self._recent(1),
                "way_to_start": round(curriculum.way_to_start, 5),
                "success": round(sum(success) / len(success), 4),
                "latest": list(curriculum.latest),
                **{name: round(value, 6) for name, value in terms.items()},
            },
            finished,
        )

    def _is_learnt(self, success: list[float]) -> bool:
        """Whether it has succeeded from the start for as long as the settings ask for."""
        wanted = self._config.stop_success
        if wanted is None:
            return False
        at_start = all(self.curriculum.at_start(index) for index in range(len(self.curriculum.legs)))
        holds = at_start and sum(success) / len(success) > wanted
        self._successful = self._successful + 1 if holds else 0
        return self._successful >= self._config.stop_iterations

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

    def close(self) -> None:
        """Ends the processes that step games, if there are any."""
        if isinstance(self._environments, WorkerEnvironments):
            self._environments.close()

    def save(self) -> dict[str, NDArray[Any]]:
        """This rank's whole state, as arrays."""
        values = {
            "iteration": self.iteration,
            "steps": self.steps,
            "odds": self._odds,
            "successful": self._successful,
            "from_reset": list(self._from_reset),
        }
        return {
            **self._agent.save(),
            **self.curriculum.save(),
            **self._environments.save(),
            "training.values": np.frombuffer(json.dumps(values).encode(), np.uint8),
        }

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Takes over what `save` returned."""
        values = json.loads(saved["training.values"].tobytes())
        self.curriculum.restore(saved)
        self._odds, self._successful = values["odds"], values["successful"]
        self._environments.follow(self.curriculum.save(), self._odds)
        self._environments.restore(saved)
        self._agent.restore(saved)
        self.iteration, self.steps = values["iteration"], values["steps"]
        self._from_reset.extend(tuple(each) for each in values["from_reset"])


def _glimpses(routes: Sequence[Route], play: Play) -> torch.Tensor:
    """What is seen here and there along the demonstrations."""
    seen = [
        route.seen(play, int(step))
        for route in routes
        for step in np.linspace(0, len(route) - 1, num=min(len(route), max(1, GLIMPSES // len(routes))))
    ]
    return torch.from_numpy(np.stack(seen))


def _range(values: list[float]) -> str:
    low, high = min(values), max(values)
    return number(low) if low == high else f"{number(low)} to {number(high)}"
