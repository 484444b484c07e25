"""Scores and archive sizes against frames (the paper's Extended Data figures of the exploration phase)."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from goexplore.report._groups import Group
from goexplore.report._runs import Run
from goexplore.report._statistics import Curve, Mean, mean_curve, thinned
from goexplore.report._style import (
    COLOURS,
    MUTED,
    Drawn,
    Figures,
    drawing,
    millions,
    spread_labels,
    thousands_separated,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = ("game", "line", "frames", "seeds", "mean", "low_95", "high_95", "single_seed")
MOST_SEED_LINES = 10
PANEL = (4.6, 2.7)


@dataclass(frozen=True, slots=True)
class Quantity:
    """Something that changes over a run."""

    name: str
    axis: str
    of: Callable[[Run], Curve | None]
    steps: bool
    """Whether it jumps, as a best score does."""


def end_scores(run: Run) -> Curve | None:
    """Best end-of-episode score, from the first end on; None if no episode has ended."""
    known = np.isfinite(run.metrics.end_score)
    return Curve(run.metrics.frames[known], run.metrics.end_score[known], jumps=True) if known.any() else None


def archive_sizes(run: Run) -> Curve:
    """Cells in the archive."""
    return Curve(run.metrics.frames, run.metrics.cells.astype(np.float64), jumps=False)


SCORE = Quantity("score", "best end-of-episode score", end_scores, steps=True)
CELLS = Quantity("cells", "cells in the archive", archive_sizes, steps=False)


@dataclass(frozen=True, slots=True)
class Line:
    """A group of runs in a figure: each seed's curve, and their mean where there are several."""

    group: Group
    seeds: list[tuple[int, Curve]]
    mean: tuple[NDArray[np.int64], Mean] | None
    refits: NDArray[np.int64]

    @property
    def label(self) -> str:
        """What is written beside it."""
        known, runs = len(self.seeds), len(self.group.runs)
        count = f"{known} seed{'s' if known > 1 else ''}" if known == runs else f"{known} of {runs} seeds"
        return "\n".join([*textwrap.wrap(self.group.label, 22), count])

    def end(self) -> float:
        """Height at which it ends."""
        if self.mean is not None:
            return float(self.mean[1].mean[-1])
        return float(np.mean([curve.values[-1] for _, curve in self.seeds]))


def lines_of(groups: Sequence[Group], quantity: Quantity) -> list[Line]:
    """A line for each group that has something to show."""
    lines = []
    for group in groups:
        curves = [(run.seed, quantity.of(run)) for run in group.runs]
        seeds = [(seed, curve) for seed, curve in curves if curve is not None]
        if seeds:
            refits = np.unique(np.concatenate([run.metrics.refit_frames for run in group.runs]))
            mean = mean_curve([curve for _, curve in seeds]) if len(seeds) > 1 else None
            lines.append(Line(group, seeds, mean, refits))
    return lines


def draw_game(figures: Figures, groups: Sequence[Group], quantity: Quantity, name: str) -> Drawn | None:
    """One game's figure; None if there is nothing to draw."""
    lines = lines_of(groups, quantity)
    if not lines:
        return None
    with drawing(*PANEL) as figure:
        panel = figure.add_subplot()
        _panel(panel, lines, quantity)
        figure.draw_without_rendering()
        _label(panel, lines)
        return figures.save(figure, name, columns=COLUMNS, rows=_data(lines))


def draw_all(figures: Figures, games: Sequence[Sequence[Group]], quantity: Quantity, name: str) -> Drawn:
    """All games in one figure, for a paper."""
    shown = [lines for groups in games if (lines := lines_of(groups, quantity))]
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    with drawing(3.4 * columns, 2.1 * rows) as figure:
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for panel, lines in zip(panels, shown, strict=False):
            _panel(panel, lines, quantity)
            panel.set(xlabel="", ylabel="")
        for panel in panels[len(shown) :]:
            panel.remove()
        figure.supxlabel("frames (millions)", fontsize=8, color=MUTED)
        figure.supylabel(quantity.axis, fontsize=8, color=MUTED)
        figure.draw_without_rendering()
        for panel, lines in zip(panels, shown, strict=False):
            _label(panel, lines)
        return figures.save(figure, name, columns=COLUMNS, rows=[row for lines in shown for row in _data(lines)])


def _panel(panel: Axes, lines: Sequence[Line], quantity: Quantity) -> None:
    style: Any = "steps-post" if quantity.steps else "default"
    for place, line in enumerate(lines):
        colour, dashes = COLOURS[place % len(COLOURS)], "--" if place >= len(COLOURS) else "-"
        alone = len(line.seeds) == 1
        if len(line.seeds) <= MOST_SEED_LINES or line.mean is None:
            for _, curve in line.seeds:
                frames = thinned(curve.frames)
                look = (1.4, 1.0) if alone else (0.6, 0.4)
                panel.plot(
                    millions(frames),
                    curve.at(frames),
                    dashes,
                    drawstyle=style,
                    color=colour,
                    linewidth=look[0],
                    alpha=look[1],
                )
        if line.mean is not None:
            frames, mean = line.mean
            x = millions(frames)
            step: Literal["post"] | None = "post" if quantity.steps else None
            panel.fill_between(x, mean.low, mean.high, step=step, color=colour, alpha=0.18, linewidth=0)
            panel.plot(x, mean.mean, dashes, drawstyle=style, color=colour, linewidth=1.5)
        if quantity is CELLS and len(line.refits):
            rug = thinned(line.refits, 200)
            at = panel.get_xaxis_transform()
            panel.plot(millions(rug), np.full(len(rug), 0.02), "|", color=colour, alpha=0.5, ms=5, transform=at)
    panel.set_title(lines[0].group.title)
    panel.set_xlabel("frames (millions)")
    panel.set_ylabel(quantity.axis)
    panel.set_xlim(left=0)
    panel.locator_params(nbins=5)
    if quantity is CELLS or panel.get_ylim()[0] >= 0:
        panel.set_ylim(bottom=0)
    flat = [curve.values for line in lines for _, curve in line.seeds]
    if min(values.min() for values in flat) == max(values.max() for values in flat):
        value = float(flat[0][0])  # nothing happened: a scale of one point
        panel.set_ylim(value - 0.1, value + 1)
    for axis in (panel.xaxis, panel.yaxis):
        thousands_separated(axis)


def _label(panel: Axes, lines: Sequence[Line]) -> None:
    spread_labels(panel, [(line.end(), line.label, COLOURS[at % len(COLOURS)]) for at, line in enumerate(lines)])


def _data(lines: Sequence[Line]) -> list[tuple[Any, ...]]:
    """Each seed's curve, then the mean, as drawn."""
    rows: list[tuple[Any, ...]] = []
    for line in lines:
        told = (line.group.game, line.group.label or line.group.settings)
        for seed, curve in line.seeds:
            frames = thinned(curve.frames)
            rows += [
                (*told, at, 1, value, None, None, seed)
                for at, value in zip(frames.tolist(), curve.at(frames).tolist(), strict=True)
            ]
        if line.mean is not None:
            at, mean = line.mean
            columns = (at.tolist(), mean.mean.tolist(), mean.low.tolist(), mean.high.tolist())
            rows += [
                (*told, frame, mean.seeds, middle, low, high, None)
                for frame, middle, low, high in zip(*columns, strict=True)
            ]
    return rows
