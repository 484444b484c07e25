"""Policy-based Go-Explore: return with a goal-conditioned policy, without restoring anything."""

from goexplore.policy_based._actor import POLICY, RANDOM, RETURNING, Actor, Atlas, Directive
from goexplore.policy_based._path import Cell, Follower, Path, temperature
from goexplore.policy_based._rules import ActorRules

__all__ = [
    "POLICY",
    "RANDOM",
    "RETURNING",
    "Actor",
    "ActorRules",
    "Atlas",
    "Cell",
    "Directive",
    "Follower",
    "Path",
    "temperature",
]
