"""Runs of policy-based Go-Explore: cells by how they were found, returns, and scores.

The score of a cell was reached once, and is not a policy's; how often a policy gets there again stands beside it, as
the share of returns, and what its episodes come to has a panel of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.errors import InputError
from goexplore.report._runs import Warn, read_each
from goexplore.report._statistics import thinned
from goexplore.report._style import COLOURS, Drawn, Figures, drawing, millions, thousands_separated
from goexplore.report._trainings import metric_lines, numbers_of
from goexplore.runs import read_json

FORMAT = "goexplore-policy-based"
WAYS = ("returning", "random", "policy")
RETURNS = {"returned": "chosen", "return_rate_best": "best", "return_rate_uniform": "each cell alike"}
NUMBERS = ("cells", "best_score", "score", *(f"found_{way}" for way in WAYS), *RETURNS)
COLUMNS = ("run", "steps", "hours", *NUMBERS)
PANEL = (3.1, 2.5)


@dataclass(frozen=True, slots=True)
class ReturnTest:
    """What `goexplore evaluate` found."""

    to: str
    episodes: int
    temperature: float
    arrived: float
    interval: tuple[float, float]
    scored: float | None
    """Share that had the score which was asked for, wherever it got to."""
    score: float


@dataclass(frozen=True, slots=True)
class PolicyBasedRun:
    """A run's folder, as far as a report needs it."""

    path: Path
    env_id: str
    cells: str
    seed: int
    ranks: int
    steps: NDArray[np.int64]
    hours: NDArray[np.float64]
    numbers: dict[str, NDArray[np.float64]]
    tests: list[ReturnTest]


def is_policy_based(path: Path) -> bool:
    """Whether a folder holds such a run."""
    try:
        content = read_json(path / "config.json")
    except InputError:
        return False
    return isinstance(content, dict) and content.get("format") == FORMAT


def read_policy_based(paths: Sequence[Path], *, warn: Warn) -> list[PolicyBasedRun]:
    """Reads runs; whatever cannot be read is named in a warning and left out."""
    return read_each(paths, lambda path: _read(path, warn=warn), warn=warn)


def _read(path: Path, *, warn: Warn) -> PolicyBasedRun:
    config, kept = read_json(path / "config.json"), metric_lines(path)
    return PolicyBasedRun(
        path=path,
        env_id=str(config["env"]["id"]),
        cells=str(config["cells"]),
        seed=int(config["seed"]),
        ranks=int(config["ranks"]),
        steps=np.array([line["steps"] for line in kept], np.int64),
        hours=numbers_of(kept, "seconds") / 3600,
        numbers={name: numbers_of(kept, name) for name in NUMBERS},
        tests=read_each(sorted(path.glob("evaluations/returns-*.json")), _test, warn=warn),
    )


def _test(file: Path) -> ReturnTest:
    saved = read_json(file)
    low, high = saved["arrived_interval"]
    return ReturnTest(
        to=str(saved["to"]),
        episodes=int(saved["episodes"]),
        temperature=float(saved["temperature"]),
        arrived=float(saved["arrived"]),
        interval=(float(low), float(high)),
        scored=None if saved["scored"] is None else float(saved["scored"]),
        score=float(saved["score"]),
    )


def draw_policy_based(figures: Figures, run: PolicyBasedRun, name: str) -> Drawn:
    """One run: cells by how they were found, how often returns arrive, what episodes score, and the best score."""
    at = thinned(np.arange(len(run.steps)))
    x = millions(run.steps[at])
    with drawing(2 * PANEL[0], 2 * PANEL[1]) as figure:
        (found, returns), (score, best) = figure.subplots(2, 2)
        for way, colour in zip(WAYS, COLOURS, strict=False):
            found.plot(x, run.numbers[f"found_{way}"][at], color=colour, label=way)
        for (column, label), colour in zip(RETURNS.items(), COLOURS, strict=False):
            returns.plot(x, 100 * run.numbers[column][at], color=colour, label=label)
        score.plot(x, run.numbers["score"][at], color=COLOURS[0])
        best.plot(x, run.numbers["best_score"][at], color=COLOURS[0], drawstyle="steps-post")
        found.set(title=run.env_id, ylabel="cells found by")
        returns.set(ylabel="returns that arrive (%)", ylim=(0, 102))
        score.set(ylabel="mean score of training episodes")
        best.set(ylabel="best score in the archive")
        for panel in (found, returns, score, best):
            panel.set_xlabel("agent steps (millions)")
            panel.set_xlim(left=0)
            panel.locator_params(nbins=5)
            thousands_separated(panel.yaxis)
        for panel in (found, returns):
            panel.legend(frameon=False, fontsize=7)
        return figures.save(figure, name, columns=COLUMNS, rows=_rows(run, at))


def _rows(run: PolicyBasedRun, at: NDArray[np.int64]) -> list[tuple[Any, ...]]:
    columns = [run.steps, run.hours, *(run.numbers[name] for name in NUMBERS)]
    return [(run.path.name, *row) for row in zip(*(column[at].tolist() for column in columns), strict=True)]
