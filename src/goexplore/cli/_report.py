"""The command that writes a page about runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console

from goexplore.cli._commands import Json, warn
from goexplore.cli._output import emit


@dataclass
class Report:
    """Write a page about runs: curves, tables, maps and pictures, in one HTML file.

    Example: goexplore report runs/* --out report/
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders, or folders with runs anywhere below them."""
    out: Path = Path("report")
    """The report's folder: index.html, and figures/ with a PNG, an SVG and a CSV of each figure."""
    title: str | None = None
    """Title of the page."""
    trust: bool = False
    """Import the code that runs name (package.module:name), to show what their cells look like. For your own runs,
    not for a stranger's; curves and tables need none."""
    json: Json = False
    """Print the result as one JSON object on the last line."""

    def run(self) -> int:
        """Reports."""
        from goexplore.report import write_report

        with Console(stderr=True).status("reading and drawing ..."):
            result = write_report(self.runs, out=self.out, title=self.title, trust=self.trust, warn=warn)
        if self.json:
            emit(result, as_json=True)
        else:
            told = {"page": result.page, "runs": result.runs, "games": result.games, "figures": len(result.figures)}
            emit(told, as_json=False, title="report")
        return 0
