"""Policies on disk, and how to use them."""

from goexplore.policies._policy import Player, Policy

__all__ = ["Player", "Policy"]
