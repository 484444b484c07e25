"""Compares what the pixel classifiers read with the emulator's memory, over trajectories that a search found.

    python scripts/check_classifiers.py runs/mz-* --cells 40

Each trajectory is replayed from reset and goes on at random for 100 steps more. Memory is read with the last frame of
each step and with the one before it: a picture shows what memory held while it was drawn, and which of the two that
is depends on the game. `--save` writes a few trajectories that together visit all rooms seen, for the tests.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from goexplore.cells import MontezumaCells, PitfallCells
from goexplore.envs import AtariEnv
from goexplore.exploration import start_episode
from goexplore.runs import RunFolder, peek


def pitfall_numbers() -> dict[int, int]:
    numbers, byte = {}, 196
    for number in range(255):
        numbers[byte] = number
        bit = (byte >> 3 ^ byte >> 4 ^ byte >> 5 ^ byte >> 7) & 1
        byte = (byte << 1 | bit) & 255
    return numbers


PITFALL_ROOMS = pitfall_numbers()


def montezuma_truth(memory: Any) -> dict[str, Any]:
    return {
        "room": int(memory[3]),
        "level": int(memory[57]),
        "keys": bin(int(memory[65]) & 0b11110).count("1"),
        "x": (int(memory[42]) + 2.3) // 8,
        "y": (264.5 - int(memory[43])) // 16,
    }


def pitfall_truth(memory: Any) -> dict[str, Any]:
    y = int(memory[105])
    above_the_screen = y >= 192  # a byte: someone about to drop in has a small negative y
    return {
        "room": PITFALL_ROOMS.get(int(memory[1]), -1),
        "x": (int(memory[97]) + 3.5) // 8,
        "y": (y - 256 * above_the_screen + 24.8) // 16,
    }


def compare(reading: dict[str, Any], truths: list[dict[str, Any]]) -> dict[str, bool]:
    """What agrees with memory at either moment."""
    agrees = {
        name: any(reading[name] == truth[name] for truth in truths)
        for name in ("room", "level", "keys")
        if name in truths[0]
    }
    return agrees | {
        "position": any(abs(reading["x"] - truth["x"]) <= 1 and abs(reading["y"] - truth["y"]) <= 1 for truth in truths)
    }


def walk(game: str, actions: Any) -> tuple[Counter[str], set[int]]:
    """Replays actions; counts steps that agree, and collects the rooms."""
    montezuma = game == "montezuma_revenge"
    env = AtariEnv(game, frame_skip=1, observation="palette")
    cells: MontezumaCells | PitfallCells = MontezumaCells() if montezuma else PitfallCells()
    truth_of = montezuma_truth if montezuma else pitfall_truth
    start_episode(env, cells)
    agreed: Counter[str] = Counter()
    rooms: set[int] = set()
    for action in actions:
        ended = False
        truths = []
        for frame in range(4):
            observation, _, terminated, truncated, _ = env.step(int(action))
            ended = ended or terminated or truncated
            if frame >= 2:
                truths.append(truth_of(env.ram))
        if ended:
            break
        reading = cells.describe(cells.key(observation, env))
        if montezuma:
            reading["keys"] = len(reading["keys"])
        agreed.update(name for name, same in compare(reading, truths).items() if same)
        agreed["steps"] += 1
        rooms.add(truths[-1]["room"])
    return agreed, rooms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--cells", type=int, default=40, help="trajectories replayed from each run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, help="write trajectories that visit every room seen to this .npz")
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    agreed: Counter[str] = Counter()
    rooms: set[int] = set()
    walks = []
    game = ""
    for path in arguments.runs:
        folder = RunFolder.open(path)
        game = "pitfall" if "Pitfall" in folder.read_config()["env"]["id"] else "montezuma_revenge"
        archive = peek(folder, warn=print)[0].archive
        for row in rng.choice(len(archive), min(arguments.cells, len(archive)), replace=False):
            known = archive.forest.actions(archive.trajectory(int(row)))
            actions = np.concatenate([known, rng.integers(18, size=25).repeat(4).astype(known.dtype)])
            one, visited = walk(game, actions)
            agreed += one
            rooms |= visited
            walks.append((visited, actions))
        print(f"{path}: {agreed['steps']:,} steps, {len(rooms)} rooms so far", file=sys.stderr)
    if arguments.save:
        chosen, missing = [], set(rooms)
        while missing:
            visited, actions = max(walks, key=lambda walked: len(walked[0] & missing))
            chosen.append(actions.astype(np.uint8))
            missing -= visited
        np.savez_compressed(arguments.save, **{f"walk{number}": actions for number, actions in enumerate(chosen)})
    steps = agreed.pop("steps")
    shares = {name: round(count / steps, 6) for name, count in sorted(agreed.items())}
    print(json.dumps({"game": game, "steps": steps, "rooms": len(rooms)} | shares))


if __name__ == "__main__":
    main()
