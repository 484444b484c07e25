"""What leaves a run: replays that were verified, videos, and descriptions."""

from goexplore.demos._inspect import inspect_run
from goexplore.demos._render import RenderResult, render
from goexplore.demos._replay import Replay, Replayer, pick_cells

__all__ = ["RenderResult", "Replay", "Replayer", "inspect_run", "pick_cells", "render"]
