"""The page: one HTML file with everything in it. Whatever comes out of a run is escaped."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import metadata
from pathlib import Path

from goexplore.report._css import CSS
from goexplore.report._policy_based import PolicyBasedRun
from goexplore.report._results import Result, in_millions, score
from goexplore.report._style import Drawn, data_uri
from goexplore.report._trainings import TrainingRun

LARGEST_VIDEO = 8_000_000
VIDEO_BYTES = 64_000_000
"""Of all videos in a page together; more are linked."""


@dataclass(frozen=True, slots=True)
class RunCard:
    """What the page says about one run."""

    name: str
    summary: str
    facts: list[tuple[str, str]]
    resume: str | None
    video: Path | None
    sheet: Drawn | None
    without_pictures: str
    """Why there is no contact sheet; empty if there is one."""


@dataclass(slots=True)
class Page:
    """The parts of a report, in the order in which they are shown."""

    title: str
    lead: str
    warnings: list[str] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    scores: list[tuple[str, Drawn]] = field(default_factory=list)
    """A caption and a figure for each game."""
    without_ends: list[str] = field(default_factory=list)
    """Groups in which no episode has ended."""
    cells: list[tuple[str, Drawn]] = field(default_factory=list)
    successes: list[tuple[str, Drawn]] = field(default_factory=list)
    discoveries: list[tuple[str, Drawn]] = field(default_factory=list)
    bars: Drawn | None = None
    bars_said: str = ""
    rooms: list[tuple[str, Drawn]] = field(default_factory=list)
    runs: list[RunCard] = field(default_factory=list)
    trainings: list[TrainingRun] = field(default_factory=list)
    returning: list[PolicyBasedRun] = field(default_factory=list)
    returning_curves: list[tuple[str, Drawn]] = field(default_factory=list)
    training_curves: list[tuple[str, Drawn]] = field(default_factory=list)


def write_page(page: Page, folder: Path) -> str:
    """The whole file.

    Args:
        page: what to show.
        folder: where it will be, for links to videos that are too large to carry along.
    """
    sections = [
        ("results", "Results", _results(page) if page.results else ""),
        ("scores", "Best score against frames", _scores(page)),
        ("archive", "Archive size against frames", _cells(page)),
        ("successes", "Successes against frames", _successes(page)),
        ("discoveries", "Exploration and controls", _discoveries(page)),
        ("human", "Human-normalised scores", _bars(page)),
        ("rooms", "Rooms", _rooms(page)),
        ("returning", "Returning with a policy", _returning(page)),
        ("policies", "Policies", _policies(page)),
        ("runs", "Runs", _runs(page, folder)),
    ]
    shown = [(anchor, heading, body) for anchor, heading, body in sections if body]
    links = "".join(f'<a href="#{anchor}">{heading}</a>' for anchor, heading, _ in shown)
    bodies = "".join(f'<section id="{anchor}"><h2>{heading}</h2>{body}</section>\n' for anchor, heading, body in shown)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(page.title)}</title><link rel="icon" href="data:,"><style>{CSS}</style></head>\n<body><main>'
        f'<header><h1>{escape(page.title)}</h1><p class="lead">{escape(page.lead)}</p><nav>{links}</nav></header>\n'
        f"{_warnings(page)}{bodies}"
        f"<footer>Written by goexplore {escape(metadata.version('goexplore'))}. Each figure is also a PNG and an SVG in"
        " figures/, beside a CSV with its data.</footer></main></body></html>\n"
    )


def _warnings(page: Page) -> str:
    items = "".join(f"<li>{escape(warning)}</li>" for warning in page.warnings)
    return f'<div class="card warnings"><strong>Warnings</strong><ul>{items}</ul></div>' if items else ""


def _results(page: Page) -> str:
    with_paper = any(result.paper for result in page.results)
    compared = [result for result in page.results if result.paper and result.ends]
    notes = list(dict.fromkeys(caveat for result in compared for caveat in result.group.caveats))
    marks = dict(zip(notes, "†‡§¶", strict=False))
    rows = "".join(_result(result, marks, with_paper) for result in page.results)
    theirs_over = (
        '<th colspan="2" class="theirs">paper: search</th><th class="theirs">people</th>'
        '<th class="theirs">policies</th>'
    )
    theirs = (
        '<th scope="col" class="theirs">exploration phase</th><th scope="col">frames (millions)</th>'
        '<th scope="col" class="theirs">average human</th><th scope="col" class="theirs">state of the art</th>'
    )
    said = (
        "Search scores: the best found by a deterministic search without sticky actions, as mean over seeds with a 95%"
        " bootstrap interval. They say what was reached once, not what a policy reaches again and again; a policy's"
        " scores are never in the same column."
    )
    if with_paper:
        said += (
            " The paper's searches ran for far more frames, which stand beside its scores; its state of the art is of"
            " policies under sticky actions."
        )
    notes_said = " ".join(f"{mark} {escape(note)}." for note, mark in marks.items())
    return (
        f'<p class="said">{said}</p><div class="card scroll"><table><thead><tr class="over"><th></th>'
        f'<th colspan="6">this report: search</th>{theirs_over if with_paper else ""}</tr>'
        '<tr><th scope="col" style="text-align:left">game</th><th scope="col">best end of episode</th>'
        '<th scope="col">seeds</th><th scope="col">best in archive</th><th scope="col">frames (millions)</th>'
        '<th scope="col">core-hours</th><th scope="col">cells</th>'
        f"{theirs if with_paper else ''}</tr></thead><tbody>{rows}</tbody></table></div>"
        f'<p class="said">Frames and cells are means over seeds; core-hours are of all seeds together. {notes_said}</p>'
    )


def _result(result: Result, marks: dict[str, str], with_paper: bool) -> str:
    group, paper = result.group, result.paper
    mark = "".join(marks.get(caveat, "") for caveat in group.caveats) if paper and result.ends else ""
    interval = (
        f"<small>{score(result.end_low)} to {score(result.end_high)}</small>" if result.end_low is not None else ""
    )
    ends = f"<small class='wrap'>{result.ends} reached an end</small>" if result.ends < len(group.runs) else ""
    fewest, most = result.frames_range
    unequal = f"<small>{in_millions(fewest)} to {in_millions(most)}</small>" if most > 1.05 * fewest else ""
    theirs = ""
    if with_paper:
        values = (
            [
                score(paper.exploration),
                in_millions(paper.frames),
                score(paper.average_human),
                score(paper.state_of_the_art),
            ]
            if paper
            else ["–"] * 4
        )
        theirs = "".join(
            f"<td{' class=theirs' if place != 1 else ''}>{value}</td>" for place, value in enumerate(values)
        )
    return (
        f'<tr><th scope="row">{escape(group.title)}<small>{escape(group.settings)}</small></th>'
        f"<td>{score(result.end_mean)}{mark}{interval}</td><td>{len(group.runs)}{ends}</td>"
        f"<td>{score(result.archive_mean)}</td><td>{in_millions(result.frames)}{unequal}</td>"
        f"<td>{_hours(result.core_hours)}</td><td>{result.cells:,.0f}</td>{theirs}</tr>"
    )


def _scores(page: Page) -> str:
    none = (
        f'<p class="said">No episode has ended yet in: {escape(", ".join(page.without_ends))}.</p>'
        if page.without_ends
        else ""
    )
    if not page.scores:
        return none
    ends_early = any(result.group.runs[0].env_kwargs.get("end_on_life_loss") for result in page.results)
    lives = " With end_on_life_loss (preset laptop) an episode ends at the first life lost." if ends_early else ""
    return (
        '<p class="said">The highest score at which an episode had ended by then, as in the paper; a curve begins'
        " where an end was first reached. Thick: mean over seeds, where all have a value; shaded: 95% bootstrap"
        " interval over seeds; thin: each seed. A single seed is drawn alone, and has no interval."
        f"{lives}</p>{none}{_grid(page.scores)}"
    )


def _cells(page: Page) -> str:
    return (
        '<p class="said">Cells in the archive. Where a run recomputes its representation, cells merge and the curve'
        f" dips; ticks on the axis mark these moments. Lines as above.</p>{_grid(page.cells)}"
        if page.cells
        else ""
    )


def _successes(page: Page) -> str:
    cards = "".join(f'<div class="card">{_figure(drawn, said, "", kind="pan")}</div>' for said, drawn in page.successes)
    return (
        '<p class="said">Left: runs that had found any reward by then. Right: steps of the shortest way to the best'
        f" score, for each of these runs.</p>{cards}"
        if cards
        else ""
    )


def _discoveries(page: Page) -> str:
    cards = "".join(
        f'<div class="card">{_figure(drawn, said, said, kind="pan")}</div>' for said, drawn in page.discoveries
    )
    return (
        '<p class="said">A search and controls on the same cells. An event counts once for each rollout of a search and'
        " once for each episode of a control, from the beginning; the scale is logarithmic above 1. An algorithm that"
        f" finds something now and then, and does not come back to it, shows a flat line there.</p>{cards}"
        if cards
        else ""
    )


def _bars(page: Page) -> str:
    if page.bars is None:
        return f'<p class="said">{escape(page.bars_said)}</p>' if page.bars_said else ""
    figure = _figure(page.bars, "Human-normalised scores", "", kind="narrow")
    return f'<p class="said">{escape(page.bars_said)}</p><div class="card">{figure}</div>'


def _rooms(page: Page) -> str:
    if not page.rooms:
        return ""
    cards = "".join(f'<div class="card">{_figure(drawn, said, said, kind="pan")}</div>' for said, drawn in page.rooms)
    return (
        '<p class="said">Every place the archive knows: a room\'s background is the dimmed frame of the first cell'
        " found in it; grey rooms were not reached. Cells that differ in their keys alone share a place: it counts as"
        f" found with the first of them, and its probability is their sum.</p>{cards}"
    )


def _policies(page: Page) -> str:
    if not page.trainings:
        return ""
    rows = "".join(_training(run) for run in page.trainings)
    cards = "".join(
        f'<div class="card">{_figure(drawn, said, "", kind="pan")}</div>' for said, drawn in page.training_curves
    )
    return (
        '<p class="said">Policy scores, under the noise a policy is trained and tested with (sticky actions and no-ops'
        " on Atari). In training: mean of the latest 100 episodes from reset. Tested: new episodes, mean with a 95%"
        " bootstrap interval. They have nothing to do with search scores, which are found without noise.</p>"
        '<div class="card scroll"><table><thead><tr><th scope="col" style="text-align:left">training</th>'
        '<th scope="col">agent steps (millions)</th><th scope="col">core-hours</th>'
        '<th scope="col">way to the start</th>'
        '<th scope="col">in training</th><th scope="col">until the first life lost</th><th scope="col">tested</th>'
        f'<th scope="col">episodes</th></tr></thead><tbody>{rows}</tbody></table></div>{cards}'
        '<p class="said">Dotted: until the first life is lost.</p>'
    )


def _returning(page: Page) -> str:
    if not page.returning:
        return ""
    rows = "".join(_returning_row(run) for run in page.returning)
    cards = "".join(
        f'<div class="card">{_figure(drawn, said, said, kind="pan")}</div>' for said, drawn in page.returning_curves
    )
    return (
        '<p class="said">Policy-based Go-Explore. The best score in the archive was reached once, under noise; returns'
        " say how often the policy gets to a cell again: in training to the cells that were chosen, the hardest"
        " and those in which the score has risen, and in tests to the one with the best score or to cells drawn evenly,"
        " in new episodes.</p>"
        '<div class="card scroll"><table><thead><tr><th scope="col" style="text-align:left">run</th>'
        '<th scope="col">agent steps (millions)</th><th scope="col">core-hours</th><th scope="col">cells</th>'
        '<th scope="col">best in archive</th><th scope="col">returns in training</th>'
        f'<th scope="col">returns tested</th></tr></thead><tbody>{rows}</tbody></table></div>{cards}'
    )


def _returning_row(run: PolicyBasedRun) -> str:
    tested = "".join(
        f"{test.arrived:.0%}<small>{test.interval[0]:.0%} to {test.interval[1]:.0%}; to {escape(test.to)},"
        f" {test.episodes} episodes, temperature {test.temperature:g}</small><small>mean score {score(test.score)}"
        + ("" if test.scored is None else f"; {test.scored:.0%} score as much")
        + "</small>"
        for test in run.tests
    )
    returned = run.numbers["returned"][-1]
    return (
        f'<tr><th scope="row">{escape(run.path.name)}<small>{escape(run.env_id)} · {escape(run.cells)} · seed'
        f" {run.seed}</small></th><td>{in_millions(int(run.steps[-1]))}</td>"
        f"<td>{_hours(float(run.hours[-1]) * run.ranks)}</td><td>{int(run.numbers['cells'][-1]):,}</td>"
        f"<td>{score(float(run.numbers['best_score'][-1]))}</td>"
        f"<td>{'–' if math.isnan(returned) else f'{returned:.0%}'}</td><td>{tested or '–'}</td></tr>"
    )


def _training(run: TrainingRun) -> str:
    tests = [
        (
            f"{score(test.mean)}<small>{score(test.interval[0])} to {score(test.interval[1])}</small>"
            + "".join(f"<small>{escape(words)}</small>" for words in test.reached),
            f"{test.episodes:,}<small>temperature {test.temperature:g}</small>",
        )
        for test in run.tests
    ] or [("–", "–")]
    way = "–" if math.isnan(run.way_to_start[-1]) else f"{run.way_to_start[-1]:.0%}"
    about = f"{run.kind} · {run.env_id} · seed {run.seed}"
    first = (
        f'<tr><th scope="row">{escape(run.path.name)}<small>{escape(about)}</small></th>'
        f"<td>{in_millions(int(run.steps[-1]))}</td><td>{_hours(float(run.hours[-1]) * run.ranks)}</td><td>{way}</td>"
        f"<td>{_known(run.score[-1])}</td><td>{_known(run.first_life_score[-1])}</td>"
    )
    rows = [f"{first}<td>{tests[0][0]}</td><td>{tests[0][1]}</td></tr>"]
    rows += [f'<tr><td colspan="6"></td><td>{tested}</td><td>{episodes}</td></tr>' for tested, episodes in tests[1:]]
    return "".join(rows)


def _known(value: float) -> str:
    return "–" if math.isnan(value) else score(float(value))


def _runs(page: Page, folder: Path) -> str:
    left = VIDEO_BYTES
    cards = []
    for run in page.runs:
        video, left = _video(run.video, folder, left)
        facts = "".join(
            f"<div{' class=wide' if len(value) > 30 else ''}><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
            for name, value in run.facts
        )
        resume = (
            f"<code>{escape(run.resume)}</code>"
            if run.resume
            else "only from Python, with the objects it used: <code>goexplore.resume(...)</code>"
        )
        said = "Cells spread evenly over the order in which they were found."
        sheet = (
            _figure(run.sheet, f"Cells of {run.name}", said, kind="pan")
            if run.sheet
            else f'<p class="said">{escape(run.without_pictures)}</p>'
        )
        cards.append(
            f'<details class="card"{" open" if len(page.runs) <= 6 else ""}><summary>{escape(run.name)}'
            f" <span>{escape(run.summary)}</span></summary><dl>{facts}"
            f'<div class="wide"><dt>go on with</dt><dd>{resume}</dd></div></dl>{video}{sheet}</details>'
        )
    return "".join(cards)


def _video(path: Path | None, folder: Path, left: int) -> tuple[str, int]:
    if path is None:
        return "", left
    size = path.stat().st_size
    if size < LARGEST_VIDEO and size <= left:
        source = data_uri(path.read_bytes(), "video/mp4")
        return f'<video controls muted playsinline preload="metadata" src="{source}"></video>', left - size
    link = os.path.relpath(path, folder)
    return f'<p class="said">Video ({size / 1e6:.0f} MB): <a href="{escape(link)}">{escape(path.name)}</a></p>', left


def _grid(figures: Sequence[tuple[str, Drawn]]) -> str:
    cards = "".join(f'<div class="card">{_figure(drawn, said, "")}</div>' for said, drawn in figures)
    return f'<div class="grid">{cards}</div>'


def _figure(drawn: Drawn, alt: str, caption: str, *, kind: str = "") -> str:
    dark = (
        f'<source media="screen and (prefers-color-scheme: dark)" srcset="{drawn.dark}" type="image/svg+xml">'
        if drawn.dark
        else ""
    )
    said = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    classes = {"pan": ' class="pan"', "narrow": ' class="narrow"'}.get(kind, "")
    picture = (
        f'<picture>{dark}<img src="{drawn.light}" alt="{escape(alt)}" width="{drawn.width}" height="{drawn.height}"'
        ' loading="lazy"></picture>'
    )
    if kind:
        picture = f'<div class="scroll">{picture}</div>'
    return f"<figure{classes}>{picture}{said}</figure>"


def _hours(hours: float) -> str:
    return f"{hours:,.0f}" if hours >= 100 else f"{hours:.2g}"
