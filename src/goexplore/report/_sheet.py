"""A contact sheet: cells of a run, in the order in which they were found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from goexplore.report._pictures import Frame, Picture
from goexplore.report._results import in_millions, score
from goexplore.report._style import BETWEEN, DOTS_PER_INCH, Drawn, Figures, drawing

COLUMNS, ROWS = 8, 6
WIDTH = 160
GAP, CAPTION = 8, 30
ATARI_FRAME = (210, 160)


def draw_sheet(figures: Figures, frames: Sequence[Frame], name: str) -> Drawn:
    """Small pictures with score, steps and the moment of discovery under each."""
    pictures = [thumbnail(frame.picture) for frame in frames]
    high = max(picture.shape[0] for picture in pictures) + CAPTION
    columns = min(COLUMNS, len(pictures))
    rows = -(-len(pictures) // columns)
    canvas = np.zeros((rows * (high + GAP) - GAP, columns * (WIDTH + GAP) - GAP, 4), np.uint8)
    for place, picture in enumerate(pictures):
        top, left = place // columns * (high + GAP), place % columns * (WIDTH + GAP)
        canvas[top : top + len(picture), left : left + WIDTH, :3] = picture
        canvas[top : top + len(picture), left : left + WIDTH, 3] = 255
    with drawing(canvas.shape[1] / DOTS_PER_INCH, canvas.shape[0] / DOTS_PER_INCH) as figure:
        figure.set_layout_engine("none")
        panel = figure.add_axes((0, 0, 1, 1))
        panel.set_axis_off()
        panel.imshow(canvas, interpolation="nearest", aspect="auto")
        for place, (frame, picture) in enumerate(zip(frames, pictures, strict=True)):
            top, left = place // columns * (high + GAP), place % columns * (WIDTH + GAP)
            panel.text(
                left + 1,
                top + len(picture) + 3,
                f"score {score(frame.score)} · {frame.steps:,} steps\n{_moment(frame)}",
                fontsize=3.9,
                linespacing=1.15,
                va="top",
                color=BETWEEN,
            )
        told = [(place, frame.found_frames, frame.score, frame.steps) for place, frame in enumerate(frames)]
        return figures.save(figure, name, columns=("place", "found_frames", "score", "steps"), rows=told, picture=True)


def _moment(frame: Frame) -> str:
    return f"found at {in_millions(frame.found_frames)} M frames" if frame.found_frames else "the start cell"


def thumbnail(picture: Picture) -> Picture:
    """Scales to `WIDTH`; Atari's pixels are twice as wide as high."""
    from PIL import Image  # matplotlib needs it too

    height, width = picture.shape[:2]
    high = ATARI_FRAME[0] // 2 if (height, width) == ATARI_FRAME else max(1, round(height * WIDTH / width))
    way = Image.Resampling.BOX if height > high or width > WIDTH else Image.Resampling.NEAREST
    return np.asarray(Image.fromarray(picture[:, :, :3]).resize((WIDTH, min(high, 2 * WIDTH)), way))
