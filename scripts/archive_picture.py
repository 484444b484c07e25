"""Draws Montezuma's first room with a dot for every place the archive knew, at three moments of a run.

python scripts/archive_picture.py runs/mz --out docs/images/archive.png
"""

from __future__ import annotations

import argparse
import colorsys
import json
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from goexplore.envs import make_env
from goexplore.runs import RunFolder, load, run_config

ROOM, X, Y = 3, 42, 43  # RAM bytes (AtariARI); the face is at x + 2, and at row 314 - y
SCALE = (4, 2)
MOMENTS = (0.04, 0.25, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    folder = RunFolder.open(arguments.run)
    config = run_config(folder.read_config())
    loop, codec, _ = load(folder, config, make_env(config.env), warn=print)
    metrics = [json.loads(line) for line in folder.metrics.read_text().splitlines()]
    env = make_env(config.env)
    env.reset()
    screen = env.render()
    places = []
    for row, snapshot in enumerate(loop.archive.snapshots):
        env.restore(codec.decode(snapshot)[0])
        if env.ram[ROOM] == 1:
            places.append((int(loop.archive.table["found"][row]), int(env.ram[X]) + 2, 314 - int(env.ram[Y])))
    panels = [_panel(screen, places, metrics, moment) for moment in MOMENTS]
    width = sum(panel.width for panel in panels) + 12 * (len(panels) - 1)
    picture = Image.new("RGB", (width, panels[0].height), (255, 255, 255))
    for place, panel in enumerate(panels):
        picture.paste(panel, (place * (panel.width + 12), 0))
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    picture.resize((picture.width * 2 // 3, picture.height * 2 // 3), Image.Resampling.LANCZOS).save(arguments.out)


def _panel(screen: np.ndarray, places: list, metrics: list, moment: float) -> Image.Image:
    last = max(1, round(moment * len(metrics)))
    panel = Image.fromarray(screen.repeat(SCALE[1], axis=0).repeat(SCALE[0], axis=1))
    panel = Image.blend(panel, Image.new("RGB", panel.size), 0.35)
    draw = ImageDraw.Draw(panel)
    for found, x, y in places:
        if found < last:
            hue = 0.62 * (1 - found / max(1, len(metrics) - 1))
            colour = tuple(int(255 * part) for part in colorsys.hsv_to_rgb(hue, 0.85, 1.0))
            draw.circle((x * SCALE[0], y * SCALE[1]), 5, fill=colour, outline=(0, 0, 0))
    at = metrics[last - 1]
    text = f"{at['frames']:,} frames · {at['cells']:,} cells · best score {at['best_score']:,.0f}"
    draw.rectangle((0, 0, panel.width, 34), fill=(16, 18, 24))
    draw.text((12, 7), text, fill=(240, 240, 240), font=ImageFont.load_default(20))
    return panel


if __name__ == "__main__":
    main()
