"""Atari as a policy plays it (Extended Data Table 1b): sticky actions, pooled and shrunk frames, a stack of them.

Instead of frames it may see the console's memory: a thousand bits, which tell more than the screen and cost less.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from goexplore.cells import CellFunction
from goexplore.envs import AtariEmulator, SnapshotKind
from goexplore.errors import InputError
from goexplore.learn import Spaces
from goexplore.play._sight import AtariSight
from goexplore.plugins import missing_extra

FLICKERING = ("venture", "gravitar")
"""Games in which some things are drawn in one frame of four only; the paper pools four frames there."""
MEMORY_BITS = 128 * 8
_HEADER = struct.Struct("<HI")  # last action, size of the emulator state


@dataclass(frozen=True, slots=True)
class AtariView:
    """How a policy sees Atari. The defaults are the paper's."""

    width: int = 105
    """Pixels after shrinking. Paper: 105 (facts of its code)."""
    height: int = 80
    """Paper: 80."""
    gray: bool = False
    """Gray instead of colours. Paper: colours."""
    stack: int = 4
    """Newest frames shown together. Paper: 4."""
    memory: bool = False
    """See the bits of the console's memory instead of frames; size and colours mean nothing then. Paper: no."""
    pool_frames: int | None = None
    """Pixel-wise maximum over the last raw frames of a step. None: the paper's, 2, and 4 for Venture and Gravitar."""
    sticky: float = 0.25
    """Probability, at every raw frame, of going on with the last action. Paper: sticky actions, 0.25."""
    max_no_ops: int = 30
    """Most raw frames of doing nothing at the start. Paper: 30."""
    max_frames: int = 400_000
    """Raw frames after which an episode is over. Paper: 400,000."""

    def __post_init__(self) -> None:
        if min(self.width, self.height, self.stack) < 1 or not 0 <= self.sticky < 1 or self.max_no_ops < 0:
            raise InputError(
                f"width {self.width}, height {self.height}, stack {self.stack}, sticky {self.sticky}, max_no_ops"
                f" {self.max_no_ops}: expected at least 1, 1 and 1, 0 to 1, and at least 0"
            )


class AtariPlay:
    """One game.

    Args:
        emulator: the game's emulator, one raw frame at a time.
        view: how it is seen.
        rng: where sticky actions come from.
        frame_skip: raw frames for which an action is held.
    """

    snapshot_kind = SnapshotKind.PLAIN

    def __init__(
        self, emulator: AtariEmulator, view: AtariView, rng: np.random.Generator, *, frame_skip: int = 4
    ) -> None:
        self._emulator, self.view, self.rng, self.frames_per_step = emulator, view, rng, frame_skip
        self.max_no_ops = view.max_no_ops
        self._pooled = min(frame_skip, view.pool_frames or (4 if emulator.game in FLICKERING else 2))
        self._channels = MEMORY_BITS if view.memory else 1 if view.gray else 3
        planes = self._channels * view.stack
        shape = (planes,) if view.memory else (view.height, view.width, planes)
        self._shrink = _shrinker(view.width, view.height)
        self.spaces = Spaces(observation_shape=shape, choices=emulator.action_count)
        self.observation: NDArray[np.uint8] = np.zeros(shape, np.uint8)
        height, width = emulator.ale.getScreenDims()
        screen = (height, width) if view.gray else (height, width, 3)
        self._screen, self._pool = np.zeros(screen, np.uint8), np.zeros(screen, np.uint8)
        self._last_action = 0
        self._sight = AtariSight(emulator)
        self._first_frame: NDArray[np.uint8] | None = None
        self._starts: dict[int, bytes] = {}
        self._compressor, self._decompressor = zstandard.ZstdCompressor(level=1), zstandard.ZstdDecompressor()
        self.reset()  # before anything is restored: the emulator's own reset leaves traces of former games

    @property
    def lives(self) -> int:
        """Lives left."""
        return self._emulator.lives

    @property
    def cut_short(self) -> bool:
        """Whether the limit of frames was reached."""
        return bool(self._emulator.ale.game_truncated())

    def reset(self, no_ops: int = 0) -> None:
        """Starts a game; the stack holds copies of its first frame.

        All but the last step of doing nothing is the same every time, and done once for each number of frames.
        """
        last = min(no_ops, self.frames_per_step)
        before = no_ops - last
        if before in self._starts:
            self.restore(self._decompressor.decompress(self._starts[before]))
        else:
            self._start()
            self.do_nothing(before)
            if before and self._emulator.restores_exactly:
                self._starts[before] = self._compressor.compress(self.snapshot())
        self.do_nothing(last)

    def _start(self) -> None:
        screen_is_fresh = self._emulator.reset()
        self._sight.was_reset(screen_is_fresh=screen_is_fresh)
        if screen_is_fresh or self._first_frame is None:  # afterwards the screen is stale
            self._emulator.read(self._screen)
            self._first_frame = self._newest()
        self._last_action = 0
        self.observation[...] = np.tile(self._first_frame, self.view.stack)

    def step(self, action: Any) -> tuple[float, bool]:
        """Holds an action for `frames_per_step` raw frames, as far as the one before does not stick."""
        return self._hold(int(action), self.frames_per_step, self.rng.random(self.frames_per_step) < self.view.sticky)

    def replay(self, recorded: Any) -> tuple[float, bool]:
        """Holds an action for `frames_per_step` raw frames."""
        return self._hold(int(recorded), self.frames_per_step, None)

    def taken(self) -> NDArray[Any]:
        """Not kept: snapshots are plain."""
        return np.zeros(0, np.uint8)

    def policy_action(self, recorded: Any) -> int:
        """The same index."""
        return int(recorded)

    def do_nothing(self, frames: int) -> tuple[float, bool]:
        """Raw frames without noise. The stack keeps its spacing, counted from the newest frame."""
        total, over = 0.0, False
        while frames > 0 and not over:
            held = (frames - 1) % self.frames_per_step + 1
            reward, over = self._hold(0, held, None)
            total += reward
            frames -= held
        return total, over

    def _hold(self, action: int, frames: int, sticks: NDArray[np.bool_] | None) -> tuple[float, bool]:
        reward, pooled = 0.0, 0 if self.view.memory else min(self._pooled, frames)
        for frame in range(frames):
            if sticks is None or not sticks[frame]:
                self._last_action = action
            reward += self._emulator.act(self._last_action)
            left = frames - 1 - frame
            if left == pooled - 1:
                self._emulator.read(self._screen)
            elif left < pooled:
                self._emulator.read(self._pool)
                np.maximum(self._screen, self._pool, out=self._screen)
        self._sight.has_stepped()
        self._push(self._newest())
        return reward, self._emulator.over

    def _push(self, newest: NDArray[np.uint8]) -> None:
        """Puts a frame on the stack."""
        seen, older = self.observation, self.observation.shape[-1] - self._channels
        if self.view.memory:
            seen[:older] = seen[self._channels :]
        else:
            for plane in range(older):  # plane by plane, which is faster than moving all of them at once
                seen[..., plane] = seen[..., plane + self._channels]
        seen[..., older:] = newest

    def _newest(self) -> NDArray[np.uint8]:
        """What is to be seen of this moment alone."""
        if self.view.memory:
            return np.unpackbits(self._emulator.ram) * np.uint8(255)
        small: NDArray[np.uint8] = self._shrink(self._screen)
        return small.reshape(*self.observation.shape[:2], self._channels)

    def snapshot(self) -> bytes:
        """The emulator, the last action and the stack."""
        state = self._emulator.save()
        return _HEADER.pack(self._last_action, len(state)) + state + self.observation.tobytes()

    def restore(self, snapshot: bytes) -> None:
        """Puts a snapshot back; the stack comes out of it, because the emulator's screen is stale now."""
        self.observation[...] = self.look(snapshot)
        self._last_action, size = _HEADER.unpack_from(snapshot)
        self._emulator.load(snapshot[_HEADER.size : _HEADER.size + size])
        self._sight.was_restored()

    def look(self, snapshot: bytes) -> NDArray[np.uint8]:
        """The stack that a snapshot carries; the emulator is left alone."""
        split = _HEADER.size + _HEADER.unpack_from(snapshot)[1]
        if len(snapshot) != split + self.observation.nbytes:
            raise InputError(f"a snapshot of {len(snapshot)} bytes does not fit {self._emulator.game} seen this way")
        return np.frombuffer(snapshot, np.uint8, offset=split).reshape(self.observation.shape)

    @property
    def events(self) -> list[str]:
        """None: Atari tells nothing beside its score."""
        return []

    def cell_key(self, cells: CellFunction) -> bytes:
        """The cell of the newest raw frame, as a search sees it.

        Raises:
            InputError: a snapshot was just restored, and the emulator's screen shows another state.
        """
        return self._sight.key(cells)

    def fingerprint(self) -> bytes:
        """Memory and the frame count."""
        return self._emulator.fingerprint()

    def render(self) -> NDArray[np.uint8]:
        """The emulator's screen; stale right after a restore."""
        picture = np.zeros((*self._screen.shape[:2], 3), np.uint8)
        self._emulator.read(picture)
        return picture


def _shrinker(width: int, height: int) -> Any:
    try:
        import cv2
    except ImportError as error:
        raise missing_extra("OpenCV (shrinks frames)", "learn") from error
    cv2.setNumThreads(0)
    return lambda screen: cv2.resize(screen, (width, height), interpolation=cv2.INTER_AREA)
