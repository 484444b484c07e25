"""Policies on disk, and how to use them."""

from goexplore.policies._policy import TOLD_GOALS, Player, Policy, find_policy

__all__ = ["TOLD_GOALS", "Player", "Policy", "find_policy"]
