"""Policy-based Go-Explore on MiniGrid's six rooms in a row, under sticky actions, beside plain PPO.

    python scripts/minigrid_returns.py --out runs/rooms --seed 0

Prints one JSON object: how often the policy returns to the goal in 100 new episodes, how often plain PPO with the same
network and steps gets there (`--plain-ppo`), and what both took. How many cells each way of exploring has found is
told too.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import minigrid  # noqa: F401 - registers the environments
import numpy as np

from goexplore.cells import GoalCells
from goexplore.control import control
from goexplore.evaluation import evaluate
from goexplore.policy_based import evaluate_returns, explore_with_policy

ENV, SIZE, STICKY = "MiniGrid-MultiRoom-N6-v0", 25, 0.25
KINDS, STATES = 11, 3
"""Kinds of things in a field of the view, and states of a door."""


class Sight(gym.ObservationWrapper[Any, Any, Any]):
    """What the agent sees, and where it stands: each a row of zeros with a one."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        size = 7 * 7 * (KINDS + STATES) + 2 * SIZE + 4
        self.observation_space = gym.spaces.Box(0.0, 1.0, (size,), np.float32)

    def observation(self, observation: dict[str, Any]) -> Any:
        """Puts it together."""
        picture, inner = observation["image"], self.unwrapped
        places = (*inner.agent_pos, inner.agent_dir)  # type: ignore[attr-defined]
        parts = [np.eye(KINDS)[picture[..., 0]].ravel(), np.eye(STATES)[picture[..., 2]].ravel()]
        parts += [np.eye(size)[place] for size, place in zip((SIZE, SIZE, 4), places, strict=True)]
        return np.concatenate(parts).astype(np.float32)


class Places(GoalCells):
    """Where the agent is."""

    attributes = {"x": SIZE, "y": SIZE}  # noqa: RUF012

    def values(self, observation: Any, env: Any) -> tuple[int, int]:
        """Asks the environment."""
        x, y = env.unwrapped.agent_pos
        return int(x), int(y)

    def neighbours(self, values: tuple[int, ...]) -> Sequence[tuple[int, ...]]:
        """Beside it in all four directions, walls or not."""
        return self.grid_neighbours(values, "x", "y")


def make(max_steps: int = 1_000) -> gym.Env[Any, Any]:
    """Six rooms; every reset with one seed gives the same ones."""
    return Sight(gym.make(ENV, max_steps=max_steps))


def main() -> None:
    """Trains and tests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/rooms"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=1_500_000)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--plain-ppo", action="store_true")
    parser.add_argument("--set", nargs="*", default=(), metavar="NAME=VALUE", help="other settings of the former")
    options = parser.parse_args()
    here = Path(__file__).stem  # its own name, so that processes beside this one can import it
    noise: dict[str, Any] = {"view.sticky": STICKY}
    common: dict[str, Any] = {"seed": options.seed, "ranks": options.ranks}
    trained = explore_with_policy(
        f"{here}:make",
        cells=f"{here}:Places",
        out=options.out / "policy",
        steps=options.steps,
        minutes=options.minutes,
        settings=noise | {name: json.loads(value) for name, value in (each.split("=") for each in options.set)},
        **common,
    )
    returns = 0.0  # until the goal is found there is nowhere to return to
    if (trained.best_score or 0.0) > 0:
        tested = evaluate_returns(options.out / "policy", episodes=100, seed=options.seed + 1_000, trust=True)
        returns = tested.arrived
    last = json.loads((options.out / "policy" / "metrics.jsonl").read_text().splitlines()[-1])
    result: dict[str, Any] = {
        "env": ENV,
        "seed": options.seed,
        "steps": trained.steps,
        "seconds": trained.seconds,
        "cells": trained.cells,
        "best_score": trained.best_score,
        "returns_to_goal": returns,
        "found_by": {name.removeprefix("found_"): value for name, value in last.items() if name.startswith("found_")},
    }
    if options.plain_ppo:
        ppo = options.out / "ppo"
        plain = control(f"{here}:make", out=ppo, beside="policy", steps=trained.steps, settings=noise, **common)
        score = evaluate(ppo, episodes=100, seed=options.seed + 1_000, at_least=[1e-6], trust=True)
        result |= {"ppo_steps": plain.steps, "ppo_seconds": plain.seconds, "ppo_success": score.reached["1e-06"]}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
