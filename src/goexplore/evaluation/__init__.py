"""What scores are compared with: play that learns and remembers nothing."""

from goexplore.evaluation._random import RandomPlay, random_play

__all__ = ["RandomPlay", "random_play"]
