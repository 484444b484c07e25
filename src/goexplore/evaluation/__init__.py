"""What policies score under noise, and what scores are compared with: play that learns and remembers nothing."""

from goexplore.evaluation._policy import EpisodeScore, Evaluation, best_policy, evaluate
from goexplore.evaluation._random import RandomPlay, random_play

__all__ = ["EpisodeScore", "Evaluation", "RandomPlay", "best_policy", "evaluate", "random_play"]
