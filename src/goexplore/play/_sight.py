"""What cell functions look at while a policy plays an Atari game."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from goexplore.cells import CellFunction, cell_key
from goexplore.envs import AtariEmulator
from goexplore.errors import InputError

KINDS = ("gray", "palette")


class AtariSight:
    """The emulator as a search shows it to cell functions: its newest raw frame, memory and lives.

    ALE's own screen shows another state after a restore, and after a reset, which here is one as well.
    """

    def __init__(self, emulator: AtariEmulator) -> None:
        self._emulator = emulator
        self._first: dict[str, NDArray[np.uint8]] = {}
        self._shows: Literal["start", "now", "something else"] = "something else"
        self.observation_kind = "gray"

    def was_reset(self, *, screen_is_fresh: bool) -> None:
        """Keeps the first screen of the game, whenever ALE shows it."""
        if screen_is_fresh or not self._first:
            self._first = {kind: self._read(kind) for kind in KINDS}
        self._shows = "start"

    def has_stepped(self) -> None:
        """ALE's screen is right."""
        self._shows = "now"

    def was_restored(self) -> None:
        """ALE's screen is wrong until the next step."""
        self._shows = "something else"

    def key(self, cells: CellFunction) -> bytes:
        """The cell of what is to be seen now.

        Raises:
            InputError: it was just restored.
        """
        if self._shows == "something else":
            raise InputError("the Atari screen is stale right after a restore: take a step, then ask for its cell")
        self.observation_kind = kind = cells.atari_screen
        return cell_key(cells, self._first[kind] if self._shows == "start" else self._read(kind), self)

    def _read(self, kind: str) -> NDArray[np.uint8]:
        ale = self._emulator.shown
        screen: NDArray[np.uint8] = ale.getScreen() if kind == "palette" else ale.getScreenGrayscale()
        return screen  # an array of its own

    @property
    def ram(self) -> NDArray[np.uint8]:
        """The 128 bytes of memory."""
        return self._emulator.ram

    @property
    def lives(self) -> int:
        """Lives left."""
        return self._emulator.lives

    @property
    def unwrapped(self) -> Any:
        """Itself."""
        return self
