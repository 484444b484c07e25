"""Atari straight on the emulator (`ale_py.ALEInterface`), for search: deterministic and restorable.

The paper's environment settings are in Extended Data Table 1b. Search runs without sticky actions
whatever an id's registered default; policies are evaluated with them.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from goexplore.envs._actions import ActionSpace
from goexplore.envs._emulator import AtariEmulator, import_ale
from goexplore.envs._palette import NTSC
from goexplore.envs._protocol import Action, Observation, SnapshotKind, StepResult
from goexplore.errors import InputError
from goexplore.plugins import nearest

NO_INFO: dict[str, Any] = {}

STALE: NDArray[np.uint8] = np.zeros((0, 0, 3), np.uint8)
_HEADER = struct.Struct("<II")  # lives, size of the emulator state


def atari_games() -> dict[str, str]:
    """Returns {"MontezumaRevenge": "montezuma_revenge", ...} for every ROM ale-py ships.

    Raises:
        InputError: ale-py is not installed.
    """
    import_ale()
    from ale_py import roms

    def camel(rom: str) -> str:
        return "".join(part[:1].upper() + part[1:] for part in rom.split("_"))

    return {camel(rom): rom for rom in roms.get_all_rom_ids()}


def atari_game_of(env_id: str) -> str | None:
    """Returns the ROM name that an id means, or None when the id is not an Atari one.

    Understands `ALE/MontezumaRevenge-v5`, `MontezumaRevengeNoFrameskip-v4`, `MontezumaRevenge` and
    `montezuma_revenge`.

    Raises:
        InputError: the id is in the ALE namespace, but names no game.
    """
    name = env_id.removeprefix("ALE/")
    in_namespace = name != env_id
    base = re.sub(r"-v\d+$", "", name)
    if in_namespace and not re.search(r"-v[045]$", name):
        raise InputError(f"there is no environment {env_id!r}; expected a version -v5, for example ALE/Pong-v5")
    looks_atari = in_namespace or bool(re.search(r"(NoFrameskip|Deterministic)-v\d+$", name))
    base = re.sub(r"(-ram|NoFrameskip|Deterministic)+$", "", base)
    try:
        games = {camel.lower(): rom for camel, rom in atari_games().items()}
    except InputError:
        if looks_atari:
            raise
        return None
    rom = games.get(base.replace("_", "").lower())
    if rom is None and looks_atari:
        raise InputError(f"there is no Atari game {base!r}{nearest(base, atari_games())}")
    # A bare `Tetris-v3` belongs to whoever registered it; a bare `montezuma_revenge` is ours.
    return rom if looks_atari or base == name else None


class AtariEnv:
    """One Atari game.

    Args:
        game: ROM name, for example "montezuma_revenge".
        frame_skip: raw frames for which an action is held. Paper: 4 (Extended Data Table 1b).
        full_action_space: all 18 actions instead of the game's own minimal set.
        max_frames: raw frames after which an episode is truncated, counted through restores.
            Paper: 400,000.
        end_on_life_loss: end the episode at the first life lost. Paper: no (policy-based
            Montezuma's Revenge only); the authors' domain-knowledge search: yes.
        pool_frames: pixel-wise maximum over the last 1 (none), 2 or 4 raw frames of a step. Search in
            the paper: none.
        observation: "gray" (210, 160), "rgb" (210, 160, 3), "palette" (210, 160; indices into the emulator's
            palette, the fastest to read) or "ram" (128,), all uint8.
        rollover_guard: undo the emulator's jump of -1,000,000 when a score counter rolls over (SI,
            "ALE issues").
    """

    snapshot_kind = SnapshotKind.PLAIN

    def __init__(
        self,
        game: str,
        *,
        frame_skip: int = 4,
        full_action_space: bool = False,
        max_frames: int = 400_000,
        end_on_life_loss: bool = False,
        pool_frames: Literal[1, 2, 4] = 1,
        observation: Literal["gray", "rgb", "palette", "ram"] = "gray",
        rollover_guard: bool = True,
    ) -> None:
        if frame_skip < 1 or max_frames < frame_skip:
            raise InputError(
                f"frame_skip {frame_skip} and max_frames {max_frames}: expected 1 <= frame_skip <= max_frames"
            )
        if pool_frames not in (1, 2, 4) or pool_frames > frame_skip:
            raise InputError(
                f"pool_frames {pool_frames} with frame_skip {frame_skip}: expected 1, 2 or 4,"
                " and no more frames than a step has"
            )
        if observation not in ("gray", "rgb", "palette", "ram"):
            raise InputError(f"observation {observation!r}: expected 'gray', 'rgb', 'palette' or 'ram'")
        if observation == "palette" and pool_frames > 1:
            raise InputError("palette indices cannot be pooled: choose pool_frames=1 or another observation")
        emulator = AtariEmulator(
            game,
            frame_skip=1 if pool_frames > 1 else frame_skip,  # pooling looks at frames inside a step
            full_action_space=full_action_space,
            max_frames=max_frames,
            rollover_guard=rollover_guard,
            start_skip=frame_skip,
        )
        self.game, self.rom_md5 = game, emulator.rom_md5
        self.frames_per_step = frame_skip
        self.how_it_returns = "ALE emulator state, with its observation"
        self.emulator = emulator
        """The emulator itself."""
        self._ale = ale = emulator.ale
        self.action_space = ActionSpace.of_choices(emulator.action_count)
        self._end_on_life_loss, self._pool = end_on_life_loss, pool_frames
        height, width = ale.getScreenDims()
        shape = {"rgb": (height, width, 3), "ram": (ale.getRAMSize(),)}.get(observation, (height, width))
        self.observation_kind = observation
        """gray, rgb, palette or ram."""
        self.observation: NDArray[np.uint8] = np.zeros(shape, np.uint8)
        self._previous = np.zeros_like(self.observation)
        self._read = _reader(ale, observation)
        self._is_screen = observation != "ram"
        self._lives = 0
        self._start: tuple[NDArray[np.uint8], NDArray[np.uint8]] | None = None  # first observation and picture
        self._picture: NDArray[np.uint8] | None = None  # the screen now, where ALE's own buffer does not show it

    @property
    def action_names(self) -> list[str]:
        """The meaning of each action index: NOOP, FIRE, UP, ..."""
        return self.emulator.action_names

    @property
    def lives(self) -> int:
        """Lives left."""
        return self.emulator.lives

    @property
    def episode_frames(self) -> int:
        """Raw frames since reset; travels with the emulator state."""
        return self.emulator.episode_frames

    @property
    def ram(self) -> NDArray[np.uint8]:
        """The 128 bytes of memory; right after a restore too (ale-py 0.12 and later)."""
        return self.emulator.ram

    def reset(self) -> Observation:
        """Starts the game, always in the state of a freshly loaded one."""
        screen_is_fresh = self.emulator.reset()
        if screen_is_fresh or self._start is None:
            shown = self.emulator.shown
            _reader(shown, self.observation_kind)(self.observation)
            self._start = self.observation.copy(), shown.getScreenRGB()
        self.observation[...], self._picture = self._start
        self._lives = self._ale.lives()
        return self.observation

    def step(self, action: Action) -> StepResult:
        """Holds an action for `frames_per_step` raw frames."""
        ale = self._ale
        if self._pool == 1:
            reward = self.emulator.act(action)
            self._read(self.observation)
        else:
            reward = self._act_pooling(action)
        self._picture = None
        truncated = ale.game_truncated()
        terminated = ale.game_over(with_truncation=False)
        if self._end_on_life_loss:
            lives = ale.lives()
            terminated = terminated or lives < self._lives
            self._lives = lives
        return self.observation, reward, terminated, truncated, NO_INFO

    def _act_pooling(self, action: Action) -> float:
        reward = 0.0
        pooled = self._pool if self._is_screen else 1
        for remaining in range(self.frames_per_step - 1, -1, -1):
            reward += self.emulator.act(action)
            if remaining == pooled - 1:
                self._read(self.observation)
            elif remaining < pooled:
                self._read(self._previous)
                np.maximum(self.observation, self._previous, out=self.observation)
        return reward

    def snapshot(self) -> bytes:
        """Saves the emulator (without its unused random generator), lives and observation."""
        state = self.emulator.save()
        return b"".join((_HEADER.pack(self._lives, len(state)), state, self.observation.tobytes()))

    def restore(self, snapshot: bytes) -> Observation:
        """Puts a snapshot back; the observation is the saved one, because ALE's screen is stale now."""
        self._lives, size = _HEADER.unpack_from(snapshot)
        split = _HEADER.size + size
        if len(snapshot) != split + self.observation.nbytes:
            raise InputError(
                f"a snapshot of {len(snapshot)} bytes does not fit {self.game} with these settings:"
                " it was saved with another game, observation or ale-py version"
            )
        self.emulator.load(snapshot[_HEADER.size : split])
        observation = np.frombuffer(snapshot, np.uint8, offset=split)
        self.observation[...] = observation.reshape(self.observation.shape)
        self._picture = STALE
        return self.observation

    def fingerprint(self) -> bytes:
        """RAM and the frame count: equal for equal game states."""
        return self.emulator.fingerprint()

    def render(self) -> NDArray[np.uint8]:
        """Returns the RGB screen.

        Raises:
            InputError: called right after `restore`, when the screen still shows another state.
        """
        if self._picture is STALE:
            raise InputError("the Atari screen is stale right after a restore: take a step, then render")
        picture: NDArray[np.uint8] = self._ale.getScreenRGB() if self._picture is None else self._picture
        return picture

    def to_rgb(self, observation: Observation) -> NDArray[np.uint8]:
        """Returns an observation as a picture, (height, width, 3); also one of a restored state.

        Raises:
            InputError: memory is no picture, or the game's colours are not known.
        """
        if self.observation_kind == "rgb":
            return np.array(observation, np.uint8)
        if self.observation_kind == "gray":
            return np.repeat(np.asarray(observation, np.uint8)[:, :, None], 3, axis=2)
        if self.observation_kind == "palette" and self._shows_ntsc_colours():
            return NTSC[observation]
        raise InputError(f"the {self.observation_kind} observation of {self.game} cannot be shown as a picture")

    def _shows_ntsc_colours(self) -> bool:
        """Whether the start screen has the colours that `NTSC` gives its indices; some games are of other norms."""
        if self._start is None:
            self.reset()
            return self._shows_ntsc_colours()
        indices, picture = self._start
        return bool((NTSC[indices] == picture).all())

    def close(self) -> None:
        """Nothing to free: the emulator goes with the object."""


def _reader(ale: Any, observation: str) -> Callable[[NDArray[np.uint8]], Any]:
    """What reads such an observation into a buffer."""
    name = {"gray": "getScreenGrayscale", "rgb": "getScreenRGB", "palette": "getScreen", "ram": "getRAM"}[observation]
    reader: Callable[[NDArray[np.uint8]], Any] = getattr(ale, name)
    return reader
