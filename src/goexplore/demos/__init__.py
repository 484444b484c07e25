"""What leaves a run: replays that were verified, videos, and descriptions."""

from goexplore.demos._demonstration import SUFFIX, Demonstration, digest_of, load_demonstrations
from goexplore.demos._extract import Choice, demonstrations_of, difference, extract
from goexplore.demos._inspect import inspect_run
from goexplore.demos._render import RenderResult, film_demonstration, render
from goexplore.demos._replay import Replay, Replayer, pick_cells

__all__ = [
    "SUFFIX",
    "Choice",
    "Demonstration",
    "RenderResult",
    "Replay",
    "Replayer",
    "demonstrations_of",
    "difference",
    "digest_of",
    "extract",
    "film_demonstration",
    "inspect_run",
    "load_demonstrations",
    "pick_cells",
    "render",
]
