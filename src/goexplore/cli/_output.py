"""How commands speak: tables for people, one JSON object for programs."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

SECONDS_BETWEEN_LINES = 10.0
"""Of progress that goes to a file."""


def emit(result: Any, *, as_json: bool, title: str = "", next_commands: list[str] | None = None) -> None:
    """Prints a result: as the last line on standard output, or as a table with what to type next."""
    values = dataclasses.asdict(result) if dataclasses.is_dataclass(result) else dict(result)  # type: ignore[arg-type]
    if as_json:
        print(json.dumps({name: _plain(value) for name, value in values.items()}), flush=True)
        return
    table = Table(title=title or None, title_justify="left", show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in values.items():
        if value is not None:
            table.add_row(name.replace("_", " "), _pretty(value))
    console = Console(file=sys.stdout)
    console.print(table)
    for command in next_commands or []:
        console.print(f"next: {command}", highlight=False, markup=False, soft_wrap=True)


@contextmanager
def episodes_shown(total: int) -> Iterator[Callable[[int, float], None]]:
    """Shows how many episodes are done and their mean score: in place, or as a line now and then in a file."""
    console = Console(stderr=True)
    said_at = time.monotonic()
    with console.status("playing ...") as status:

        def tell(done: int, mean: float) -> None:
            nonlocal said_at
            text = f"{done:,} of {total:,} episodes, mean score {mean:,.1f}"
            status.update(text)
            if not console.is_terminal and time.monotonic() - said_at >= SECONDS_BETWEEN_LINES:
                said_at = time.monotonic()
                print(text, file=sys.stderr, flush=True)

        yield tell


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _pretty(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"
    if isinstance(value, list):
        return "\n".join(map(str, value)) or "none"
    return str(value)
