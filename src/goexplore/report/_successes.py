"""How many runs have found a reward by when, and how short the way to it has become (Extended Data Fig. 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.report._groups import Group
from goexplore.report._runs import Run
from goexplore.report._statistics import thinned
from goexplore.report._style import COLOURS, Drawn, Figures, drawing, millions, spread_labels, thousands_separated

COLUMNS = ("game", "line", "seed", "frames", "best_score", "steps_of_the_shortest_way")
PANEL = (3.9, 2.7)


def first_success(run: Run) -> int | None:
    """Frames after which any reward had been found."""
    found = np.flatnonzero(run.metrics.best_score > 0)
    return int(run.metrics.frames[found[0]]) if len(found) else None


def draw_successes(figures: Figures, groups: Sequence[Group], name: str) -> Drawn | None:
    """One environment's figure; None if it has a score of more than one reward, or says nothing of lengths."""
    runs = [run for group in groups for run in group.runs]
    if runs[0].rom is not None or not any(np.isfinite(run.metrics.best_steps).any() for run in runs):
        return None
    with drawing(2 * PANEL[0], PANEL[1]) as figure:
        shares, lengths = figure.subplots(1, 2)
        ends = []
        for place, group in enumerate(groups):
            colour = COLOURS[place % len(COLOURS)]
            frames, share = _shares(group.runs)
            shares.plot(millions(frames), 100 * share, drawstyle="steps-post", color=colour, linewidth=1.5)
            for run in group.runs:
                at = thinned(np.flatnonzero((run.metrics.best_score > 0) & np.isfinite(run.metrics.best_steps)))
                steps, x = run.metrics.best_steps[at], millions(run.metrics.frames[at])
                lengths.plot(x, steps, drawstyle="steps-post", color=colour, linewidth=1.0, alpha=0.8)
                lengths.plot(x[:1], steps[:1], "o", color=colour, markersize=3)  # the first success
            found = sum(first_success(run) is not None for run in group.runs)
            ends.append((100 * float(share[-1]), f"{group.label or group.title}\n{found} of {len(group.runs)}", colour))
        shares.set(title=groups[0].title, ylabel="runs with a success (%)", ylim=(-2, 104))
        lengths.set(ylabel="steps of the shortest way")
        for panel in (shares, lengths):
            panel.set_xlabel("frames (millions)")
            panel.set_xlim(left=0)
            panel.locator_params(nbins=5)
            thousands_separated(panel.yaxis)
        lengths.set_ylim(bottom=0)
        figure.draw_without_rendering()
        spread_labels(shares, ends)
        return figures.save(figure, name, columns=COLUMNS, rows=_data(groups))


def _shares(runs: Sequence[Run]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Share of runs that have succeeded, from 0 frames to those of the longest run."""
    firsts = sorted(first for run in runs if (first := first_success(run)) is not None)
    counts = [0, *range(1, len(firsts) + 1), len(firsts)]
    return np.array([0, *firsts, max(run.frames for run in runs)], np.int64), np.array(counts) / len(runs)


def _data(groups: Sequence[Group]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for group in groups:
        for run in group.runs:
            told, metrics = (group.game, group.label or group.settings, run.seed), run.metrics
            for at in thinned(np.arange(len(metrics.frames))).tolist():
                steps = metrics.best_steps[at]
                known = int(steps) if np.isfinite(steps) else None
                rows.append((*told, int(metrics.frames[at]), float(metrics.best_score[at]), known))
    return rows
