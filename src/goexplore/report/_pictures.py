"""What archived cells look like: a run's archive, opened together with its simulator.

Opening a simulator may import code that a run names, so that everything here asks for trust first; curves and
tables never come here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import Archive, SnapshotCodec, make_selector
from goexplore.cells import make_cells
from goexplore.envs import AtariEnv, RestorableEnv, make_env
from goexplore.errors import GoExploreError, InputError
from goexplore.report._runs import Run, Warn
from goexplore.runs import load, run_config

Picture = NDArray[np.uint8]
MOST_REPLAYED_STEPS = 50_000
"""Steps that may be replayed for the pictures of a run whose states are not in its checkpoint."""


@dataclass(frozen=True, slots=True)
class RoomCell:
    """A cell of a game that is made of rooms."""

    level: int
    room: int
    x: int
    """Column of cells in the room, from the left."""
    y: int
    """Row of cells in the room, from the top."""
    found_frames: int
    """Frames the run had spent when it was found."""
    probability: float
    """Of being selected next."""
    picture: Picture | None = None
    """The screen (height, width, 3), for the first cell found in each room."""


@dataclass(frozen=True, slots=True)
class Frame:
    """An archived cell, seen."""

    picture: Picture
    score: float
    steps: int
    found_frames: int


class Cells:
    """A run's cells and a simulator to look at them with.

    Args:
        run: the run.
        trust: import the code that the run names.
        warn: told in one line about damaged checkpoints.

    Raises:
        GoExploreError: the run cannot be opened; the message says why.
    """

    def __init__(self, run: Run, *, trust: bool, warn: Warn) -> None:
        config = run_config(run.config, trust=trust)
        try:
            self._env: RestorableEnv = make_env(config.env, render=True)
        except InputError as error:
            raise InputError(f"its environment cannot be made to draw ({error})") from error
        loop, self._codec, _ = load(run.folder, config, self._env, warn=warn)
        self.archive: Archive = loop.archive
        self.function = make_cells(config.cells)
        self.found_frames: NDArray[np.int64] = run.metrics.frames_when(self.archive.table["found"])
        """Frames the run had spent when each cell was found."""
        self.found_frames[0] = 0  # the start state was there before the first iteration
        weights = np.asarray(make_selector(config.exploration.selector).weights(self.archive), np.float64)
        self.probability: NDArray[np.float64] = weights / weights.sum()

    def close(self) -> None:
        """Closes the simulator."""
        self._env.close()

    def spread(self, count: int) -> list[int]:
        """Rows spread evenly over the order in which cells were found."""
        order = np.lexsort((np.arange(len(self.archive)), self.found_frames))
        return [int(row) for row in order[np.unique(np.linspace(0, len(order) - 1, count).round().astype(int))]]

    def frames(self, rows: Sequence[int]) -> list[Frame]:
        """Pictures of some cells.

        Raises:
            GoExploreError: they cannot be drawn; the message says why.
        """
        table = self.archive.table
        if any(self.archive.snapshots[row] is None for row in rows):
            steps = int(table["length"][list(rows)].sum())
            if steps > MOST_REPLAYED_STEPS:
                raise InputError(f"its states are not in the checkpoint, and replaying them would take {steps:,} steps")
        return [
            Frame(self.picture(row), float(table["score"][row]), int(table["length"][row]), int(self.found_frames[row]))
            for row in rows
        ]

    def picture(self, row: int) -> Picture:
        """The screen of a cell.

        Raises:
            GoExploreError: it cannot be drawn.
        """
        snapshot = self.archive.snapshots[row]
        try:
            if snapshot is None:
                return self._replayed(row)
            return _restored(self._env, self._codec, snapshot)
        except GoExploreError:
            raise
        except Exception as error:  # whatever a third party's simulator does
            raise InputError(f"the simulator cannot show it ({type(error).__name__}: {error})") from error

    def rooms(self) -> list[RoomCell] | None:
        """The cells by room; None where the cell function knows of none."""
        describe = getattr(self.function, "describe", None)
        if describe is None:
            return None
        told: list[dict[str, Any]] = [describe(key) for key in self.archive.keys]
        if not told or "room" not in told[0]:
            return None
        pictured: set[tuple[int, int]] = set()
        cells = {}
        for row in np.argsort(self.found_frames, kind="stable").tolist():
            place = told[row]
            level, room = int(place.get("level", 0)), int(place["room"])
            first = (level, room) not in pictured
            pictured.add((level, room))
            cells[row] = RoomCell(
                level=level,
                room=room,
                x=int(place["x"]),
                y=int(place["y"]),
                found_frames=int(self.found_frames[row]),
                probability=float(self.probability[row]),
                picture=self.picture(row) if first else None,
            )
        return [cells[row] for row in range(len(cells))]

    def _replayed(self, row: int) -> Picture:
        env = self._env
        env.reset()
        for action in self.archive.forest.actions(self.archive.trajectory(row)):
            env.step(env.action_space.to_env(action))
        return env.render()


def _restored(env: RestorableEnv, codec: SnapshotCodec, snapshot: bytes) -> Picture:
    observation = env.restore(codec.decode(snapshot)[0])
    if not isinstance(env, AtariEnv):
        return env.render()
    # The emulator's own screen is stale after a restore; the snapshot carries the frame.
    if env.observation_kind == "ram":
        env.step(0)  # the next screen is the nearest there is
        return env.render()
    return env.to_rgb(observation)
