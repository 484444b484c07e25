"""Run folders with made-up metrics: what a report needs for its curves, and nothing more."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from goexplore.envs import EnvSpec
from goexplore.exploration import preset_config
from goexplore.runs import Budget, RunConfig


def fake_run(
    path: Path,
    *,
    env_id: str = "goexplore/Chain-v0",
    cells: Any = "observation",
    seed: int = 0,
    frames: Sequence[int] = (1000, 2000, 3000),
    end_scores: Sequence[float | None] = (None, 10, 20),
    best: Sequence[tuple[float, int]] | None = None,
    sizes: Sequence[int] | None = None,
    refits: Sequence[int] = (),
    workers: Sequence[tuple[int, int]] = ((0, 2),),
    env_kwargs: dict[str, Any] | None = None,
    events: Sequence[dict[str, int]] | None = None,
    **exploration: Any,
) -> Path:
    """Writes a run.

    Args:
        path: its folder.
        env_id: environment.
        cells: cell function.
        seed: seed.
        frames: of each iteration.
        end_scores: of each iteration.
        best: best score and the steps of the shortest way to it, of each iteration.
        sizes: cells in the archive.
        refits: iterations at which the representation was recomputed.
        workers: (frames at which a session began, its workers).
        env_kwargs: settings of the environment.
        events: in how many rollouts of each iteration something was so.
        exploration: settings that differ from the preset laptop.
    """
    path.mkdir(parents=True)
    settings = preset_config("laptop", **exploration)
    config = RunConfig(EnvSpec(env_id, env_kwargs or {}), "observation", settings, seed, Budget(frames=10)).to_json()
    config["cells"] = cells  # as it would be written: an object without a name is a description
    (path / "config.json").write_text(json.dumps(config))
    lines = []
    for iteration, (at, end) in enumerate(zip(frames, end_scores, strict=True), 1):
        line: dict[str, Any] = {"iteration": iteration, "frames": at, "steps": at // 4, "seconds": at / 1000}
        line |= {"cells": sizes[iteration - 1] if sizes else 10 * iteration, "best_score": max(end or 0, 5.0)}
        if best is not None:
            line["best_score"], line["best_steps"] = best[iteration - 1]
        line |= {"end_score": end} if end is not None else {}
        line |= {"refit": [11, 8, 8]} if iteration in refits else {}
        if events is not None:
            line |= {f"rollouts_with_{name}": count for name, count in events[iteration - 1].items()}
        lines.append(json.dumps(line) + "\n")
    (path / "metrics.jsonl").write_text("".join(lines))
    (path / "provenance.json").write_text(json.dumps([{"from_frames": at, "workers": count} for at, count in workers]))
    return path


def fake_control(
    path: Path, *, env_id: str, env_kwargs: dict[str, Any], cells: Sequence[int], events: Sequence[dict[str, int]]
) -> Path:
    """Writes a control with counts: cells entered, and episodes in which something was so, after each iteration."""
    path.mkdir(parents=True)
    config = {
        "format": "goexplore-control",
        "env": {"id": env_id, "kwargs": env_kwargs},
        "config": {"bonus": 1.0},
        "seed": 0,
        "ranks": 2,
    }
    (path / "config.json").write_text(json.dumps(config))
    lines = []
    for iteration, (count, seen) in enumerate(zip(cells, events, strict=True), 1):
        line = {"iteration": iteration, "frames": 500 * iteration, "steps": 500 * iteration, "seconds": iteration}
        line |= {"cells": count} | {f"episodes_with_{name}": times for name, times in seen.items()}
        lines.append(json.dumps(line) + "\n")
    (path / "metrics.jsonl").write_text("".join(lines))
    return path
