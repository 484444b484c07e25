"""The training loop of one rank of a control: collect, count, learn."""

from __future__ import annotations

import json
from collections import Counter, deque
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from goexplore.control._config import ControlConfig
from goexplore.control._environments import Crew, Episode, ResetEnvironments
from goexplore.envs import EnvSpec
from goexplore.learn import Agent, Ranks, WorkerEnvironments
from goexplore.play import Play, make_play
from goexplore.policies import Policy
from goexplore.runs import number
from goexplore.training import Progress

RECENT = 100
"""Episodes over which scores are averaged for people."""

GLIMPSES = 300
"""Observations of random play whose mean is the centre of others."""


class ControlTraining:
    """PPO from reset, plain or with a bonus for cells that few episodes have entered.

    Args:
        spec: the environment.
        config: settings.
        seed: one seed and one number of ranks give one training.
        ranks: who trains along.
        workers: processes beside this one that step the games; 0 for none.
    """

    def __init__(self, spec: EnvSpec, config: ControlConfig, *, seed: int, ranks: Ranks, workers: int = 0) -> None:
        self._spec, self._config, self._ranks = spec, config, ranks
        games, choices = np.random.SeedSequence(seed, spawn_key=(ranks.rank,)).spawn(2)
        parts = max(1, workers)
        sizes = ranks.split(config.actors, parts)
        crews = [Crew(spec, config, *each) for each in zip(sizes, games.spawn(parts), strict=True)]
        scratch = make_play(spec, config.view, np.random.default_rng(0))
        self._environments: ResetEnvironments | WorkerEnvironments
        if workers:
            self._environments = WorkerEnvironments(scratch.spaces, [crew.make for crew in crews], sizes)
        else:
            self._environments = crews[0].make()
        self._agent = Agent(self._environments, config.network, config.ppo, seed=seed, seeds=choices, ranks=ranks)
        if config.network.centred:
            self._agent.network.centre_on(_glimpses(scratch))
        self.iteration, self.steps, self.frames_per_step = 0, 0, scratch.frames_per_step
        self._episodes, self._recent = 0, deque[Episode](maxlen=RECENT)
        self._best: float | None = None
        self._event_episodes: Counter[str] = Counter()

    @property
    def about(self) -> str:
        """One sentence that says what is trained."""
        method = f"PPO with counts of {self._config.cells}" if self._config.bonus else "plain PPO"
        return (
            f"{method} on {self._spec.id}, from reset: {self._config.actors} actors on {self._ranks.size}"
            f" rank{'s' if self._ranks.size > 1 else ''}"
        )

    def iterate(self, *, done: float) -> Progress:
        """Collects and learns once."""
        self.steps += self._agent.collect() * self._config.actors
        self.iteration += 1
        mine = [tuple(each) for each in self._environments.episodes()]
        episodes = [Episode(*each) for part in self._ranks.gather(mine) for each in part]
        self._recent += episodes
        self._episodes += len(episodes)
        scores = [each.score for each in episodes] + ([] if self._best is None else [self._best])
        self._best = max(scores, default=None)
        cells = self._count_cells()
        self._event_episodes.update(name for each in episodes for name in each.events)
        terms = self._agent.learn(done=done)
        score = self._mean("score")
        words = [f"{self._episodes:,} episodes", f"score {number(None if score is None else round(score, 2))}"]
        return Progress(
            words + ([f"{cells:,} cells"] if cells else []),
            {
                "episodes": len(episodes),
                "score": score,
                "first_life_score": self._mean("first_life_score"),
                "best_score": self._best,
                "episode_steps": self._mean("steps"),
                **({"cells": cells} if cells else {}),
                **{f"episodes_with_{name}": times for name, times in sorted(self._event_episodes.items())},
                **{name: round(value, 6) for name, value in terms.items()},
            },
        )

    def _count_cells(self) -> int:
        """Brings the counts of all ranks together; returns the number of cells."""
        if self._config.cells is None:
            return 0
        if isinstance(self._environments, WorkerEnvironments):
            mine = self._environments.call("new_counts")
        else:
            mine = [self._environments.new_counts()]
        parts = [part for rank in self._ranks.gather(mine) for part in rank]
        if isinstance(self._environments, WorkerEnvironments):
            return int(self._environments.call("learn_counts", parts)[0])
        return self._environments.learn_counts(parts)

    def _mean(self, name: str) -> float | None:
        return float(np.mean([getattr(each, name) for each in self._recent])) if self._recent else None

    def policy(self) -> Policy:
        """What was learnt so far."""
        about = {
            "iteration": self.iteration,
            "steps": self.steps,
            "frames": self.steps * self.frames_per_step,
            "training_score": self._mean("score"),
            "training_episodes": len(self._recent),
        }
        return Policy(self._agent.network, self._spec, self._config.view, about=about)

    def close(self) -> None:
        """Ends the processes that step games, if there are any."""
        if isinstance(self._environments, WorkerEnvironments):
            self._environments.close()

    def save(self) -> dict[str, NDArray[Any]]:
        """This rank's whole state, as arrays."""
        values = {
            "iteration": self.iteration,
            "steps": self.steps,
            "episodes": self._episodes,
            "best": self._best,
            "events": dict(self._event_episodes),
            "recent": list(self._recent),
        }
        text = np.frombuffer(json.dumps(values).encode(), np.uint8)
        return {**self._agent.save(), **self._environments.save(), "training.values": text}

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Takes over what `save` returned."""
        values = json.loads(saved["training.values"].tobytes())
        self._environments.restore(saved)
        self._agent.restore(saved)
        self.iteration, self.steps, self._episodes = values["iteration"], values["steps"], values["episodes"]
        self._best, self._event_episodes = values["best"], Counter(values["events"])
        self._recent.extend(Episode(*each) for each in values["recent"])


def _glimpses(play: Play) -> torch.Tensor:
    """What random play sees."""
    rng, spaces, seen = np.random.default_rng(0), play.spaces, []
    play.reset()
    for _ in range(GLIMPSES):
        seen.append(np.array(play.observation))
        action = rng.standard_normal(spaces.action_shape) if spaces.choices is None else rng.integers(spaces.choices)
        _, over = play.step(action)
        if over:
            play.reset()
    return torch.from_numpy(np.stack(seen))
