"""The results of each group of runs, beside the paper's: the table, and the human-normalised bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goexplore.report._groups import Group
from goexplore.report._paper import PaperGame, human_normalised, paper_game
from goexplore.report._statistics import mean_over_seeds
from goexplore.report._style import COLOURS, INK, MUTED, PAPER, Drawn, Figures, drawing, thousands_separated

PAPER_GREY = "#9aa1ab"
SMALLEST_PERCENT = 1.0
COLUMNS = (
    "game",
    "settings",
    "seeds",
    "seeds_with_an_end",
    "end_score_mean",
    "end_score_low_95",
    "end_score_high_95",
    "archive_score_mean",
    "frames_mean",
    "core_hours_total",
    "cells_mean",
    "paper_exploration",
    "paper_frames",
    "average_human",
    "state_of_the_art_policies",
    "caveats",
)


@dataclass(frozen=True, slots=True)
class Result:
    """What a group of runs came to. All of ours are search scores."""

    group: Group
    ends: int
    """Seeds that reached an end of episode."""
    end_mean: float | None
    """Mean over seeds of the best end-of-episode score, the paper's measure of a search."""
    end_low: float | None
    end_high: float | None
    archive_mean: float
    """Mean over seeds of the highest score in a cell or at an end."""
    frames: float
    """Mean over seeds."""
    frames_range: tuple[int, int]
    core_hours: float
    """Of all seeds together."""
    cells: float
    paper: PaperGame | None

    def as_row(self) -> tuple[Any, ...]:
        """For the table's file."""
        paper = self.paper
        return (
            self.group.game,
            self.group.settings,
            len(self.group.runs),
            self.ends,
            self.end_mean,
            self.end_low,
            self.end_high,
            self.archive_mean,
            self.frames,
            self.core_hours,
            self.cells,
            *((paper.exploration, paper.frames, paper.average_human, paper.state_of_the_art) if paper else [None] * 4),
            "; ".join(self.group.caveats),
        )


def result_of(group: Group) -> Result:
    """Sums a group up."""
    runs = group.runs
    ends = [run.end_score for run in runs if run.end_score is not None]
    over = mean_over_seeds(np.array(ends)[:, None]) if ends else None
    several = over is not None and over.seeds > 1
    return Result(
        group=group,
        ends=len(ends),
        end_mean=float(over.mean[0]) if over else None,
        end_low=float(over.low[0]) if over and several else None,
        end_high=float(over.high[0]) if over and several else None,
        archive_mean=float(np.mean([run.best_score for run in runs])),
        frames=float(np.mean([run.frames for run in runs])),
        frames_range=(min(run.frames for run in runs), max(run.frames for run in runs)),
        core_hours=float(sum(run.core_hours for run in runs)),
        cells=float(np.mean([run.cells for run in runs])),
        paper=paper_game(runs[0].rom),
    )


def score(value: float | None) -> str:
    """1,234 or 12.3; a dash for none."""
    if value is None:
        return "–"
    text = f"{value:,.0f}" if value == int(value) or abs(value) >= 100 else f"{value:,.1f}"
    return text.replace("-", "−")


def in_millions(frames: float) -> str:
    """Frames in millions: 0.12, 3.4 or 2,000."""
    return f"{frames / 1e6:,.3g}" if frames < 1e9 else f"{frames / 1e6:,.0f}"


@dataclass(frozen=True, slots=True)
class Bar:
    """Ours and the paper's, as percentages of the average human."""

    name: str
    ours: float
    paper: float
    by: str
    frames: float
    paper_frames: int
    end_mean: float


def bars_of(results: Sequence[Result]) -> tuple[list[Bar], list[str]]:
    """Bars, highest last, and the names of what has none because a ratio would mean nothing."""
    bars, without = [], []
    for result in results:
        if result.paper is None or result.end_mean is None:
            continue
        ours = human_normalised(result.end_mean, result.paper)
        paper = human_normalised(result.paper.exploration, result.paper)
        if ours is None or paper is None:
            without.append(result.group.name)
            continue
        frames = result.paper.frames
        bars.append(
            Bar(result.group.name, ours.percent, paper.percent, ours.by, result.frames, frames, result.end_mean)
        )
    return sorted(bars, key=lambda bar: bar.ours), without


def draw_bars(figures: Figures, bars: Sequence[Bar], name: str) -> Drawn:
    """Horizontal bars on a logarithmic scale. What is too small for the scale is a mark at its left edge."""
    smallest = min([percent for bar in bars for percent in (bar.ours, bar.paper) if percent > 0], default=100.0)
    edge = 10.0 ** np.floor(np.log10(min(SMALLEST_PERCENT * 10, max(smallest, SMALLEST_PERCENT))))
    largest = max([100.0, *(bar.ours for bar in bars), *(bar.paper for bar in bars)])
    with drawing(6.8, 0.9 + 0.46 * len(bars)) as figure:
        panel = figure.add_subplot()
        panel.set_xscale("log")
        panel.set_xlim(edge, 10.0 ** np.ceil(np.log10(largest * 1.2)))
        for place, bar in enumerate(bars):
            for percent, frames, colour, who, up in (
                (bar.ours, bar.frames, COLOURS[0], "ours", 0.19),
                (bar.paper, float(bar.paper_frames), PAPER_GREY, "paper", -0.19),
            ):
                shown = max(percent, edge)
                if percent > edge:
                    panel.barh(place + up, percent - edge, left=edge, height=0.34, color=colour, linewidth=0)
                else:
                    panel.plot(edge, place + up, marker="<", ms=4, color=colour, clip_on=False)
                said = f"{who} {_percent(percent)} · {in_millions(frames)} M frames"
                panel.annotate(
                    said,
                    (shown, place + up),
                    xytext=(5, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=6.8,
                    color=INK if who == "ours" else MUTED,
                    annotation_clip=False,
                    bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.6},
                )
        panel.axvline(100, color=INK, linewidth=0.9)
        panel.annotate(
            "average human",
            (100, 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=7.5,
            color=INK,
        )
        panel.set_yticks(range(len(bars)), [bar.name + (" *" if bar.by == "human" else "") for bar in bars])
        panel.tick_params(axis="y", labelcolor=INK)
        panel.grid(visible=False, axis="y")
        panel.minorticks_off()
        panel.set_ylim(-0.6, len(bars) - 0.4)
        panel.set_xlabel("percentage of the average human score (logarithmic)")
        thousands_separated(panel.xaxis)
        columns = ("game", "ours_percent", "ours_score", "ours_frames", "paper_percent", "paper_frames", "divided_by")
        rows = [(b.name, b.ours, b.end_mean, b.frames, b.paper, b.paper_frames, b.by) for b in bars]
        return figures.save(figure, name, columns=columns, rows=rows)


def _percent(percent: float) -> str:
    text = f"{percent:,.0f}%" if abs(percent) >= 10 or percent == 0 else f"{percent:,.2g}%"
    return text.replace("-", "−")
