"""Runs: folders, checkpoints, metrics, progress, and the two calls that people make: explore and resume."""

from goexplore.runs._checkpoints import NoCheckpointError, read_newest_checkpoint, write_checkpoint
from goexplore.runs._files import read_json, write_atomically, write_json
from goexplore.runs._folder import Budget, RunConfig, RunFolder, provenance, run_config
from goexplore.runs._interrupt import StopRequest
from goexplore.runs._loading import load, peek, start
from goexplore.runs._metrics import MetricsLog
from goexplore.runs._progress import Display, Status, clock, make_display, number
from goexplore.runs._run import explore, resume
from goexplore.runs._session import CHECKPOINT_SECONDS, RunResult
from goexplore.runs._set_up import default_cells, set_up

__all__ = [
    "CHECKPOINT_SECONDS",
    "Budget",
    "Display",
    "MetricsLog",
    "NoCheckpointError",
    "RunConfig",
    "RunFolder",
    "RunResult",
    "Status",
    "StopRequest",
    "clock",
    "default_cells",
    "explore",
    "load",
    "make_display",
    "number",
    "peek",
    "provenance",
    "read_json",
    "read_newest_checkpoint",
    "resume",
    "run_config",
    "set_up",
    "start",
    "write_atomically",
    "write_checkpoint",
    "write_json",
]
