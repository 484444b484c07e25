"""The exploration phase: tasks, rollouts and the loop that asks for them."""

from goexplore.exploration._config import ATARI_SETTINGS, PRESETS, ExplorationConfig, preset_config
from goexplore.exploration._explorers import Explorer, RandomExplorer, make_explorer
from goexplore.exploration._loop import BatchSummary, ExplorationLoop
from goexplore.exploration._rollout import Roller, WorkerSpec, cell_key, start_episode, state_digest
from goexplore.exploration._tasks import Candidate, End, KnownCells, RolloutResult, Task, Update

__all__ = [
    "ATARI_SETTINGS",
    "PRESETS",
    "BatchSummary",
    "Candidate",
    "End",
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
    "preset_config",
    "start_episode",
    "state_digest",
]
