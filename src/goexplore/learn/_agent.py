"""Everything one rank learns with, and how it is saved."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from goexplore.learn._networks import ActorCritic, NetworkConfig
from goexplore.learn._ppo import Learner, PPOConfig
from goexplore.learn._ranks import Ranks, device_of
from goexplore.learn._rollout import Environments, Rollout


class Agent:
    """A network, its rollouts, its learner, and the generators they draw from.

        agent.collect()                 # T steps of every actor of this rank
        terms = agent.learn(done=0.5)   # gradients are averaged over all ranks

    Args:
        environments: this rank's.
        network: the network's shape.
        ppo: settings of the learner.
        seed: of the initial parameters, the same on all ranks.
        seeds: where this rank's choices come from.
        ranks: who learns along.
    """

    def __init__(
        self,
        environments: Environments,
        network: NetworkConfig,
        ppo: PPOConfig,
        *,
        seed: int,
        seeds: np.random.SeedSequence,
        ranks: Ranks,
    ) -> None:
        choices, shuffles = seeds.spawn(2)
        torch.manual_seed(seed)
        self.network = ActorCritic(network, environments.spaces).to(device_of(ranks.rank))
        self._choices = torch.Generator(self.network.device).manual_seed(int(choices.generate_state(1)[0]))
        self._shuffles = np.random.default_rng(shuffles)
        self._learner = Learner(self.network, ppo, ranks, self._shuffles)
        self._rollout = Rollout(
            environments, self.network, steps=ppo.steps, context=ppo.context, generator=self._choices
        )

    def collect(self) -> int:
        """Takes steps with every actor of this rank; returns how many with each."""
        return self._rollout.collect(self.network)

    def learn(self, *, done: float) -> dict[str, float]:
        """Learns from what was collected last; returns the loss's terms and what to watch beside them.

        Args:
            done: share of the training that is behind, for settings that change over it.

        Raises:
            DivergedError: a loss is not a number; the parameters are still those before that step.
        """
        return self._learner.update(self._rollout, done=done)

    def descend(self, loss: Tensor, *, learning_rate: float) -> None:
        """Follows the gradient of some other loss by a step, with the same optimiser."""
        self._learner.step(loss, learning_rate=learning_rate)

    def save(self) -> dict[str, NDArray[Any]]:
        """Parameters, optimiser, context and generators, as arrays."""
        parameters = {f"network.{name}": value.cpu().numpy() for name, value in self.network.state_dict().items()}
        return {
            **parameters,
            **self._learner.save(),
            **self._rollout.save(),
            "agent.choices": self._choices.get_state().numpy(),
            "agent.shuffles": np.frombuffer(json.dumps(self._shuffles.bit_generator.state).encode(), np.uint8),
        }

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Takes over what `save` returned."""
        self.network.load_state_dict(
            {name: torch.from_numpy(np.array(saved[f"network.{name}"])) for name in self.network.state_dict()}
        )
        self._learner.restore(saved)
        self._rollout.restore(saved)
        self._choices.set_state(torch.from_numpy(np.array(saved["agent.choices"])))
        self._shuffles.bit_generator.state = json.loads(saved["agent.shuffles"].tobytes())
