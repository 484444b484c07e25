"""Policies on disk, and how to use them."""

from goexplore.policies._policy import Player, Policy, find_policy

__all__ = ["Player", "Policy", "find_policy"]
