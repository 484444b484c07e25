"""MiniGrid's key and door from search to tested policy, under random actions: explore, demos, robustify, evaluate.

    python scripts/minigrid_end_to_end.py --out runs/minigrid --noise 0.2

Prints one JSON object: success of the policy, of its demonstration replayed blindly, and of plain PPO with as many
steps (`--plain-ppo`).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import goexplore
from goexplore.control import control
from goexplore.demos import Choice, extract
from goexplore.evaluation import Evaluation, evaluate, evaluate_replay
from goexplore.play import PlainView
from goexplore.robustification import robustify

SEARCH_FRAMES = 40_000
"""Enough to find the goal, and then shorter ways to it."""
SOLVED = 1e-6
"""The reward falls with the steps taken, but is above 0 whenever the goal is reached."""


def cell(observation: Any, env: Any) -> tuple[Any, ...]:
    """Where the agent is, what it carries, and the state of everything else."""
    return (*env.unwrapped.agent_pos, env.unwrapped.carrying is not None, env.unwrapped.grid.encode().tobytes())


def end_to_end(
    out: Path,
    *,
    env: str = "MiniGrid-DoorKey-8x8-v0",
    noise: float = 0.2,
    steps: int = 400_000,
    episodes: int = 500,
    seed: int = 0,
    ranks: int | None = None,
    plain_ppo: bool = False,
    progress: bool = True,
) -> dict[str, Any]:
    """Explores, extracts, trains and tests; `plain_ppo` trains a control too."""
    began = time.monotonic()
    search = goexplore.explore(
        env,
        cells=cell,
        frames=SEARCH_FRAMES,
        explore_steps=30,
        repeat_probability=0.0,
        seed=seed,
        out=out / "search",
        progress=False,
    )
    extract([out / "search"], out=out / "demos", choice=Choice("best"), cells=cell)
    training: dict[str, Any] = {
        "steps": steps,
        "seed": seed,
        "ranks": ranks,
        "settings": {"view.random_actions": noise},
        "progress": progress,
    }
    trained = robustify(out / "demos", out=out / "policy", **training)
    tested = evaluate(out / "policy", episodes=episodes, seed=seed, at_least=[SOLVED])
    view = PlainView(random_actions=noise)
    blind = evaluate_replay(out / "demos", view, episodes=episodes, seed=seed, at_least=[SOLVED])
    result: dict[str, Any] = {
        "env": env,
        "noise": noise,
        "search_frames": search.frames,
        "training_steps": trained.steps,
        "training_seconds": trained.seconds,
        "policy_success": success(tested),
        "blind_replay_success": success(blind),
        "seconds": round(time.monotonic() - began, 1),
    }
    if plain_ppo:
        control(env, out=out / "ppo", **training)
        result["plain_ppo_success"] = success(evaluate(out / "ppo", episodes=episodes, seed=seed, at_least=[SOLVED]))
    return result


def success(tested: Evaluation) -> float:
    """Share of episodes that reached the goal."""
    (share,) = tested.reached.values()
    return share


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/minigrid"))
    parser.add_argument("--env", default="MiniGrid-DoorKey-8x8-v0")
    parser.add_argument("--noise", type=float, default=0.2, help="probability that an action is replaced")
    parser.add_argument("--steps", type=int, default=400_000, help="agent steps of training")
    parser.add_argument("--episodes", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plain-ppo", action="store_true", help="train a control with as many steps too")
    print(json.dumps(end_to_end(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
