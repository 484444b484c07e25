"""Trainings as runs: folders, budgets, ranks, progress, metrics, checkpoints and policies, whatever is trained."""

from goexplore.training._launch import begin, go_on
from goexplore.training._protocol import Progress, Trainable
from goexplore.training._run import TrainingRun
from goexplore.training._session import CHECKPOINT_SECONDS, Limits, TrainingResult
from goexplore.training._settings import altered

__all__ = [
    "CHECKPOINT_SECONDS",
    "Limits",
    "Progress",
    "Trainable",
    "TrainingResult",
    "TrainingRun",
    "altered",
    "begin",
    "go_on",
]
