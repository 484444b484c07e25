"""Any restorable environment as a policy plays it: numbers in a row, and actions that may go wrong."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.cells import CellFunction, cell_key
from goexplore.envs import RestorableEnv, SnapshotKind, events_of
from goexplore.errors import InputError
from goexplore.learn import Spaces

_HEADER = struct.Struct("<QI")  # steps so far, size of the last action
BOUND = 1.0 - 1e-6
"""Squashed actions that are imitated stay this far inside their bounds, where tanh can still be undone."""


@dataclass(frozen=True, slots=True)
class PlainView:
    """How a policy sees an environment that is not Atari."""

    random_actions: float = 0.0
    """Probability that an action is replaced by a random one: noise where the environment has none."""
    sticky: float = 0.0
    """Probability that the action before is taken again instead."""
    max_steps: int = 10_000
    """Agent steps after which an episode is over, if the environment does not end it before."""
    new_seeds: bool = False
    """Give the environment another seed for every episode: for worlds that are random themselves."""

    def __post_init__(self) -> None:
        if not (0 <= self.random_actions < 1 and 0 <= self.sticky < 1) or self.max_steps < 1:
            raise InputError(
                f"random_actions {self.random_actions}, sticky {self.sticky}, max_steps {self.max_steps}: expected 0 to"
                " 1, 0 to 1, and at least 1"
            )


class PlainPlay:
    """One environment; observations are flattened to float32.

    Args:
        env: a restorable environment with snapshots.
        view: how it is seen.
        rng: where random actions come from.
    """

    max_no_ops = 0
    lives = 0

    def __init__(self, env: RestorableEnv, view: PlainView, rng: np.random.Generator) -> None:
        self._env, self.view, self.rng = env, view, rng
        self.frames_per_step = env.frames_per_step
        space = env.action_space
        if space.discrete and space.shape:
            raise InputError(
                f"actions of {space.shape} choices at once are not supported for policies: expected one choice, or"
                " numbers"
            )
        self._see(env.reset())
        self.spaces = Spaces(
            observation_shape=self.observation.shape,
            observation_dtype="float32",
            choices=int(space.high) - int(space.low) + 1 if space.discrete else None,
            action_shape=space.shape,
        )
        self._steps, self.cut_short = 0, False
        self._taken: list[Any] = []
        self._last: NDArray[Any] | None = None  # the action taken last

    @property
    def snapshot_kind(self) -> SnapshotKind:
        """The environment's own."""
        return self._env.snapshot_kind

    def reset(self, no_ops: int = 0) -> None:
        """Starts an episode; there is no such thing as doing nothing."""
        if self.view.new_seeds:
            self._reseed(int(self.rng.integers(1 << 31)))
        self._see(self._env.reset())
        self._steps, self._last = 0, None
        self._taken.clear()

    def _reseed(self, seed: int) -> None:
        reseed = getattr(self._env, "reseed", None)
        if reseed is None or self.snapshot_kind is not SnapshotKind.PLAIN:
            raise InputError(
                "new_seeds needs a Gymnasium environment whose state can be saved (get_state and set_state), its random"
                " generator included"
            )
        reseed(seed)

    def step(self, action: Any) -> tuple[float, bool]:
        """Takes the action, or a random one."""
        space = self._env.action_space
        if self.view.random_actions and self.rng.random() < self.view.random_actions:
            return self.replay(space.sample(self.rng, 1)[0])
        if self.view.sticky and self.rng.random() < self.view.sticky and self._last is not None:
            return self.replay(self._last)
        if space.discrete:
            return self.replay(space.low + action)
        return self.replay(space.low + (np.tanh(action) + 1.0) / 2.0 * (space.high - space.low))

    def replay(self, recorded: Any) -> tuple[float, bool]:
        """Takes exactly this action."""
        space = self._env.action_space
        row = np.asarray(recorded, space.dtype)
        observation, reward, terminated, truncated, _ = self._env.step(space.to_env(row))
        self._see(observation)
        self._steps, self._last = self._steps + 1, row
        self._taken.append(row)
        self.cut_short = not terminated and bool(truncated or self._steps >= self.view.max_steps)
        return float(reward), bool(terminated) or self.cut_short

    def taken(self) -> NDArray[Any]:
        """The actions taken since the last reset or restore."""
        space = self._env.action_space
        return np.array(self._taken, space.dtype).reshape(-1, *space.shape)

    def policy_action(self, recorded: Any) -> Any:
        """The choice counted from 0; or the numbers before they are squashed by tanh into the action's bounds."""
        space = self._env.action_space
        if space.discrete:
            return int(recorded) - int(space.low)
        share = (np.asarray(recorded, np.float64) - space.low) / (space.high - space.low)
        return np.arctanh((2.0 * share - 1.0).clip(-BOUND, BOUND)).astype(np.float32)

    def do_nothing(self, frames: int) -> tuple[float, bool]:
        """Nothing."""
        return 0.0, False

    def snapshot(self) -> bytes:
        """The environment's own, the steps so far and the action taken last."""
        saved = self._env.snapshot()
        if saved is None:
            raise InputError("this environment cannot be saved, so that no episode can start in mid-demonstration")
        last = b"" if self._last is None else self._last.tobytes()
        return _HEADER.pack(self._steps, len(last)) + last + saved

    def restore(self, snapshot: bytes) -> None:
        """Puts it back."""
        self._steps, size = _HEADER.unpack_from(snapshot)
        split, space = _HEADER.size + size, self._env.action_space
        last = np.frombuffer(snapshot[_HEADER.size : split], space.dtype)
        self._last = last.reshape(space.shape) if size else None
        self._see(self._env.restore(snapshot[split:]))
        self._taken.clear()

    def look(self, snapshot: bytes) -> NDArray[np.float32]:
        """Restores it: only the environment knows what is seen there."""
        self.restore(snapshot)
        return self.observation

    def _see(self, observation: Any) -> None:
        self._unflattened, self.observation = observation, flattened(observation)

    @property
    def events(self) -> list[str]:
        """What the environment said was so after the last step."""
        return events_of(getattr(self._env, "info", {}))

    def cell_key(self, cells: CellFunction) -> bytes:
        """The cell of the environment as it is."""
        return cell_key(cells, self._unflattened, self._env)

    def fingerprint(self) -> bytes:
        """The environment's own."""
        return self._env.fingerprint()

    def render(self) -> NDArray[np.uint8]:
        """The environment's own."""
        return self._env.render()


def flattened(observation: Any) -> NDArray[np.float32]:
    """All numbers of an observation in one row: arrays, numbers, and dicts and tuples of them; text is left out."""
    if isinstance(observation, dict):
        parts = [flattened(observation[name]) for name in sorted(observation)]
    elif isinstance(observation, (tuple, list)):
        parts = [flattened(each) for each in observation]
    elif isinstance(observation, (str, bytes)):
        return np.zeros(0, np.float32)
    else:
        return np.asarray(observation, np.float32).reshape(-1)
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)
