"""What a person sees while a run goes on: a live display, or plain lines where there is no terminal."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn

PLAIN_SECONDS = 10.0


class Shown(Protocol):
    """What a display shows."""

    done: float | None
    """Share of the budget used, 0 to 1; None when it cannot be known."""

    def text(self) -> str:
        """One line for people."""


@dataclass(slots=True)
class Status:
    """The numbers of an exploration at the moment."""

    frames: int = 0
    frames_per_second: float = 0.0
    cells: int = 0
    best_score: float | None = None
    end_score: float | None = None
    seconds_left: float | None = None
    done: float | None = None
    """Share of the budget used, 0 to 1; None when it cannot be known."""
    doing: str = ""
    """What goes on instead of exploring."""

    def text(self) -> str:
        """One line for people."""
        parts = [
            f"{self.frames:,} frames",
            f"{self.frames_per_second:,.0f} frames/s",
            f"{self.cells:,} cells",
            f"best {number(self.best_score)}",
            f"best at end of episode {number(self.end_score)}",
        ]
        if self.doing:
            parts.append(self.doing)
        elif self.seconds_left is not None:
            parts.append(f"{clock(self.seconds_left)} left")
        return " · ".join(parts)


class Display(Protocol):
    """Shows a run's progress and the odd message."""

    def show(self, status: Shown) -> None:
        """Called often; decides itself when to draw."""

    def say(self, message: str) -> None:
        """Prints a line that stays."""

    def close(self) -> None:
        """Leaves the screen tidy."""


class LiveDisplay:
    """A spinner, a bar and the numbers, redrawn a few times a second on a terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=28),
            TaskProgressColumn(),
            TextColumn("{task.description}"),
            console=console,
            refresh_per_second=4,
            transient=False,
        )
        self._task = self._progress.add_task("starting workers ...", total=None)
        self._progress.start()

    def show(self, status: Shown) -> None:
        """Updates the numbers; the display redraws itself."""
        total = None if status.done is None else 1.0
        self._progress.update(self._task, description=status.text(), completed=status.done or 0.0, total=total)

    def say(self, message: str) -> None:
        """Prints above the bar."""
        self._console.print(message, highlight=False, markup=False)

    def close(self) -> None:
        """Stops redrawing."""
        self._progress.stop()


class PlainDisplay:
    """A line every ten seconds, for logs and pipes."""

    def __init__(self) -> None:
        self._last = time.monotonic() - PLAIN_SECONDS + 2  # the first line after two seconds
        self._status: Shown | None = None

    def show(self, status: Shown) -> None:
        """Prints if the last line is old enough."""
        self._status = status
        if time.monotonic() - self._last >= PLAIN_SECONDS:
            self._print()

    def say(self, message: str) -> None:
        """Prints at once."""
        print(message, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Prints the last numbers."""
        if self._status is not None:
            self._print()

    def _print(self) -> None:
        if self._status is not None:
            self._last = time.monotonic()
            print(self._status.text(), file=sys.stderr, flush=True)
            self._status = None


class NoDisplay:
    """Shows nothing."""

    def show(self, status: Shown) -> None:
        """Nothing."""

    def say(self, message: str) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


def make_display(*, progress: bool = True) -> Display:
    """Live on a terminal, plain lines elsewhere; always on standard error."""
    if not progress:
        return NoDisplay()
    console = Console(stderr=True)
    return LiveDisplay(console) if console.is_terminal else PlainDisplay()


def number(value: float | None) -> str:
    """12,300 or 0.25; "none yet" before there is one."""
    if value is None:
        return "none yet"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"


def clock(seconds: float) -> str:
    """1:02:03."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"
