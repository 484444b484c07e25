"""Robustification: from demonstrations that work without noise to policies that hold under it."""

from goexplore.robustification._actor import Actor
from goexplore.robustification._balance import Balance
from goexplore.robustification._cloning import CloningConfig
from goexplore.robustification._config import PRESETS, BackwardConfig, RobustifyConfig, robustify_preset
from goexplore.robustification._curriculum import VIRTUAL, Curriculum, Episode, Leg, whole
from goexplore.robustification._environments import BackwardEnvironments
from goexplore.robustification._imitator import Imitator
from goexplore.robustification._robustify import resume_robustify, robustify
from goexplore.robustification._route import RewardScale, Route, reward_scale
from goexplore.robustification._run import RobustifyResult
from goexplore.robustification._training import Training

__all__ = [
    "PRESETS",
    "VIRTUAL",
    "Actor",
    "BackwardConfig",
    "BackwardEnvironments",
    "Balance",
    "CloningConfig",
    "Curriculum",
    "Episode",
    "Imitator",
    "Leg",
    "RewardScale",
    "RobustifyConfig",
    "RobustifyResult",
    "Route",
    "Training",
    "resume_robustify",
    "reward_scale",
    "robustify",
    "robustify_preset",
    "whole",
]
