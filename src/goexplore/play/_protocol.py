"""A game as a policy plays it: stochastic, seen through preprocessing, and still restorable.

play.reset(no_ops)                          # or play.restore(snapshot)
while not over:
reward, over = play.step(action)        # play.observation is what the policy sees
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

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
    def lives(self) -> int:
        """Lives left; 0 where there are none to lose."""

    def reset(self, no_ops: int = 0) -> None:
        """Starts an episode with some raw frames of doing nothing."""

    def step(self, action: Any, *, noise: bool = True) -> tuple[float, bool]:
        """Takes one agent step and returns the reward and whether the episode is over.

        Args:
            action: what the policy chose.
            noise: whether the environment may interfere; a demonstration is replayed without.
        """

    def policy_action(self, recorded: Any) -> Any:
        """What the policy would have to choose for an action of a demonstration to be taken."""

    def do_nothing(self, frames: int) -> bool:
        """Lets raw frames pass without noise; returns whether the episode is over."""

    def snapshot(self) -> bytes:
        """Everything the future and the observation depend on, except the noise to come."""

    def restore(self, snapshot: bytes) -> None:
        """Puts a snapshot back, with its observation."""

    def fingerprint(self) -> bytes:
        """Equal for equal simulator states."""

    def render(self) -> NDArray[np.uint8]:
        """The picture for people, (height, width, 3) RGB."""
