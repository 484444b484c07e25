"""Policy-based Go-Explore: return with a goal-conditioned policy, without restoring anything.

The loop it is:

    agent.collect()              # actors choose cells, go there by way of goals, and explore (`Actor`)
    agent.learn()                # from returning, and from the archive's own trajectories
    atlas.learn(stretches)       # every cell that was entered is offered to the archive (`ArchiveAtlas`)
"""

from goexplore.policy_based._actor import POLICY, RANDOM, RETURNING, Actor, Atlas, Directive
from goexplore.policy_based._atlas import ArchiveAtlas
from goexplore.policy_based._config import PRESETS, PolicyConfig, policy_preset
from goexplore.policy_based._environments import GoalEnvironments
from goexplore.policy_based._goals import Goals
from goexplore.policy_based._imitation import Lesson, Sights, draw_lesson, followed
from goexplore.policy_based._path import Cell, Follower, Path, temperature
from goexplore.policy_based._reliability import Leg, Reliability, ReliabilityRules
from goexplore.policy_based._returns import ReturnsEvaluation, evaluate_returns
from goexplore.policy_based._rules import ActorRules
from goexplore.policy_based._run import (
    DOMAIN_GOALS,
    PolicyResult,
    PolicyRun,
    explore_with_policy,
    goals_of,
    resume_with_policy,
)
from goexplore.policy_based._stretch import END, Return, Stretch
from goexplore.policy_based._training import PolicyTraining, goal_cells

__all__ = [
    "DOMAIN_GOALS",
    "END",
    "POLICY",
    "PRESETS",
    "RANDOM",
    "RETURNING",
    "Actor",
    "ActorRules",
    "ArchiveAtlas",
    "Atlas",
    "Cell",
    "Directive",
    "Follower",
    "GoalEnvironments",
    "Goals",
    "Leg",
    "Lesson",
    "Path",
    "PolicyConfig",
    "PolicyResult",
    "PolicyRun",
    "PolicyTraining",
    "Reliability",
    "ReliabilityRules",
    "Return",
    "ReturnsEvaluation",
    "Sights",
    "Stretch",
    "draw_lesson",
    "evaluate_returns",
    "explore_with_policy",
    "followed",
    "goal_cells",
    "goals_of",
    "policy_preset",
    "resume_with_policy",
    "temperature",
]
