"""Learning: recurrent networks, PPO, self-imitation, data-parallel ranks. Knows nothing of Go-Explore.

The loop it lives in:

    agent.collect()                     # T steps of every actor
    terms = agent.learn(done=...)       # gradients are averaged over all ranks
"""

from goexplore.learn._advantages import advantages
from goexplore.learn._agent import Agent
from goexplore.learn._distributions import Categorical, DiagonalGaussian, Distribution
from goexplore.learn._losses import imitation_loss, policy_loss, value_loss
from goexplore.learn._networks import GRU, ActorCritic, NetworkConfig, Output
from goexplore.learn._ppo import DivergedError, Learner, PPOConfig
from goexplore.learn._ranks import Ranks, default_ranks, default_workers, device_of, launch, torchrun_rank
from goexplore.learn._rollout import Environments, Imitation, Rollout, Transitions
from goexplore.learn._spaces import Spaces
from goexplore.learn._workers import WorkerEnvironments

__all__ = [
    "GRU",
    "ActorCritic",
    "Agent",
    "Categorical",
    "DiagonalGaussian",
    "Distribution",
    "DivergedError",
    "Environments",
    "Imitation",
    "Learner",
    "NetworkConfig",
    "Output",
    "PPOConfig",
    "Ranks",
    "Rollout",
    "Spaces",
    "Transitions",
    "WorkerEnvironments",
    "advantages",
    "default_ranks",
    "default_workers",
    "device_of",
    "imitation_loss",
    "launch",
    "policy_loss",
    "torchrun_rank",
    "value_loss",
]
