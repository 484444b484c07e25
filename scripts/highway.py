"""The paper's thought experiment: a policy learns to cross a busy highway, with and without the rule of reliability.

    python scripts/highway.py --out runs/highway --seeds 3

Prints one JSON object for each training: how long the way is that the archive keeps to the other side (7 steps over the
lanes, 21 over the overpass), and how often the policy gets there in 100 new episodes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from goexplore.cells import GoalCells
from goexplore.envs.highway import HEIGHT, MAP, WIDTH
from goexplore.policy_based import evaluate_returns, explore_with_policy

GOAL = next(f"x={row.index('G')},y={y}" for y, row in enumerate(MAP) if "G" in row)


class Places(GoalCells):
    """Where the robot is."""

    attributes = {"x": WIDTH, "y": HEIGHT}  # noqa: RUF012

    def values(self, observation: Any, env: Any) -> tuple[int, int]:
        """Asks the environment."""
        return env.unwrapped.x, env.unwrapped.y

    def neighbours(self, values: tuple[int, ...]) -> Sequence[tuple[int, ...]]:
        """Beside it in all four directions."""
        return self.grid_neighbours(values, "x", "y")


def main() -> None:
    """Trains and tests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/highway"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=300_000)
    parser.add_argument("--ranks", type=int)
    options = parser.parse_args()
    here = Path(__file__).stem  # its own name, so that processes beside this one can import it
    for seed in range(options.seeds):
        for counts in (True, False):
            out = options.out / f"{'reliable' if counts else 'shortest'}-{seed}"
            trained = explore_with_policy(
                "goexplore/Highway-v0",
                cells=f"{here}:Places",
                out=out,
                steps=options.steps,
                seed=seed,
                ranks=options.ranks,
                settings={"view.new_seeds": True, "choose_ends": False, "reliability.counts": counts},
            )
            tested = evaluate_returns(out, to=GOAL, episodes=100, seed=seed + 1_000, trust=True)
            result = {
                "reliability_counts": counts,
                "seed": seed,
                "steps": trained.steps,
                "seconds": trained.seconds,
                "way_steps": tested.archive_steps,
                "arrived": tested.arrived,
                "mean_steps": tested.mean_steps,
            }
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
