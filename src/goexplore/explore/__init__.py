"""The exploration phase: tasks, rollouts and the loop that asks for them."""

from goexplore.explore._config import PRESETS, ExplorationConfig, preset
from goexplore.explore._explorers import Explorer, RandomExplorer, make_explorer
from goexplore.explore._loop import BatchSummary, ExplorationLoop
from goexplore.explore._rollout import Roller, WorkerSpec, cell_key, start_episode
from goexplore.explore._tasks import Candidate, KnownCells, RolloutResult, Task, Update

__all__ = [
    "PRESETS",
    "BatchSummary",
    "Candidate",
    "ExplorationConfig",
    "ExplorationLoop",
    "Explorer",
    "KnownCells",
    "RandomExplorer",
    "Roller",
    "RolloutResult",
    "Task",
    "Update",
    "WorkerSpec",
    "cell_key",
    "make_explorer",
    "preset",
    "start_episode",
]
