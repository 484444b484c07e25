"""What is in a run folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from goexplore.archive import NEVER
from goexplore.cells import DOMAIN_CELLS, MontezumaCells, PitfallCells, make_cells
from goexplore.demos._replay import Replayer, pick_cells
from goexplore.envs import make_env
from goexplore.errors import InputError
from goexplore.runs import RunFolder, load, peek, run_config


def inspect_run(
    run: str | os.PathLike[str],
    *,
    verify: int = 0,
    seed: int = 0,
    trust: bool = False,
    warn: Callable[[str], None] = lambda message: None,
    **objects: Any,
) -> dict[str, Any]:
    """Reads a run's newest checkpoint and describes it. Imports no code of the run, unless it verifies.

    Args:
        run: the run folder.
        verify: replay this many cells, drawn at random, from reset in a fresh simulator.
        seed: seed of that draw.
        trust: import the code that the run names (`package.module:name`); for your own runs.
        warn: told in one line about damaged checkpoints.
        objects: Python objects that the run used, as for `resume`.
    """
    if verify < 0:
        raise InputError(f"verify {verify}: expected 0 or more cells")
    folder = RunFolder.open(Path(run))
    saved = folder.read_config()
    loop, seconds = peek(folder, warn=warn)
    archive = loop.archive
    best, end = archive.best(), archive.end
    table = archive.table
    found: dict[str, Any] = {
        "run": str(folder.path),
        "env": _at(saved, "env", "id"),
        "cells_function": str(_at(saved, "cells")),
        "seed": _at(saved, "seed"),
        "iterations": loop.iteration,
        "frames": loop.frames,
        "steps": loop.steps,
        "return_steps": loop.return_steps,
        "seconds": round(seconds, 1),
        "cells": len(archive),
        "best_score": best.score,
        "best_length_steps": best.length,
        "end_score": None if end is NEVER else end.score,
        "end_length_steps": None if end is NEVER else end.length,
        "ends_seen": archive.ends_seen,
        "longest_trajectory_steps": int(table["length"].max()),
        "trajectory_actions_stored": archive.forest.stored_actions,
        "snapshot_bytes_mean": _mean([len(snapshot) for snapshot in archive.snapshots if snapshot]),
        "archive_digest": archive.digest(),
    }
    found |= _known_of_the_game(_at(saved, "cells"), archive.keys)
    if archive.representation:
        found["representation"] = archive.representation.decode(errors="replace")
        found["former_cells"] = len(archive.former)
    if verify:
        config = run_config(saved, trust=trust, **objects)
        loop, codec, _ = load(folder, config, make_env(config.env), warn=warn)
        archive = loop.archive
        replayer, rows = Replayer(archive, codec, config), pick_cells(archive, verify, seed)
        found["mismatches"] = []
        for row in rows:
            cell = archive.cell(row)
            if differences := replayer.differences(cell, replayer.replay(cell)):
                found["mismatches"].append(f"cell {row}: {', '.join(differences)}")
        found["verified_cells"] = len(rows) - len(found["mismatches"])
    return found


def _known_of_the_game(cells: Any, keys: list[bytes]) -> dict[str, Any]:
    """Rooms, levels and keys, where cells are made from such knowledge."""
    if not isinstance(cells, str) or cells.partition(":")[0] not in DOMAIN_CELLS.values():
        return {}
    function = make_cells(cells)
    if not isinstance(function, (MontezumaCells, PitfallCells)):
        return {}
    told = [function.describe(key) for key in keys]
    rooms = {(one.get("level", 0), one["room"]) for one in told}
    found = {"rooms": len(rooms)}
    if "keys" in told[0]:
        found["levels"] = 1 + max(level for level, _ in rooms)
        found["most_keys"] = max(len(one["keys"]) for one in told)
    return found


def _at(saved: Any, *path: str) -> Any:
    for name in path:
        saved = saved.get(name) if isinstance(saved, dict) else None
    return saved


def _mean(values: list[int]) -> float | None:
    return round(float(np.mean(values)), 1) if values else None
