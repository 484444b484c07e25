"""What leaves a run: replays that were verified, videos, and descriptions."""

from goexplore.demos._inspect import inspect_run
from goexplore.demos._render import RenderResult, render
from goexplore.demos._replay import CellCheck, Replay, pick_cells, replay, require_same, verify_cells

__all__ = [
    "CellCheck",
    "RenderResult",
    "Replay",
    "inspect_run",
    "pick_cells",
    "render",
    "replay",
    "require_same",
    "verify_cells",
]
