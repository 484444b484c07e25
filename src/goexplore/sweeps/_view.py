"""What a person sees while a sweep goes on: one live table, or plain lines where there is no terminal."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from goexplore.runs import clock, number

PLAIN_SECONDS = 30.0
TAIL_BYTES = 8192


@dataclass(frozen=True, slots=True)
class RunStatus:
    """A run that is under way."""

    label: str
    stage: str
    frames: int = 0
    frames_per_second: float = 0.0
    cells: int = 0
    best_score: float | None = None
    end_score: float | None = None

    def text(self) -> str:
        """A few words for a line."""
        if self.stage != "exploring":
            return f"{self.label} ({self.stage})"
        return (
            f"{self.label}: {self.frames:,} frames, {self.cells:,} cells, best {number(self.best_score)},"
            f" end {number(self.end_score)}"
        )


@dataclass(frozen=True, slots=True)
class SweepStatus:
    """The numbers of the moment."""

    runs: int
    finished: int
    failed: int
    share_done: float
    """Share of all frames, 0 to 1."""
    seconds_left: float | None
    running: tuple[RunStatus, ...]

    def text(self) -> str:
        """One line for people."""
        parts = [f"{self.finished} of {self.runs} runs done", f"{100 * self.share_done:.0f}%"]
        if self.failed:
            parts.insert(1, f"{self.failed} failed")
        if self.seconds_left is not None:
            parts.append(f"{clock(self.seconds_left)} left")
        return " · ".join(parts)


class View(Protocol):
    """Shows a sweep."""

    def show(self, status: SweepStatus) -> None:
        """Called a few times a second; decides itself when to draw."""

    def say(self, message: str) -> None:
        """Prints a line that stays."""

    def close(self) -> None:
        """Leaves the screen tidy."""


class LiveView:
    """An overall bar and a row for each run under way, redrawn on a terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(Text("starting ..."), console=console, refresh_per_second=4, transient=True)
        self._live.start()

    def show(self, status: SweepStatus) -> None:
        """Replaces the table."""
        overall = Table.grid(padding=(0, 2))
        overall.add_row(ProgressBar(total=1.0, completed=status.share_done, width=40), status.text())
        table = Table(box=None, padding=(0, 2, 0, 0))
        table.add_column("run")
        for heading in ("frames", "frames/s", "cells", "best", "best at end"):
            table.add_column(heading, justify="right")
        for run in status.running:
            if run.stage == "exploring":
                numbers = (f"{run.frames:,}", f"{run.frames_per_second:,.0f}", f"{run.cells:,}")
                table.add_row(run.label, *numbers, number(run.best_score), number(run.end_score))
            else:
                table.add_row(run.label, run.stage)
        self._live.update(Group(overall, table))

    def say(self, message: str) -> None:
        """Prints above the table."""
        self._console.print(message, highlight=False, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Stops redrawing."""
        self._live.stop()


class PlainView:
    """A line now and then, for logs and pipes."""

    def __init__(self) -> None:
        self._next = time.monotonic() + PLAIN_SECONDS

    def show(self, status: SweepStatus) -> None:
        """Prints if the last line is old enough."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + PLAIN_SECONDS
            self.say(" · ".join([status.text(), *(run.text() for run in status.running)]))

    def say(self, message: str) -> None:
        """Prints at once."""
        print(message, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing to tidy."""


class NoView:
    """Shows nothing."""

    def show(self, status: SweepStatus) -> None:
        """Nothing."""

    def say(self, message: str) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


def make_view(*, progress: bool = True) -> View:
    """Live on a terminal, plain lines elsewhere; always on standard error."""
    if not progress:
        return NoView()
    console = Console(stderr=True)
    return LiveView(console) if console.is_terminal else PlainView()


def last_metrics(run: Path) -> dict[str, Any]:
    """The newest whole line of a run's metrics.jsonl; empty before there is one."""
    try:
        with (run / "metrics.jsonl").open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            lines = file.read().split(b"\n")[:-1]
        found = json.loads(lines[-1]) if lines else {}
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
