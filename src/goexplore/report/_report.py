"""From run folders to a page."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from goexplore.errors import GoExploreError, InputError
from goexplore.report._curves import CELLS, SCORE, Quantity, draw_all, draw_game
from goexplore.report._discoveries import draw_discoveries, finders_of
from goexplore.report._groups import Group, group_runs, settings_of
from goexplore.report._page import Page, RunCard, write_page
from goexplore.report._pictures import Cells
from goexplore.report._policy_based import PolicyBasedRun, draw_policy_based, is_policy_based, read_policy_based
from goexplore.report._results import COLUMNS, Result, bars_of, draw_bars, in_millions, result_of, score
from goexplore.report._rooms import CellSize, draw_rooms
from goexplore.report._runs import Run, Warn, find_runs, read_runs
from goexplore.report._sheet import COLUMNS as SHEET_COLUMNS
from goexplore.report._sheet import ROWS as SHEET_ROWS
from goexplore.report._sheet import draw_sheet
from goexplore.report._style import Drawn, Figures, drawing, write_table
from goexplore.report._successes import draw_successes
from goexplore.report._trainings import TrainingRun, draw_trainings, is_training, read_trainings
from goexplore.runs import clock, peek, write_atomically

MOST_SHEETS = 60
"""Runs up to which each has its pictures; with more, the best of each group."""


@dataclass(frozen=True, slots=True)
class ReportResult:
    """A report and what is in it."""

    page: Path
    runs: int
    games: int
    figures: list[str]
    """Names of the files in figures/, without their endings."""
    warnings: list[str]
    """What was left out, and why."""


def write_report(
    runs: Sequence[str | os.PathLike[str]],
    *,
    out: str | os.PathLike[str] = "report",
    title: str | None = None,
    trust: bool = False,
    warn: Warn = lambda message: None,
) -> ReportResult:
    """Writes index.html and figures/ for some runs.

    Args:
        runs: run folders, or folders with runs anywhere below them.
        out: the report's folder.
        title: of the page.
        trust: import the code that runs name (`package.module:name`), to show what their cells look like; for your
            own runs. Curves and tables need none.
        warn: told in one line about whatever is left out.

    Raises:
        InputError: there is nothing to report on, matplotlib is missing, or the folder cannot be written.
    """
    warnings: list[str] = []

    def note(message: str) -> None:
        if message not in warnings:
            warnings.append(message)
            warn(message)

    with drawing(1, 1):  # says so now if matplotlib is missing
        pass
    paths = find_runs([Path(run) for run in runs])
    trainings = read_trainings([path for path in paths if is_training(path)], warn=note)
    returning = read_policy_based([path for path in paths if is_policy_based(path)], warn=note)
    found = read_runs([path for path in paths if not is_training(path) and not is_policy_based(path)], warn=note)
    if not found and not trainings and not returning:
        raise InputError(f"none of {len(paths)} run folders can be reported on; the warnings say why")
    games = group_runs(found, warn=note)
    groups = [group for members in games.values() for group in members]
    folder = Path(out)
    with _writing(folder):
        figures = Figures(folder)
        results = [result_of(group) for group in groups]
        page = Page(
            title or _title(groups, [*trainings, *returning]), _lead(groups, trainings, returning), warnings, results
        )
        page.trainings, page.returning = trainings, returning
        page.returning_curves = _returning_curves(figures, returning)
        page.training_curves = _training_curves(figures, trainings)
        if results:
            write_table(figures.folder / "results.csv", COLUMNS, [result.as_row() for result in results])
        page.scores = _curves(figures, list(games.values()), SCORE)
        page.cells = _curves(figures, list(games.values()), CELLS)
        page.successes = _successes(figures, list(games.values()))
        page.discoveries = _discoveries(figures, groups, trainings)
        page.without_ends = [result.group.name for result in results if not result.ends]
        page.bars, page.bars_said = _bars(figures, results)
        _pictures(figures, groups, page, trust=trust, warn=note)
        html = write_page(page, folder)
        write_atomically(folder / "index.html", lambda file: file.writelines([html.encode()]))
    count = sum(len(group.runs) for group in groups)
    environments = {run.env_id for run in trainings} | {run.env_id for run in returning}
    return ReportResult(
        page=folder / "index.html",
        runs=count + len(trainings) + len(returning),
        games=len(games) + len(environments - {group.runs[0].env_id for group in groups}),
        figures=figures.written,
        warnings=warnings,
    )


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"the report {folder} cannot be written: {error.strerror or error}") from error


def _curves(figures: Figures, games: list[list[Group]], quantity: Quantity) -> list[tuple[str, Drawn]]:
    shown = []
    for groups in games:
        drawn = draw_game(figures, groups, quantity, f"{quantity.name}-{_slug(groups[0].game)}")
        if drawn is not None:
            shown.append((f"{groups[0].title}: {quantity.axis} against frames", drawn))
    if len(shown) > 1:
        draw_all(figures, games, quantity, f"{quantity.name}-all")
    return shown


def _successes(figures: Figures, games: list[list[Group]]) -> list[tuple[str, Drawn]]:
    drawn = [(groups[0], draw_successes(figures, groups, f"success-{_slug(groups[0].game)}")) for groups in games]
    return [(f"{group.title}: successes against frames", each) for group, each in drawn if each is not None]


def _discoveries(
    figures: Figures, groups: Sequence[Group], trainings: Sequence[TrainingRun]
) -> list[tuple[str, Drawn]]:
    return [
        (
            f"{place}: cells, and rollouts (exploration) or episodes (controls) in which something was so, against"
            " agent steps",
            draw_discoveries(figures, finders, f"discoveries-{_slug(place)}"),
        )
        for place, finders in finders_of(groups, trainings).items()
    ]


def _returning_curves(figures: Figures, runs: Sequence[PolicyBasedRun]) -> list[tuple[str, Drawn]]:
    names: set[str] = set()
    return [
        (
            f"{run.env_id}, {run.path.name}: cells by how they were found, returns, and scores",
            draw_policy_based(figures, run, _unique(f"returning-{_slug(run.env_id)}-{_slug(run.path.name)}", names)),
        )
        for run in runs
    ]


def _training_curves(figures: Figures, trainings: Sequence[TrainingRun]) -> list[tuple[str, Drawn]]:
    shown = []
    for env_id in dict.fromkeys(run.env_id for run in trainings):
        runs = [run for run in trainings if run.env_id == env_id]
        drawn = draw_trainings(figures, runs, f"training-{_slug(env_id)}")
        shown.append((f"{env_id}: policy score from reset against steps and hours", drawn))
    return shown


def _bars(figures: Figures, results: Sequence[Result]) -> tuple[Drawn | None, str]:
    bars, without = bars_of(results)
    no_bar = (
        f" No bar for {', '.join(without)}: the average human score there is 0 or less, and a ratio to it says nothing."
        if without
        else ""
    )
    if not bars:
        return None, no_bar.strip()
    by_human = [bar for bar in bars if bar.by == "human"]
    measure = {
        0: "(score − random) / (average human − random)",
        len(bars): "score / average human (*: no random score is known here, and the paper gives none)",
    }.get(
        len(by_human),
        "(score − random) / (average human − random), or score / average human where no random score is known (*)",
    )
    said = (
        "Our mean best end-of-episode score and the paper's exploration phase, each with the frames it took, as"
        f" {measure}. The scale is logarithmic; an arrowhead at its left edge stands for what is smaller, zero and"
        f" below included.{no_bar}"
    )
    return draw_bars(figures, bars, "human-normalised"), said


def _pictures(figures: Figures, groups: Sequence[Group], page: Page, *, trust: bool, warn: Warn) -> None:
    """Cards, contact sheets and room maps."""
    every = sum(len(group.runs) for group in groups) <= MOST_SHEETS
    names: set[str] = set()
    for group in groups:
        best = max(group.runs, key=lambda run: (run.end_score or 0.0, run.best_score, run.cells))
        for run in group.runs:
            slug = _unique(f"{_slug(run.game)}-{_slug(run.name)}", names)
            sheet, reason = (
                None,
                f"No contact sheet: with more than {MOST_SHEETS} runs, only the best of a setting has one.",
            )
            if every or run is best:
                sheet, reason = _look(figures, run, slug, page, trust=trust, warn=warn)
            page.runs.append(_card(run, sheet, reason, warn))


def _look(figures: Figures, run: Run, slug: str, page: Page, *, trust: bool, warn: Warn) -> tuple[Drawn | None, str]:
    """A run's contact sheet, or why it has none; room maps go onto the page."""

    def told(message: str) -> None:
        warn(f"{run.folder.path}: {message}")

    try:
        cells = Cells(run, trust=trust, warn=told)
        try:
            sheet = draw_sheet(figures, cells.frames(cells.spread(SHEET_COLUMNS * SHEET_ROWS)), f"sheet-{slug}")
            page.rooms += _maps(figures, run, cells, slug)
        finally:
            cells.close()
    except GoExploreError as error:
        return None, f"No pictures of its cells: {error}."
    return sheet, ""


def _maps(figures: Figures, run: Run, cells: Cells, slug: str) -> list[tuple[str, Drawn]]:
    rooms = cells.rooms()
    if not rooms:
        return []
    size, maps = CellSize.of(cells.function), []
    levels = sorted({cell.level for cell in rooms})
    for level in levels:
        here = [cell for cell in rooms if cell.level == level]
        where = f"{run.title}, {run.name}" + (f", level {level}" if level or len(levels) > 1 else "")
        count = f"{len({cell.room for cell in here})} rooms, {len(here):,} cells"
        for colour_by, words in (
            ("found", "by when each place was found"),
            ("probability", "by selection probability"),
        ):
            name = f"rooms-{slug}-level-{level}-{colour_by}"
            drawn = draw_rooms(figures, run.game, here, name, colour_by=colour_by, size=size)
            maps.append((f"{where}: {count}, coloured {words}.", drawn))
    return maps


def _card(run: Run, sheet: Drawn | None, reason: str, warn: Warn) -> RunCard:
    settings = settings_of(run)
    facts = [
        ("environment", run.env_id),
        ("cells are", run.cells_name),
        ("settings nearest to preset", ", ".join([settings.pop("preset"), *list(settings.values())[1:]])),
        ("seed", str(run.seed)),
        ("frames", f"{run.frames:,}"),
        ("steps", f"{int(run.metrics.steps[-1]):,}"),
        ("time", clock(float(run.metrics.seconds[-1]))),
        ("core-hours (hours × workers)", f"{run.core_hours:.3g}"),
        ("cells", f"{run.cells:,}"),
        ("best end of episode", score(run.end_score)),
        ("best in archive", score(run.best_score)),
        ("folder", str(run.folder.path)),
    ]
    try:
        loop, _ = peek(run.folder, warn=lambda message: warn(f"{run.folder.path}: {message}"))
        facts.append((f"archive digest at {loop.frames:,} frames", loop.archive.digest()))
    except GoExploreError as error:
        warn(f"{run.folder.path} has no archive to show: {error}")
    reached = f"end of episode {score(run.end_score)}" if run.end_score is not None else "no end of episode yet"
    summary = f"{run.title} · seed {run.seed} · {reached} · {in_millions(run.frames)} M frames · {run.cells:,} cells"
    return RunCard(run.name, summary, facts, run.resume_command(), run.video(), sheet, reason)


def _title(groups: Sequence[Group], trainings: Sequence[TrainingRun | PolicyBasedRun]) -> str:
    titles = list(dict.fromkeys([group.title for group in groups] or [run.env_id for run in trainings]))
    what = "Exploration of " if groups else "Training on "
    return what + (", ".join(titles) if len(titles) <= 3 else f"{len(titles)} games")


def _lead(groups: Sequence[Group], trainings: Sequence[TrainingRun], returning: Sequence[PolicyBasedRun]) -> str:
    runs = [run for group in groups for run in group.runs]
    frames, hours = sum(run.frames for run in runs), sum(run.core_hours for run in runs)
    games = len({group.game for group in groups})

    def many(count: int, word: str) -> str:
        return f"{count} {word}{'' if count == 1 else 's'}"

    said = []
    if runs:
        said.append(
            f"{many(len(runs), 'run')} of {many(games, 'environment')} in {many(len(groups), 'setting')}:"
            f" {in_millions(frames)} million frames, {hours:.2g} core-hours."
        )
    for which, word in ((trainings, "training"), (returning, "policy-based run")):
        if which:
            steps = sum(int(run.steps[-1]) for run in which)
            trained = sum(float(run.hours[-1]) * run.ranks for run in which)
            said.append(
                f"{many(len(which), word)}: {in_millions(steps)} million agent steps, {trained:.2g} core-hours."
            )
    return " ".join(said)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "run"


def _unique(name: str, taken: set[str]) -> str:
    free = name
    count = 2
    while free in taken:
        free, count = f"{name}-{count}", count + 1
    taken.add(free)
    return free
