"""The Atari emulator (`ale_py.ALEInterface`) with what its users have to know taken care of."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.errors import InputError
from goexplore.plugins import missing_extra

KNOWN_BROKEN_ROUND_TRIPS = {
    "qbert": "Q*bert's saved states can diverge after a restore in ale-py 0.12.1 and earlier (ALE #732)",
    "tetris": "Tetris' saved states can diverge after a restore in ale-py 0.12.1 and earlier (ALE #732)",
}


def import_ale() -> Any:
    """Imports ale-py.

    Raises:
        InputError: it is not installed.
    """
    try:
        import ale_py
    except ImportError as error:
        raise missing_extra("ale-py (the Atari emulator)", "atari") from error
    return ale_py


class AtariEmulator:
    """One game in the emulator, without sticky actions of its own.

    Args:
        game: ROM name, for example "montezuma_revenge".
        frame_skip: raw frames for which `act` holds an action.
        full_action_space: all 18 actions instead of the game's own minimal set.
        max_frames: raw frames after which an episode is truncated, counted through restores.
        rollover_guard: undo the emulator's jump of -1,000,000 when a score counter rolls over (SI, "ALE issues").
        start_skip: raw frames for which a game's own starting actions are held. Of all games only Berzerk has some; ALE
            holds them for `frame_skip` frames, which is the default, so that its start depends on that.
    """

    def __init__(
        self,
        game: str,
        *,
        frame_skip: int = 1,
        full_action_space: bool = False,
        max_frames: int = 400_000,
        rollover_guard: bool = True,
        start_skip: int | None = None,
    ) -> None:
        ale_py = import_ale()
        from ale_py import roms

        rom_path = roms.get_rom_path(game)
        if rom_path is None:
            raise InputError(
                f"the ROM of {game!r} is missing from ale-py; reinstall it with: pip install --force-reinstall ale-py"
            )
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        ale = ale_py.ALEInterface()
        ale.setInt("random_seed", 0)  # irrelevant without sticky actions, but never left to the clock
        ale.setFloat("repeat_action_probability", 0.0)
        ale.setInt("frame_skip", frame_skip)
        ale.setInt("max_num_frames_per_episode", max_frames)
        ale.loadROM(rom_path)
        self.game, self.ale = game, ale
        self.rom_md5 = hashlib.md5(rom_path.read_bytes(), usedforsecurity=False).hexdigest()
        self.actions = ale.getLegalActionSet() if full_action_space else ale.getMinimalActionSet()
        self._guard, self._rom_path, self._new_state = rollover_guard, rom_path, ale_py.ALEState
        self._start: bytes | None = None
        self._starts_as_if = None if start_skip in (None, frame_skip) else start_skip
        self.shown = ale
        """What shows the screen now: the emulator, or at the first reset another one that has made the start."""

    @property
    def action_count(self) -> int:
        """How many actions there are."""
        return len(self.actions)

    @property
    def action_names(self) -> list[str]:
        """The meaning of each action index: NOOP, FIRE, UP, ..."""
        return [action.name for action in self.actions]

    @property
    def lives(self) -> int:
        """Lives left."""
        return int(self.ale.lives())

    @property
    def over(self) -> bool:
        """Whether the game is over, or out of time."""
        return bool(self.ale.game_over())

    @property
    def restores_exactly(self) -> bool:
        """Whether a state that is put back goes on as it did."""
        return self.game not in KNOWN_BROKEN_ROUND_TRIPS

    @property
    def episode_frames(self) -> int:
        """Raw frames since reset; travels with the emulator state."""
        return int(self.ale.getEpisodeFrameNumber())

    @property
    def ram(self) -> NDArray[np.uint8]:
        """The 128 bytes of memory; right after a restore too (ale-py 0.12 and later)."""
        memory: NDArray[np.uint8] = self.ale.getRAM()
        return memory

    def reset(self) -> bool:
        """Starts the game, always in the state of a freshly loaded one.

        ALE's own `reset_game` on a used emulator leaves traces in RAM (in 13 of 104 games, Solaris and
        Tennis among them, ale-py 0.12.1), so only the first reset uses it and later ones restore that state.

        Returns:
            Whether the screen shows that state; after a restore it does not.
        """
        if self._start is not None and self.restores_exactly:
            self.load(self._start)
            return False
        if self._start is not None:
            self.ale.loadROM(self._rom_path)
        self.ale.reset_game()
        if self._starts_as_if is not None and self.episode_frames:
            other = AtariEmulator(self.game, frame_skip=self._starts_as_if)
            other.reset()
            self.load(other.save())
            self.shown = other.ale
        self._start = self.save()
        return True

    def act(self, action: Any) -> float:
        """Holds an action for `frame_skip` raw frames and returns the reward."""
        self.shown = self.ale
        reward = float(self.ale.act(self.actions[action]))
        return reward + 1_000_000 if self._guard and reward < -900_000 else reward

    def read(self, screen: NDArray[np.uint8]) -> None:
        """Reads the screen into a buffer: (210, 160) gray or (210, 160, 3) RGB. Stale after `load`, until `act`."""
        (self.shown.getScreenGrayscale if screen.ndim == 2 else self.shown.getScreenRGB)(screen)

    def save(self) -> bytes:
        """The emulator's state, without its unused random generator and without the screen."""
        return bytes(self.ale.cloneState().serialize())

    def load(self, state: bytes) -> None:
        """Puts a state back. The screen stays as it was until the next `act`."""
        self.ale.restoreState(self._new_state(state))

    def fingerprint(self) -> bytes:
        """RAM and the frame count: equal for equal game states."""
        return bytes(self.ale.getRAM().tobytes()) + self.episode_frames.to_bytes(4, "little")
