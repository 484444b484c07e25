"""The training loop of one rank: go and explore, learn, update the archive (Extended Data, overview)."""

from __future__ import annotations

import json
from collections import Counter, deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.cells import CellFunction, GoalCells, make_cells
from goexplore.envs import EnvSpec
from goexplore.errors import InputError
from goexplore.learn import Agent, Ranks
from goexplore.play import make_play
from goexplore.policies import TOLD_GOALS, Policy
from goexplore.policy_based._atlas import ArchiveAtlas
from goexplore.policy_based._config import PolicyConfig
from goexplore.policy_based._environments import GoalEnvironments
from goexplore.runs import number
from goexplore.training import Progress

MOST_ATTRIBUTES, MOST_VALUES = 16, 1 << 16
"""What fits into a key."""
RECENT = 200
"""Episodes over which successes and scores are averaged for people."""


class PolicyTraining:
    """Policy-based Go-Explore.

    Args:
        spec: the environment.
        cells: its cells, by name.
        config: settings.
        seed: one seed and one number of ranks give one training.
        ranks: who trains along.
    """

    def __init__(self, spec: EnvSpec, cells: str, config: PolicyConfig, *, seed: int, ranks: Ranks) -> None:
        self._spec, self._cells, self._config, self._ranks = spec, cells, config, ranks
        noise, choices, learning = np.random.SeedSequence(seed, spawn_key=(ranks.rank,)).spawn(3)
        actors = ranks.share(config.actors)
        plays = [make_play(spec, config.view, np.random.default_rng(each)) for each in noise.spawn(actors)]

        def make() -> GoalCells:
            return goal_cells(cells)

        first, scratch = plays[0], make()
        first.reset()
        scratch.reset()
        self.atlas = ArchiveAtlas(
            ranks.agree(first.cell_key(scratch)),
            scratch,
            first.spaces,
            reliability=config.reliability,
            choose_ends=config.choose_ends,
            attempt_steps=config.attempt_steps,
            milestone_share=config.milestone_share,
        )
        self._environments = GoalEnvironments(
            plays,
            make,
            self.atlas,
            config,
            imitators=ranks.share(config.imitators),
            seeds=choices,
            rank=(ranks.rank, ranks.size),
        )
        self._agent = Agent(self._environments, config.network, config.ppo, seed=seed, seeds=learning, ranks=ranks)
        self.iteration, self.steps, self.frames_per_step = 0, 0, first.frames_per_step
        self._recent: deque[tuple[float, bool]] = deque(maxlen=RECENT)
        self._found: Counter[str] = Counter()

    @property
    def about(self) -> str:
        """One sentence that says what is trained."""
        return (
            f"policy-based Go-Explore on {self._spec.id}: {self._config.actors} actors and {self._config.imitators}"
            f" imitators on {self._ranks.size} rank{'s' if self._ranks.size > 1 else ''}"
        )

    def iterate(self, *, done: float) -> Progress:
        """Goes and explores, learns, and updates the archive, once."""
        self.steps += self._agent.collect() * self._config.actors
        terms = self._agent.learn(done=done)
        self.iteration += 1
        parts = self._ranks.gather(self._environments.take())
        self._found += self.atlas.learn(parts, iteration=self.iteration)
        self._environments.follow()
        episodes = [each for part in self._ranks.gather(self._environments.scores()) for each in part]
        self._recent += episodes
        return self._progress(len(episodes), terms)

    def _progress(self, episodes: int, terms: dict[str, float]) -> Progress:
        best = self.atlas.archive.best()
        returned = float(np.mean([arrived for _, arrived in self._recent])) if self._recent else None
        score = float(np.mean([score for score, _ in self._recent])) if self._recent else None
        rates = self.atlas.reliability.rates(len(self.atlas))
        known = rates[np.isfinite(rates)]
        to_best = rates[best.row] if best.row >= 0 and np.isfinite(rates[best.row]) else None
        shown = "none yet" if returned is None else f"{returned:.0%}"
        return Progress(
            [
                f"{len(self.atlas):,} cells",
                f"best {best.score:g}",
                f"returns {shown}",
                f"score {number(None if score is None else round(score, 1))}",
            ],
            {
                "episodes": episodes,
                "cells": len(self.atlas),
                "best_score": best.score,
                "best_steps": best.length,
                "score": score,
                "returned": returned,
                "return_rate_best": None if to_best is None else float(to_best),
                "return_rate_uniform": float(known.mean()) if len(known) else None,
                **{f"found_{doing}": self._found[doing] for doing in ("returning", "random", "policy")},
                **{name: round(value, 6) for name, value in terms.items()},
            },
        )

    def policy(self) -> Policy:
        """What was learnt so far."""
        about = {
            "iteration": self.iteration,
            "steps": self.steps,
            "frames": self.steps * self.frames_per_step,
            TOLD_GOALS: dict(goal_cells(self._cells).attributes),
        }
        return Policy(self._agent.network, self._spec, self._config.view, about=about)

    def close(self) -> None:
        """Nothing to end."""

    def save(self) -> dict[str, NDArray[Any]]:
        """This rank's whole state, as arrays."""
        values = {
            "iteration": self.iteration,
            "steps": self.steps,
            "recent": list(self._recent),
            "found": dict(self._found),
        }
        text = np.frombuffer(json.dumps(values).encode(), np.uint8)
        return {**self._agent.save(), **self._environments.save(), **self.atlas.save(), "training.values": text}

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Takes over what `save` returned."""
        values = json.loads(saved["training.values"].tobytes())
        self.atlas.restore(saved)
        self._environments.restore(saved)
        self._agent.restore(saved)
        self.iteration, self.steps = values["iteration"], values["steps"]
        self._recent.extend((score, arrived) for score, arrived in values["recent"])
        self._found = Counter(values["found"])


def goal_cells(cells: str | CellFunction) -> GoalCells:
    """Makes cells that a policy can be told.

    Raises:
        InputError: they are others.
    """
    made = make_cells(cells)
    if not isinstance(made, GoalCells):
        raise InputError(
            f"cells {cells!r}: a policy can only be told cells with attributes (goexplore.cells.GoalCells), for example"
            " montezuma:goals, pitfall:goals, or a class of your own (package.module:name)"
        )
    sizes = list(made.attributes.values())
    if not 1 <= len(sizes) <= MOST_ATTRIBUTES or not all(1 <= size <= MOST_VALUES for size in sizes):
        raise InputError(
            f"cells {cells!r} have the attributes {dict(made.attributes)}: expected 1 to {MOST_ATTRIBUTES}, each with 1"
            f" to {MOST_VALUES} values"
        )
    return made
