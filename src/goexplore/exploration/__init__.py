"""The exploration phase: tasks, rollouts and the loop that asks for them."""

from goexplore.exploration._adaptation import Adaptation, Refit
from goexplore.exploration._config import ExplorationConfig
from goexplore.exploration._explorers import Explorer, RandomExplorer, make_explorer
from goexplore.exploration._loop import BatchSummary, ExplorationLoop
from goexplore.exploration._presets import (
    PRESETS,
    SET_UPS,
    Preset,
    atari_cells,
    atari_settings,
    cells_of_kind,
    preset_config,
)
from goexplore.exploration._rollout import Roller, WorkerSpec, start_episode, state_digest
from goexplore.exploration._tasks import Candidate, End, KnownCells, RolloutResult, Task, Update

__all__ = [
    "PRESETS",
    "SET_UPS",
    "Adaptation",
    "BatchSummary",
    "Candidate",
    "End",
    "ExplorationConfig",
    "ExplorationLoop",
    "Explorer",
    "KnownCells",
    "Preset",
    "RandomExplorer",
    "Refit",
    "Roller",
    "RolloutResult",
    "Task",
    "Update",
    "WorkerSpec",
    "atari_cells",
    "atari_settings",
    "cells_of_kind",
    "make_explorer",
    "preset_config",
    "start_episode",
    "state_digest",
]
