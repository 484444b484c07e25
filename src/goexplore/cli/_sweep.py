"""The command `goexplore sweep`."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro
from rich.console import Console
from rich.table import Table

from goexplore.cli._commands import INTERRUPTED, Json
from goexplore.cli._output import emit
from goexplore.cli._search_options import Preset, SearchOptions, parse_settings

if TYPE_CHECKING:
    from goexplore.sweeps import SweepResult


@dataclass
class Sweep:
    """Explore many games with many seeds, replay what was found, and put it into one table.

    Each run is a run folder OUT/<game>/seed-<n> that every other command takes. The same command goes on where it
    stopped: finished runs are left alone, half-done ones are resumed, failed ones are tried again, and more games,
    seeds or frames may be asked for. Writes OUT/sweep.json, sweep.csv and sweep.md, beside the paper's search scores.

    For example:
      goexplore sweep MontezumaRevenge Freeway --seeds 0 1 2 --frames 2_000_000 --out runs/first
      goexplore sweep focus --preset paper --random --out runs/focus
      goexplore sweep all --jobs 8 --frames 200_000_000 --out runs/all
    """

    games: tyro.conf.Positional[tuple[str, ...]]
    """Games or environments: names (Alien, space_invaders), ids (ALE/Alien-v5, any Gymnasium id,
    package.module:name), or the words focus (the paper's 11 hard games) and all (its 55)."""
    seeds: tuple[int, ...] = (0,)
    """Seeds; each game is run once with each."""
    frames: int = 2_000_000
    """Raw frames of each run. The paper: 2 billion."""
    jobs: int = 1
    """Runs side by side, which share the cores. One at a time with all cores gives the first results soonest;
    as many as there are cores gives the most frames a second."""
    out: Path = Path("runs/sweep")
    """Folder of the sweep."""
    preset: Preset = "laptop"
    """Settings of the search, as for explore. For scores to hold against the paper's: paper."""
    cells: str | None = None
    """What counts as one place, as for explore."""
    search: SearchOptions = field(default_factory=SearchOptions)
    env_kwargs: tuple[str, ...] = ()
    """Settings of every environment as NAME=VALUE, for example end_on_life_loss=true."""
    random: bool = False
    """Also play as many frames at random in the same environment, to compare with. Uses one core of a run's."""
    no_verify: bool = False
    """Do not replay the best scores from reset."""
    checkpoint_seconds: float = 60.0
    """Time between checkpoints of a run."""
    json: Json = False
    """Print the result as one JSON object on the last line."""

    def run(self) -> int:
        """Sweeps."""
        from goexplore.sweeps import sweep

        result = sweep(
            self.games,
            seeds=self.seeds,
            frames=self.frames,
            out=self.out,
            jobs=self.jobs,
            preset=self.preset,
            cells=self.cells,
            env_kwargs=parse_settings(self.env_kwargs),
            verify=not self.no_verify,
            random=self.random,
            checkpoint_seconds=self.checkpoint_seconds,
            **self.search.settings(),
        )
        if result.stopped_by == "interrupt":
            print("stopped and saved; go on with the same command", file=sys.stderr, flush=True)
        if self.json:
            emit(_plain(result), as_json=True)
        else:
            _print(result)
        if result.stopped_by == "interrupt":
            return INTERRUPTED
        return 1 if result.failed or result.unverified else 0


def _plain(result: SweepResult) -> dict[str, Any]:
    return {
        "out": str(result.out),
        "table": str(result.table),
        "seconds": result.seconds,
        "stopped_by": result.stopped_by,
        "failed": result.failed,
        "unverified": result.unverified,
        "runs": [dataclasses.asdict(record) for record in result.records],
    }


def _print(result: SweepResult) -> None:
    from goexplore.sweeps import HEADINGS, shown_columns, summarise

    summaries = summarise(result.records)
    table = Table(title="search scores", title_justify="left", box=None, padding=(0, 2, 0, 0))
    columns = shown_columns(result.records)
    for name in columns:
        table.add_column(getattr(HEADINGS, name), justify="left" if name == "game" else "right", no_wrap=name == "game")
    for summary in summaries:
        table.add_row(*(getattr(summary, name) for name in columns))
    console = Console(file=sys.stdout)
    console.print(table)
    for title, entries in (("failed", result.failed), ("does not replay", result.unverified)):
        for entry in entries:
            console.print(f"{title}: {entry}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"table: {result.table}", highlight=False, markup=False, soft_wrap=True)
