"""What policies score under noise, and what scores are compared with: play that learns and remembers nothing."""

from goexplore.evaluation._episodes import EpisodeScore, Evaluation
from goexplore.evaluation._policy import best_policy, evaluate
from goexplore.evaluation._random import RandomPlay, random_play
from goexplore.evaluation._replay import evaluate_replay

__all__ = [
    "EpisodeScore",
    "Evaluation",
    "RandomPlay",
    "best_policy",
    "evaluate",
    "evaluate_replay",
    "random_play",
]
