"""How figures look, and how they reach the disk and the page."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goexplore.plugins import missing_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, RULE, PAPER = "#1f2328", "#59616c", "#e2e5e9", "#ffffff"
BETWEEN = "#767b84"
"""Readable on white and on black: for pictures, which the page shows once for both."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe and Ito's, told apart with any kind of colour vision."""
IN_THE_DARK = {
    INK: "#e8eaed",
    MUTED: "#a6aeb9",
    RULE: "#323942",
    PAPER: "#171b21",
    "#0072b2": "#4ba3e3",
    "#d55e00": "#f07c33",
    "#009e73": "#2fbf94",
}
"""What becomes of a colour on a dark page."""
DOTS_PER_INCH = 200
RC: Any = {
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 8,
    "text.color": INK,
    "text.parse_math": False,  # names of environments may hold a dollar sign
    "axes.edgecolor": MUTED,
    "axes.labelcolor": MUTED,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlecolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.facecolor": PAPER,
    "figure.facecolor": PAPER,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.major.size": 2.5,
    "ytick.major.size": 0,
    "xtick.major.width": 0.6,
    "lines.solid_capstyle": "butt",
    "svg.hashsalt": "goexplore",  # the same figure, the same file
}

Row = Sequence[Any]


@contextmanager
def drawing(width: float, height: float) -> Iterator[Figure]:
    """A figure of so many inches, in our style; without pyplot, which keeps figures and wants a screen.

    Raises:
        InputError: matplotlib is not installed.
    """
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise missing_extra("matplotlib (for figures)", "report") from error
    with matplotlib.rc_context(RC):
        figure = Figure((width, height), layout="constrained", dpi=DOTS_PER_INCH)
        FigureCanvasAgg(figure)
        yield figure


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure on disk, and as the page shows it."""

    name: str
    light: str
    """A data URI."""
    dark: str
    """The same for dark pages; empty where one serves both."""
    width: int
    height: int


class Figures:
    """Writes figures/NAME.png, .svg and .csv.

    Args:
        folder: the report's folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "figures"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.written: list[str] = []

    def save(self, figure: Figure, name: str, *, columns: Row, rows: Sequence[Row], picture: bool = False) -> Drawn:
        """Writes a figure and its data.

        Args:
            figure: drawn inside `drawing`, which is still open.
            name: of the files.
            columns: names of the data's columns.
            rows: the data.
            picture: made of pixels: the page then gets a PNG, transparent and shared by light and dark.
        """
        svg = io.StringIO()
        figure.savefig(svg, format="svg", metadata={"Date": None})
        png = io.BytesIO()
        figure.savefig(png, format="png", transparent=picture)
        small = _fewer_colours(png.getvalue()) if picture else png.getvalue()
        (self.folder / f"{name}.svg").write_text(svg.getvalue())
        (self.folder / f"{name}.png").write_bytes(small)
        write_table(self.folder / f"{name}.csv", columns, rows)
        self.written.append(name)
        width, height = (round(96 * float(inches)) for inches in figure.get_size_inches())
        if picture:
            return Drawn(name, data_uri(small, "image/png"), "", width, height)
        light = data_uri(svg.getvalue().encode(), "image/svg+xml")
        return Drawn(name, light, data_uri(_darkened(svg.getvalue()).encode(), "image/svg+xml"), width, height)


def write_table(path: Path, columns: Row, rows: Sequence[Row]) -> None:
    """Writes a CSV."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows([_plain(value) for value in row] for row in rows)


def data_uri(content: bytes, kind: str) -> str:
    """Content inside a page."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def millions(frames: Any) -> NDArray[np.float64]:
    """Frames in millions, the unit of every axis."""
    return np.asarray(frames, np.float64) / 1e6


def thousands_separated(axis: Any) -> None:
    """10,000 and 0.25 in place of 10000 and 0.250."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}".replace("-", "−")))


def spread_labels(axes: Axes, labels: list[tuple[float, str, str]]) -> None:
    """Writes labels to the right of the axes, as near to their height as they fit without touching.

    Args:
        axes: drawn, with its limits settled.
        labels: height in data units, text, and colour of each.
    """
    if not labels:
        return
    bottom, top = axes.get_ylim()
    lines_high = axes.get_window_extent().height / axes.figure.dpi * 72 / 8.5
    labels = sorted(labels)
    wanted = [(height - bottom) / (top - bottom) for height, _, _ in labels]
    placed, free = [], -1.0
    for middle, (_, text, _) in zip(wanted, labels, strict=True):
        half = (1.4 + text.count("\n")) / lines_high / 2
        placed.append(max(middle, free + half))
        free = placed[-1] + half
    pushed = (sum(placed) - sum(wanted)) / len(labels)  # all of them upwards: take that back
    for middle, (_, text, colour) in zip(placed, labels, strict=True):
        axes.annotate(
            text,
            (1, middle - pushed),
            xycoords="axes fraction",
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            ha="left",
            color=colour,
            fontsize=7.5,
            linespacing=1.1,
            annotation_clip=False,
        )


def _darkened(svg: str) -> str:
    for light, dark in IN_THE_DARK.items():
        svg = svg.replace(light, dark)
    return svg


def _fewer_colours(png: bytes) -> bytes:
    """The same picture with at most 256 colours, a third of the bytes."""
    from PIL import Image  # matplotlib needs it too

    small = io.BytesIO()
    Image.open(io.BytesIO(png)).quantize(256, method=Image.Quantize.FASTOCTREE).save(small, "PNG", optimize=True)
    return small.getvalue()


def _plain(value: Any) -> Any:
    """NaN and None as nothing, whole numbers without a point."""
    if value is None or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return ""
    if isinstance(value, (float, np.floating)):
        return f"{value:.10g}"
    return value
