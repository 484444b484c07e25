"""Trainings: scores from reset against steps and hours, and what tests came to.

Policy scores stand here and search scores elsewhere; the two are never in one figure or table.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.errors import InputError
from goexplore.report._runs import Warn, counted, read_each
from goexplore.report._statistics import thinned
from goexplore.report._style import COLOURS, Drawn, Figures, drawing, spread_labels, thousands_separated
from goexplore.runs import read_json

KINDS = {"goexplore-robustification": "robustified", "goexplore-control": "plain PPO"}
"""What config.json calls its format, and what people do."""
COUNTING = "PPO with counts"
COLUMNS = ("run", "steps", "hours", "score", "first_life_score", "way_to_start", "success")
PANEL = (3.3, 2.5)


@dataclass(frozen=True, slots=True)
class Test:
    """What `goexplore evaluate` found."""

    policy: str
    episodes: int
    temperature: float
    mean: float
    interval: tuple[float, float]
    median: float
    first_life_mean: float
    reached: tuple[str, ...] = ()
    """How many episodes reached a score that was asked for, in words."""


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """A training's folder, as far as a report needs it."""

    path: Path
    kind: str
    env_id: str
    env_kwargs: dict[str, Any]
    seed: int
    ranks: int
    frames_per_step: int
    steps: NDArray[np.int64]
    hours: NDArray[np.float64]
    score: NDArray[np.float64]
    """Mean of the latest training episodes from reset; not a number before there are any."""
    first_life_score: NDArray[np.float64]
    way_to_start: NDArray[np.float64]
    """Share of the way from the demonstrations' ends to their starts."""
    success: NDArray[np.float64]
    """Share of the latest episodes that matched their demonstration, wherever they began."""
    cells: NDArray[np.float64]
    """Distinct cells entered, where a control counts them."""
    episodes_with: dict[str, NDArray[np.float64]]
    """In how many episodes so far the environment said that something was so."""
    tests: list[Test]

    @property
    def label(self) -> str:
        """What is written beside its line."""
        return f"{self.path.name}\n{self.kind}"


def is_training(path: Path) -> bool:
    """Whether a folder holds a training."""
    try:
        content = read_json(path / "config.json")
    except InputError:
        return False
    return isinstance(content, dict) and content.get("format") in KINDS


def read_trainings(paths: Sequence[Path], *, warn: Warn) -> list[TrainingRun]:
    """Reads trainings; whatever cannot be read is named in a warning and left out."""
    return read_each(paths, lambda path: read_training(path, warn=warn), warn=warn)


def read_training(path: Path, *, warn: Warn) -> TrainingRun:
    """Reads one; tests that cannot be read are named in warnings.

    Raises:
        InputError: it has no metrics yet.
    """
    config, kept = read_json(path / "config.json"), metric_lines(path)

    def column(name: str) -> NDArray[np.float64]:
        return numbers_of(kept, name)

    env = _env(path, config)
    return TrainingRun(
        path=path,
        kind=COUNTING if config.get("config", {}).get("bonus") else KINDS[config["format"]],
        env_id=str(env["id"]),
        env_kwargs=dict(env.get("kwargs", {})),
        seed=int(config["seed"]),
        ranks=int(config["ranks"]),
        frames_per_step=round(kept[-1]["frames"] / max(1, kept[-1]["steps"])),
        steps=np.array([line["steps"] for line in kept], np.int64),
        hours=column("seconds") / 3600,
        score=column("score"),
        first_life_score=column("first_life_score"),
        way_to_start=column("way_to_start"),
        success=column("success"),
        cells=column("cells"),
        episodes_with=counted(kept, "episodes_with_"),
        tests=read_each(sorted(path.glob("evaluations/*.json")), _test, warn=warn),
    )


def metric_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a training's metrics.jsonl, in order.

    Raises:
        InputError: there are none yet.
    """
    lines: dict[int, dict[str, Any]] = {}
    metrics = path / "metrics.jsonl"
    for line in metrics.read_text().splitlines() if metrics.exists() else []:
        try:
            values = json.loads(line)
        except ValueError:
            continue  # half written
        lines[int(values["iteration"])] = values  # a later line of an iteration holds
    if not lines:
        raise InputError("it has no metrics yet")
    return [lines[iteration] for iteration in sorted(lines)]


def numbers_of(lines: Sequence[dict[str, Any]], name: str) -> NDArray[np.float64]:
    """A column of them; not a number where there was nothing to tell."""
    return np.array([math.nan if line.get(name) is None else line[name] for line in lines], np.float64)


def _env(path: Path, config: dict[str, Any]) -> dict[str, Any]:
    if "env" in config:
        return dict(config["env"])
    policies = sorted(path.glob("policies/*.json"))
    return dict(read_json(policies[-1])["env"]) if policies else {"id": "unknown"}


def _test(file: Path) -> Test:
    saved = read_json(file)
    low, high = saved["interval"]
    return Test(
        policy=Path(saved["policy"]).stem,
        episodes=int(saved["episodes"]),
        temperature=float(saved["temperature"]),
        mean=float(saved["mean"]),
        interval=(float(low), float(high)),
        median=float(saved["median"]),
        first_life_mean=float(saved["first_life_mean"]),
        reached=_reached(saved),
    )


def _reached(saved: dict[str, Any]) -> tuple[str, ...]:
    in_first_life = saved.get("reached_in_first_life", {})
    return tuple(
        f"{float(least):,g} or more: {float(share):.1%}"
        + (f", {float(in_first_life[least]):.1%} in the first life" if least in in_first_life else "")
        for least, share in saved.get("reached", {}).items()
    )


def draw_trainings(figures: Figures, runs: Sequence[TrainingRun], name: str) -> Drawn:
    """One environment's trainings: score against steps and against hours, and the way to the start.

    Where no episode begins at reset without a demonstration to match (robots), success stands in for the score.
    """
    scored = any(np.isfinite(run.score).any() for run in runs)
    heights = [run.score if scored else 100 * run.success for run in runs]
    label = "score from reset" if scored else "episodes that match (%)"
    with_way = any(np.isfinite(run.way_to_start).any() for run in runs)
    panels = 3 if with_way else 2
    with drawing(PANEL[0] * panels, PANEL[1]) as figure:
        drawn = figure.subplots(1, panels)
        for place, run in enumerate(runs):
            colour, at = COLOURS[place % len(COLOURS)], thinned(np.arange(len(run.steps)))
            for panel, x in ((drawn[0], run.steps / 1e6), (drawn[1], run.hours)):
                panel.plot(x[at], heights[place][at], color=colour, linewidth=1.4)
                panel.plot(x[at], run.first_life_score[at], ":", color=colour, linewidth=1.0)
            if with_way:
                drawn[2].plot(run.steps[at] / 1e6, 100 * run.way_to_start[at], color=colour, linewidth=1.4)
        drawn[0].set(title=runs[0].env_id, xlabel="agent steps (millions)", ylabel=label)
        drawn[1].set(xlabel="hours", ylabel=label)
        if with_way:
            drawn[2].set(xlabel="agent steps (millions)", ylabel="way to the start (%)", ylim=(0, 102))
        for panel in drawn:
            panel.set_xlim(left=0)
            panel.locator_params(nbins=5)
            thousands_separated(panel.yaxis)
        figure.draw_without_rendering()
        ends = [(_last(heights[at]), run.label, COLOURS[at % len(COLOURS)]) for at, run in enumerate(runs)]
        spread_labels(drawn[1], [(end, label, colour) for end, label, colour in ends if math.isfinite(end)])
        return figures.save(figure, name, columns=COLUMNS, rows=[row for run in runs for row in _rows(run)])


def _last(values: NDArray[np.float64]) -> float:
    known = values[np.isfinite(values)]
    return float(known[-1]) if len(known) else math.nan


def _rows(run: TrainingRun) -> list[tuple[Any, ...]]:
    at = thinned(np.arange(len(run.steps)))
    columns = (run.steps, run.hours, run.score, run.first_life_score, run.way_to_start, run.success)
    return [
        (run.path.name, *(None if math.isnan(value) else value for value in row))
        for row in zip(*(column[at].tolist() for column in columns), strict=True)
    ]
