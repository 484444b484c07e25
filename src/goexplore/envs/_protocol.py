"""What the engine asks of an environment: to be stepped, saved and put back.

The loop it lives in:

    observation = env.restore(snapshot)                 # first return ...
    for _ in range(explore_steps):                      # ... then explore
        observation, reward, terminated, truncated, info = env.step(action)
        if worth_keeping:
            snapshot = env.snapshot()
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from goexplore.envs._actions import ActionSpace

Observation: TypeAlias = Any
Action: TypeAlias = Any
StepResult: TypeAlias = tuple[Observation, float, bool, bool, dict[str, Any]]


class SnapshotKind(Enum):
    """How far a snapshot can travel."""

    PLAIN = "plain data, kept in checkpoints"
    """Arrays and numbers: crosses processes and goes into checkpoints."""
    MEMORY = "process memory only"
    """A pickled copy: crosses our own processes, never touches a file. After a resume its cells are
    reached by replaying their actions until they are found again."""
    NONE = "none: return by replaying actions"
    """Nothing can be saved: the engine returns by replaying actions from reset."""


@runtime_checkable
class RestorableEnv(Protocol):
    """A deterministic environment whose state can be saved and put back.

    Determinism is the contract: from the same snapshot, the same actions give the same observations,
    rewards and ends, in any process. `goexplore check-env` tests it.
    """

    action_space: ActionSpace
    frames_per_step: int
    """Raw simulator frames for each agent step (4 on Atari, 1 where there is no frame skip)."""
    observation: Observation
    """What the last reset, step or restore returned."""

    @property
    def snapshot_kind(self) -> SnapshotKind:
        """How far its snapshots can travel."""

    @property
    def how_it_returns(self) -> str:
        """One line for people: what `snapshot` and `restore` use."""

    def reset(self) -> Observation:
        """Starts the one episode there is: every reset gives the same state."""

    def step(self, action: Action) -> StepResult:
        """Takes one agent step.

        The observation may be a buffer that the next step overwrites: copy what is kept.
        """

    def snapshot(self) -> bytes | None:
        """Saves everything the future depends on, and the observation; None if `SnapshotKind.NONE`."""

    def restore(self, snapshot: bytes) -> Observation:
        """Puts a snapshot back, from this process or another, and returns the observation it carries.

        The observation comes out of the snapshot and is never read from the simulator, whose screen
        may still show the state before the restore (it does in ALE).
        """

    def fingerprint(self) -> bytes:
        """Bytes that are equal for equal simulator states: what a verified replay compares."""

    def render(self) -> NDArray[np.uint8]:
        """Returns the current picture, (height, width, 3) RGB."""

    def close(self) -> None:
        """Frees what the simulator holds."""


def events_of(info: dict[str, Any]) -> list[str]:
    """What an environment says is so after a step: the names of what is true in its `info`."""
    return [str(name) for name, value in info.items() if value is True or value is np.True_]
