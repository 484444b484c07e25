"""A game as a policy plays it: stochastic, seen through preprocessing, and still restorable.

play.reset(no_ops)                          # or play.restore(snapshot)
while not over:
    reward, over = play.step(action)        # play.observation is what the policy sees
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from goexplore.cells import CellFunction
from goexplore.envs import SnapshotKind
from goexplore.learn import Spaces


class Play(Protocol):
    """One environment for a policy to learn and be tested in."""

    spaces: Spaces
    frames_per_step: int
    """Raw simulator frames for each agent step."""
    max_no_ops: int
    """Most raw frames of doing nothing that an episode may begin with; 0 where there is no such thing."""
    observation: NDArray[Any]
    """What the policy sees now; a buffer that the next step overwrites."""
    rng: np.random.Generator
    """Where the noise comes from."""

    @property
    def snapshot_kind(self) -> SnapshotKind:
        """How far snapshots can travel; only plain ones may be written to files."""

    @property
    def cut_short(self) -> bool:
        """Whether the episode is over by a limit of time and not by what happened in it."""

    @property
    def lives(self) -> int:
        """Lives left; 0 where there are none to lose."""

    def reset(self, no_ops: int = 0) -> None:
        """Starts an episode with some raw frames of doing nothing."""

    def step(self, action: Any) -> tuple[float, bool]:
        """Takes one agent step, as far as noise lets it; returns the reward and whether the episode is over."""

    def policy_action(self, recorded: Any) -> Any:
        """What the policy would have to choose for an action of a demonstration to be taken."""

    def replay(self, recorded: Any) -> tuple[float, bool]:
        """Takes exactly an action of a demonstration, without noise."""

    def taken(self) -> NDArray[Any]:
        """The actions really taken since the last reset or restore, as `replay` takes them.

        They stand in for snapshots that cannot be written to files.
        """

    def do_nothing(self, frames: int) -> tuple[float, bool]:
        """Lets raw frames pass without noise; returns the reward and whether the episode is over."""

    def snapshot(self) -> bytes:
        """Everything the future and the observation depend on, except the noise to come."""

    def restore(self, snapshot: bytes) -> None:
        """Puts a snapshot back, with its observation."""

    def look(self, snapshot: bytes) -> NDArray[Any]:
        """The observation of a snapshot; the game may or may not be put there."""

    @property
    def events(self) -> list[str]:
        """Names of what the environment said was so after the last step: what is true in its `info`."""

    def cell_key(self, cells: CellFunction) -> bytes:
        """The cell that the game is in. For cells that track something: after a reset, then once after every step."""

    def fingerprint(self) -> bytes:
        """Equal for equal simulator states."""

    def render(self) -> NDArray[np.uint8]:
        """The picture for people, (height, width, 3) RGB."""
