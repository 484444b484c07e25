"""What a sweep writes: sweep.json (everything), sweep.csv (a line for each run) and sweep.md (a table for people)."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from goexplore.errors import InputError
from goexplore.exploration import atari_settings
from goexplore.games import AtariGame, game
from goexplore.runs import number, read_json, write_atomically, write_json

FORMAT = "goexplore-sweep"
FORMAT_VERSION = 1
BILLION = 1_000_000_000


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run of a sweep. All scores are search scores: no sticky actions, and not a policy's."""

    game: str
    """Name of its folder: the game, or the id with its odd characters replaced."""
    env_id: str
    seed: int
    run: str
    """The run folder, relative to the sweep's."""
    error: str | None = None
    """Why it failed the last time it was tried."""
    frames: int = 0
    """Raw frames explored."""
    steps: int = 0
    seconds: float | None = None
    core_seconds: float | None = None
    """Seconds times worker processes."""
    cells: int | None = None
    best_score: float | None = None
    """Highest score in the archive."""
    end_score: float | None = None
    """Highest score at an end of episode."""
    archive_digest: str | None = None
    best_verified: bool | None = None
    """Whether the best score replayed from reset; None before that was tried."""
    end_verified: bool | None = None
    mismatch: str | None = None
    """What differed in the replay."""
    random_frames: int | None = None
    """Raw frames of random play."""
    random_episodes: int | None = None
    random_mean: float | None = None
    """Mean score of the episodes of random play that ended."""
    random_best_score: float | None = None
    """Highest score of random play at any moment."""
    random_end_score: float | None = None
    """Highest score of random play at an end of episode."""

    @property
    def label(self) -> str:
        """How people call it."""
        return f"{self.game} seed {self.seed}"

    @property
    def replayed(self) -> str:
        """yes, no or not tried."""
        if self.best_verified is None:
            return "not tried"
        return "yes" if self.best_verified and self.end_verified is not False else "NO"

    def stages_left(self, *, frames: int, verify: bool, random: bool) -> tuple[str, ...]:
        """What is still to be done for a budget of frames."""
        if self.frames < frames:
            return ("explore", *["verify"] * verify, *["random"] * random)
        return (
            *["verify"] * (verify and self.best_verified is None),
            *["random"] * (random and (self.random_frames or 0) < self.frames),
        )


def paper_game(name: str) -> AtariGame | None:
    """The game of the paper that goes by a folder's name."""
    try:
        return game(name)
    except InputError:
        return None


def read_sweep(out: Path) -> tuple[dict[str, Any], list[RunRecord]]:
    """Reads sweep.json: its content, and the runs.

    Raises:
        InputError: there is none, or it is not ours.
    """
    path = out / "sweep.json"
    saved = read_json(path)
    if not isinstance(saved, dict) or saved.get("format") != FORMAT:
        raise InputError(f"{path} does not describe a goexplore sweep")
    if saved.get("format_version") != FORMAT_VERSION:
        raise InputError(
            f"{path} has format version {saved.get('format_version')}; this goexplore reads version {FORMAT_VERSION}:"
            " install the version that wrote it"
        )
    known = {field.name for field in dataclasses.fields(RunRecord)}
    try:
        return saved, [RunRecord(**{name: run[name] for name in run if name in known}) for run in saved["runs"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is damaged ({type(error).__name__}: {error})") from error


def write_sweep(out: Path, about: dict[str, Any], records: Sequence[RunRecord]) -> None:
    """Writes the three files, each whole or not at all."""
    runs = [dataclasses.asdict(record) for record in records]
    write_json(out / "sweep.json", {"format": FORMAT, "format_version": FORMAT_VERSION, **about, "runs": runs})
    _write_text(out / "sweep.csv", _csv(records))
    _write_text(out / "sweep.md", _markdown(about, records))


@dataclass(frozen=True, slots=True)
class GameSummary:
    """One game over its seeds, as text for a table; scores whose replay failed are left out."""

    game: str
    runs: str
    frames: str
    cells: str
    best_score: str
    end_score: str
    replayed: str
    random_mean: str
    random_best_score: str
    random_end_score: str
    paper_exploration: str
    paper_frames: str
    average_human: str


HEADINGS = GameSummary(
    game="game",
    runs="runs",
    frames="frames of each",
    cells="cells",
    best_score="best score",
    end_score="best at end of episode",
    replayed="replayed",
    random_mean="random play: mean",
    random_best_score="random play: best",
    random_end_score="random play: best at end",
    paper_exploration="paper: search score",
    paper_frames="paper: frames",
    average_human="average human",
)


def summarise(records: Sequence[RunRecord]) -> list[GameSummary]:
    """A line for each game: means over its runs, with the range where there are several."""
    by_game: dict[str, list[RunRecord]] = {}
    for record in records:
        by_game.setdefault(record.game, []).append(record)
    return [_summary(name, runs) for name, runs in by_game.items()]


def shown_columns(records: Sequence[RunRecord]) -> list[str]:
    """The columns of `GameSummary` that say something: no random play that was not asked for, no paper off Atari."""
    hidden: set[str] = set()
    if not any(record.random_frames for record in records):
        hidden |= {"random_mean", "random_best_score", "random_end_score"}
    if not any(paper_game(record.game) for record in records):
        hidden |= {"paper_exploration", "paper_frames", "average_human"}
    return [field.name for field in dataclasses.fields(GameSummary) if field.name not in hidden]


def _summary(name: str, runs: list[RunRecord]) -> GameSummary:
    paper, explored = paper_game(name), [run for run in runs if run.frames]
    played = [run for run in explored if run.random_frames]
    replays = [run.replayed for run in explored]
    return GameSummary(
        game=name,
        runs=f"{len(explored)}" if len(explored) == len(runs) else f"{len(explored)} of {len(runs)}",
        frames=_spread([run.frames for run in explored], len(explored)),
        cells=_spread([run.cells for run in explored], len(explored)),
        best_score=_spread([run.best_score for run in explored if run.best_verified is not False], len(explored)),
        end_score=_spread([run.end_score for run in explored if run.end_verified is not False], len(explored)),
        replayed=replays[0] if len(set(replays)) == 1 else f"{replays.count('yes')} of {len(replays)}",
        random_mean=_spread([run.random_mean for run in played], len(played)),
        random_best_score=_spread([run.random_best_score for run in played], len(played)),
        random_end_score=_spread([run.random_end_score for run in played], len(played)),
        paper_exploration=f"{paper.paper_exploration:,}" if paper else "",
        paper_frames=f"{paper.paper_frames // BILLION} billion" if paper else "",
        average_human=f"{paper.average_human:,}" if paper else "",
    )


def _spread(values: Sequence[float | None], runs: int) -> str:
    """`1,200 (900 to 1,500)`, and how many runs that is over if not all."""
    present = [value for value in values if value is not None]
    if not present:
        return "none" if runs else ""
    low, high, middle = (_rounded(value) for value in (min(present), max(present), fmean(present)))
    text = number(low) if low == high else f"{number(middle)} ({number(low)} to {number(high)})"
    return text if len(present) == runs else f"{text} in {len(present)} of {runs}"


def _rounded(value: float) -> float:
    """To what people read: whole numbers from a hundred on."""
    return round(value) if abs(value) >= 100 else round(value, 3)


def _csv(records: Sequence[RunRecord]) -> str:
    file = io.StringIO()
    names = [field.name for field in dataclasses.fields(RunRecord)]
    paper_names = ("paper_exploration", "paper_frames", "average_human")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*names, *paper_names])
    for record in records:
        paper = paper_game(record.game)
        writer.writerow(
            [getattr(record, name) for name in names]
            + ([getattr(paper, name) for name in paper_names] if paper else [None] * len(paper_names))
        )
    return file.getvalue()


def _markdown(about: dict[str, Any], records: Sequence[RunRecord]) -> str:
    summaries, names = summarise(records), shown_columns(records)
    random = "random_mean" in names
    settings = {name: value for name, value in about["settings"].items() if value not in (None, {})}
    lines = [
        "# Sweep",
        "",
        f"Settings: `{json.dumps(settings)}`; budget {about['frames']:,} frames a run.",
        "",
        "All scores are search scores: the best that a deterministic search without sticky actions reached. They say"
        " nothing about a policy. Means over runs, with the range in brackets; *replayed* says whether best and end"
        " score were reached again from reset in a fresh simulator, and scores that were not are left out."
        + (" Random play had as many frames as the search, in the same environment." if random else ""),
    ]
    atari = (
        atari_settings(about["settings"]["preset"], cells=about["settings"]["cells"] or "")
        | about["settings"]["env_kwargs"]
    )
    if atari.get("end_on_life_loss") and "paper_exploration" in names:
        lines += [
            "",
            "Atari episodes ended at the first life lost here (see each run's config.json); the paper's ended when all"
            " lives were lost, so its scores at an end of episode had more time.",
        ]
    lines += ["", _line([getattr(HEADINGS, name) for name in names])]
    lines.append("|" + "|".join("---" if name == "game" else "---:" for name in names) + "|")
    lines += [_line([getattr(summary, name) for name in names]) for summary in summaries]
    lines += _section("Failed", [f"{record.label}: {record.error}" for record in records if record.error])
    lines += _section("Did not replay", [f"{run.label}: {run.mismatch}" for run in records if run.mismatch])
    notes = {summary.game: paper.notes() for summary in summaries if (paper := paper_game(summary.game)) is not None}
    lines += _section("Notes", [f"{name}: {'; '.join(said)}" for name, said in notes.items() if said])
    return "\n".join(lines) + "\n"


def _line(parts: Sequence[str]) -> str:
    return "| " + " | ".join(part.replace("|", "\\|") for part in parts) + " |"


def _section(title: str, entries: list[str]) -> list[str]:
    return ["", f"## {title}", "", *(f"- {' '.join(entry.split())}" for entry in entries)] if entries else []


def _write_text(path: Path, text: str) -> None:
    write_atomically(path, lambda file: file.writelines([text.encode()]))
