"""What a training has to offer to be run: iterations, a policy, and a state that can be saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from goexplore.policies import Policy


@dataclass(frozen=True, slots=True)
class Progress:
    """What an iteration came to, over all ranks."""

    words: list[str]
    """For the line that people judge by."""
    numbers: dict[str, Any]
    """For metrics.jsonl and TensorBoard."""
    finished: bool = False
    """Whether there is nothing more to learn, on every rank alike."""


class Trainable(Protocol):
    """The training of one rank."""

    iteration: int
    steps: int
    """Agent steps taken so far, by all ranks."""
    frames_per_step: int

    @property
    def about(self) -> str:
        """One sentence that says what is trained."""

    def iterate(self, *, done: float) -> Progress:
        """Collects and learns once.

        Args:
            done: share of the training that is behind, for settings that change over it.
        """

    def policy(self) -> Policy:
        """What was learnt so far."""

    def close(self) -> None:
        """Ends processes of its own, if it has any."""

    def save(self) -> dict[str, NDArray[Any]]:
        """This rank's whole state, as arrays."""

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Takes over what `save` returned."""
