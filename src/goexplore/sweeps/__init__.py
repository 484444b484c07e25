"""Many games and seeds in one go: run, resumed, replayed, and written into one table."""

from goexplore.sweeps._records import HEADINGS, GameSummary, RunRecord, read_sweep, shown_columns, summarise
from goexplore.sweeps._sweep import SweepResult, sweep
from goexplore.sweeps._verify import Verification, verify_run

__all__ = [
    "HEADINGS",
    "GameSummary",
    "RunRecord",
    "SweepResult",
    "Verification",
    "read_sweep",
    "shown_columns",
    "summarise",
    "sweep",
    "verify_run",
]
