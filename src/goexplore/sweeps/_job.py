"""What a sweep asks of one run's process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

INTERRUPTED = 130
"""Exit code of a run that was asked to stop, and has saved."""


@dataclass(frozen=True, slots=True)
class Job:
    """What to do; crosses processes as JSON."""

    run: str
    """The run folder."""
    env_id: str
    seed: int
    frames: int
    workers: int
    preset: str
    cells: str | None
    env_kwargs: dict[str, Any]
    exploration: dict[str, Any]
    checkpoint_seconds: float
    stages: tuple[str, ...]
    """What is to be done of "explore", "verify" and "random"."""
    explored_frames: int = 0
    """Raw frames of the run, where it was explored before."""
