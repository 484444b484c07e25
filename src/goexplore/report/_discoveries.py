"""What searches and controls have found in one environment, by agent steps (Extended Data, exploration and control).

Cells, and in how many rollouts or episodes something the environment tells of was so. No scores stand here, so that
searches and policies may share a figure.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.report._groups import Group
from goexplore.report._runs import Run
from goexplore.report._statistics import thinned
from goexplore.report._style import COLOURS, Drawn, Figures, drawing, millions, thousands_separated
from goexplore.report._trainings import TrainingRun

COLUMNS = ("environment", "run", "kind", "steps", "found", "count")
PANEL, LEGEND, MOST_COLUMNS = (2.8, 2.2), 0.3, 3
CELLS, SEARCH = "cells", "exploration"


@dataclass(frozen=True, slots=True)
class Finder:
    """A search or a control, as far as this figure needs it."""

    name: str
    kind: str
    environment: str
    steps: NDArray[np.int64]
    found: dict[str, NDArray[np.float64]]
    """Cells and events, counted from the beginning."""


def finders_of(groups: Sequence[Group], trainings: Sequence[TrainingRun]) -> dict[str, list[Finder]]:
    """By environment and its settings: searches and the controls beside them; only where there are controls."""
    controls = [_control(run) for run in trainings if np.isfinite(run.cells).any()]
    searches = [_search(run) for group in groups for run in group.runs]
    places = dict.fromkeys(finder.environment for finder in controls)
    return {place: [each for each in (*searches, *controls) if each.environment == place] for place in places}


def draw_discoveries(figures: Figures, finders: Sequence[Finder], name: str) -> Drawn:
    """One environment's figure."""
    what = list(dict.fromkeys(each for finder in finders for each in finder.found))
    kinds = list(dict.fromkeys(finder.kind for finder in finders))
    colours = {kind: COLOURS[place % len(COLOURS)] for place, kind in enumerate(kinds)}
    columns = min(MOST_COLUMNS, len(what))
    rows = -(-len(what) // columns)
    with drawing(PANEL[0] * columns, PANEL[1] * rows + LEGEND) as figure:
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for panel, found in zip(panels, what, strict=False):
            most = 1.0
            for finder in finders:
                counts = finder.found.get(found, np.zeros(len(finder.steps)))
                at = thinned(np.arange(len(counts)))
                panel.plot(millions(finder.steps[at]), counts[at], color=colours[finder.kind], label=finder.kind)
                most = max(most, float(counts[-1]))
            panel.set_yscale("symlog", linthresh=1)  # so that nothing at all can be told from once
            panel.set(title=found.replace("_", " "), xlabel="agent steps (millions)")
            panel.set(xlim=(0, None), ylim=(0, 2 * most))
            panel.locator_params(axis="x", nbins=5)
            thousands_separated(panel.yaxis)
        for panel in panels[len(what) :]:
            panel.remove()
        handles = {line.get_label(): line for line in panels[0].get_lines()}
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(kinds), frameon=False)
        return figures.save(figure, name, columns=COLUMNS, rows=[row for finder in finders for row in _data(finder)])


def _search(run: Run) -> Finder:
    metrics = run.metrics
    found = {CELLS: metrics.cells.astype(np.float64), **metrics.rollouts_with}
    return Finder(run.name, SEARCH, _environment(run.env_id, run.env_kwargs), metrics.steps, found)


def _control(run: TrainingRun) -> Finder:
    found = {CELLS: np.nan_to_num(run.cells), **run.episodes_with}
    return Finder(run.path.name, run.kind, _environment(run.env_id, run.env_kwargs), run.steps, found)


def _environment(env_id: str, kwargs: dict[str, Any]) -> str:
    """Its id, with the settings that differ from its own."""
    told = ", ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in kwargs.items()
    )
    return f"{env_id} ({told})" if told else env_id


def _data(finder: Finder) -> list[tuple[Any, ...]]:
    at = thinned(np.arange(len(finder.steps)))
    return [
        (finder.environment, finder.name, finder.kind, steps, found, count)
        for found, counts in finder.found.items()
        for steps, count in zip(finder.steps[at].tolist(), counts[at].tolist(), strict=True)
    ]
