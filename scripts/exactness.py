"""Replays archived cells of many Atari games from reset: score, length, key and RAM must all agree.

python scripts/exactness.py --out runs/exactness
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import goexplore

GAMES = [
    "MontezumaRevenge",
    "Pitfall",
    "PrivateEye",
    "Venture",
    "Freeway",
    "Breakout",
    "Pong",
    "MsPacman",
    "Seaquest",
    "SpaceInvaders",
    "Skiing",
    "Solaris",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for the runs")
    parser.add_argument("--frames", type=int, default=200_000, help="raw frames explored in each game")
    parser.add_argument("--cells", type=int, default=50, help="cells replayed in each game")
    parser.add_argument("--cell-function", default="downscale:16x21x8", help="fine enough for 50 cells in every game")
    parser.add_argument("--games", nargs="+", default=GAMES)
    arguments = parser.parse_args()
    verified = replayed = 0
    for game in arguments.games:
        run = arguments.out / game
        if not run.exists():
            goexplore.explore(
                f"ALE/{game}-v5",
                cells=arguments.cell_function,
                frames=arguments.frames,
                out=run,
                progress=False,
            )
        found = goexplore.inspect_run(run, verify=arguments.cells)
        verified += found["verified_cells"]
        replayed += min(arguments.cells, found["cells"])
        line = {name: found[name] for name in ("cells", "best_score", "end_score", "verified_cells", "mismatches")}
        print(json.dumps({"game": game, **line}), flush=True)
    print(json.dumps({"verified_cells": verified, "replayed_cells": replayed}))


if __name__ == "__main__":
    main()
