"""What leaves a run: replays that were verified, videos, and descriptions."""

from goexplore.demos._demonstration import Demonstration, digest_of, load_demonstrations, save_demonstrations
from goexplore.demos._extract import Choice, demonstrations_of, difference, extract
from goexplore.demos._inspect import inspect_run
from goexplore.demos._minari import from_minari, to_minari
from goexplore.demos._render import RenderResult, film_demonstration, render
from goexplore.demos._replay import Replay, Replayer, pick_cells
from goexplore.demos._video import check_video, shown_steps_per_second, video_writer

__all__ = [
    "Choice",
    "Demonstration",
    "RenderResult",
    "Replay",
    "Replayer",
    "check_video",
    "demonstrations_of",
    "difference",
    "digest_of",
    "extract",
    "film_demonstration",
    "from_minari",
    "inspect_run",
    "load_demonstrations",
    "pick_cells",
    "render",
    "save_demonstrations",
    "shown_steps_per_second",
    "to_minari",
    "video_writer",
]
