"""Maps of the rooms of Montezuma's Revenge and Pitfall, with a mark at each place that the archive knows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.cells import PYRAMID
from goexplore.report._pictures import RoomCell
from goexplore.report._style import BETWEEN, Drawn, Figures, drawing, millions, thousands_separated

GAP = 5
DIMMED = 0.45
PITFALL_ROOMS, PITFALL_COLUMNS = 255, 15


@dataclass(frozen=True)
class CellSize:
    """Where a cell is on the screen, in native pixels."""

    width: int = 8
    height: int = 16
    top: int = 50
    """Rows of the screen above the first cell."""

    @classmethod
    def of(cls, cells: Any) -> CellSize:
        """As the cell function says."""
        return cls(
            int(getattr(cells, "cell_width", cls.width)),
            int(getattr(cells, "cell_height", cls.height)),
            int(getattr(cells, "TOP", cls.top)),
        )


def layout(game: str, rooms: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Row and column of each room to show: all of a Montezuma level, the known rows of Pitfall.

    Args:
        game: ROM name.
        rooms: the rooms that are known.
    """
    if game.startswith("montezuma"):
        return PYRAMID
    known = sorted({room // PITFALL_COLUMNS for room in rooms})
    return {
        room: (place, room - row * PITFALL_COLUMNS)
        for place, row in enumerate(known)
        for room in range(row * PITFALL_COLUMNS, min(PITFALL_ROOMS, (row + 1) * PITFALL_COLUMNS))
    }


def places(cells: Sequence[RoomCell]) -> dict[tuple[int, int, int], tuple[int, float]]:
    """(room, x, y) to the frames at which it was first found, and the probability of its cells together.

    Cells that differ in their keys alone share a place.
    """
    found: dict[tuple[int, int, int], int] = {}
    probability: dict[tuple[int, int, int], float] = defaultdict(float)
    for cell in cells:
        place = (cell.room, cell.x, cell.y)
        found[place] = min(found.get(place, cell.found_frames), cell.found_frames)
        probability[place] += cell.probability
    return {place: (frames, probability[place]) for place, frames in found.items()}


def draw_rooms(
    figures: Figures, game: str, cells: Sequence[RoomCell], name: str, *, colour_by: str, size: CellSize | None = None
) -> Drawn:
    """One level's map.

    Args:
        figures: where it goes.
        game: ROM name.
        cells: the cells of one level.
        name: of the files.
        colour_by: "found" or "probability".
        size: where a cell is on the screen.
    """
    from matplotlib.colors import LinearSegmentedColormap, LogNorm, Normalize

    size = size or CellSize()
    where = layout(game, [cell.room for cell in cells])
    pictures = {cell.room: cell.picture for cell in cells if cell.picture is not None}
    wide = 160
    high = max([picture.shape[0] - size.top for picture in pictures.values()], default=160)
    columns = 1 + max(column for _, column in where.values())
    rows = 1 + max(row for row, _ in where.values())
    known = {place: told for place, told in places(cells).items() if place[0] in where}
    with drawing(10, 10 * rows * (high + GAP) / (2 * columns * (wide + GAP)) + 0.55) as figure:
        panel = figure.add_subplot()
        panel.set_axis_off()
        for room, (row, column) in where.items():
            left, top = column * (wide + GAP), row * (high + GAP)
            background = np.zeros((1, 1, 3), np.uint8) if room in pictures else np.full((1, 1, 3), 127, np.uint8)
            picture = _dimmed(pictures[room][size.top :]) if room in pictures else background
            panel.imshow(
                picture,
                extent=(left, left + wide, top + high, top),
                alpha=1.0 if room in pictures else 0.12,
                interpolation="antialiased",
            )
            panel.text(
                left + 4,
                top + 6,
                str(room),
                fontsize=5.5,
                va="top",
                color="white" if room in pictures else BETWEEN,
                alpha=0.9,
                zorder=5,
            )
        x = [where[room][1] * (wide + GAP) + (x + 0.5) * size.width for room, x, _ in known]
        y = [where[room][0] * (high + GAP) + min((y + 0.5) * size.height, high) for room, _, y in known]
        values: NDArray[np.float64]
        if colour_by == "found":
            values = millions([frames for frames, _ in known.values()])
            norm, label = Normalize(0, max(values.max(), 1e-6)), "found after frames (millions)"
        else:
            values = np.array([probability for _, probability in known.values()])
            low, high_value = values[values > 0].min(), values.max()
            norm = LogNorm(low, high_value if high_value > low else low * 10)
            label = "probability of being selected next"
        bright = _bright("viridis" if colour_by == "found" else "inferno", LinearSegmentedColormap)
        diameter = 0.8 * size.width * 720 / (columns * (wide + GAP))  # points
        marks = panel.scatter(
            x, y, s=diameter**2, c=values, cmap=bright, norm=norm, linewidths=0.25, edgecolors="black"
        )
        panel.set_xlim(-GAP, columns * (wide + GAP))
        panel.set_ylim(rows * (high + GAP), -GAP)
        panel.set_aspect(0.5)  # Atari's pixels are twice as wide as high
        bar = figure.colorbar(marks, ax=panel, location="bottom", fraction=0.03, pad=0.01, aspect=60, shrink=0.5)
        bar.set_label(label, color=BETWEEN, fontsize=7.5)
        bar.ax.tick_params(colors=BETWEEN, labelsize=7, width=0.5)
        bar.outline.set_visible(False)
        bar.ax.minorticks_off()
        thousands_separated(bar.ax.xaxis)
        told = [(cells[0].level, *place, frames, chance) for place, (frames, chance) in sorted(known.items())]
        columns_told = ("level", "room", "x", "y", "found_frames", "probability")
        return figures.save(figure, name, columns=columns_told, rows=told, picture=True)


def _dimmed(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return (picture * DIMMED).astype(np.uint8)


def _bright(name: str, make: Any) -> Any:
    """A colour map without its darkest part, which would be lost on a dimmed screen."""
    from matplotlib import colormaps

    return make.from_list(f"bright {name}", colormaps[name](np.linspace(0.28, 1.0, 64)))
