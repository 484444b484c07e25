"""Where the time of a rollout goes."""

from __future__ import annotations

import time
from typing import Any

from goexplore.bench._engine import Engine
from goexplore.exploration import Roller

BREAKDOWN_TASKS = 40


def breakdown(engine: Engine) -> dict[str, float]:
    """Runs some tasks in this process with a stopwatch on every part of a rollout."""
    roller = Roller(engine.spec)
    roller.learn(engine.loop.everything())
    clock = _Stopwatch()
    env = roller._env
    clock.watch(env, "step", "step")
    clock.watch(roller, "_snapshot", "snapshot")
    clock.watch(roller, "_return_to", "return")
    clock.watch(roller._cells, "key", "key")
    if hasattr(env, "_read"):
        clock.watch(env, "_read", "observation")
    tasks = engine.copied_loop().ask()[:BREAKDOWN_TASKS]
    for task in tasks[:4]:
        roller.run(task)
    clock.seconds.clear()
    started = time.perf_counter()
    for task in tasks:
        roller.run(task)
    total = time.perf_counter() - started
    share = {name: spent / total for name, spent in clock.seconds.items()}
    observation = share.get("observation", 0.0)
    shares = {
        "emulator_share": share["step"] - observation,
        "observation_share": observation,
        "cell_key_share": share["key"],
        "snapshot_share": share.get("snapshot", 0.0),
        "return_share": share["return"],
    }
    shares["bookkeeping_share"] = 1.0 - sum(shares.values())
    return {name: round(value, 4) for name, value in shares.items()}


class _Stopwatch:
    """Replaces methods of objects by timed ones."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def watch(self, owner: Any, method: str, name: str) -> None:
        original = getattr(owner, method)

        def timed(*arguments: Any) -> Any:
            started = time.perf_counter()
            try:
                return original(*arguments)
            finally:
                self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started

        setattr(owner, method, timed)
