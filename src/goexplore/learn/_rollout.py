"""Collecting experience: the last steps of every actor, and some before them as context for the memory.

The network is updated every T steps but unfolded over 1.5 T of them, from the memory that was stored when the oldest
was taken: BPTT(h; h') of the paper's SI. The older third is context only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from goexplore.learn._networks import ActorCritic
from goexplore.learn._spaces import Spaces


@dataclass(frozen=True, slots=True)
class Imitation:
    """What self-imitation may learn from a step."""

    actions: NDArray[Any]
    """The action to imitate, for each actor."""
    returns: NDArray[np.float32]
    """The discounted reward that followed it."""
    weights: NDArray[np.float32]
    """How much it counts; 0 where there is nothing to imitate."""


@dataclass(frozen=True, slots=True)
class Transitions:
    """What a step brought to each actor of a group."""

    rewards: NDArray[np.float32]
    ends: NDArray[np.bool_]
    """Nothing follows: no value beyond."""
    cuts: NDArray[np.bool_]
    """The actor was put elsewhere, though the game would have gone on."""
    own: NDArray[np.bool_]
    """Whether the step was the policy's own choice; a replayed step is no experience for PPO."""
    imitation: Imitation | None = None


class Environments(Protocol):
    """The environments of one rank.

        for group in range(len(environments.groups)):
            environments.begin(group, actions)          # returns at once where other processes do the work
        transitions = environments.finish(group)        # observations, first and temperature are then the next ones

    One group steps while the network thinks about another.
    """

    spaces: Spaces
    groups: Sequence[slice]
    """Actors that step together."""
    observations: NDArray[Any]
    """What each actor sees, (actors, ...)."""
    first: NDArray[np.bool_]
    """Whether that is the first of an episode."""
    temperature: NDArray[np.float32]
    """At which each actor draws its next action."""

    def begin(self, group: int, actions: NDArray[Any]) -> None:
        """Starts a step of a group."""

    def finish(self, group: int) -> Transitions:
        """Waits for that step."""


class Rollout:
    """The newest `context + steps` steps of every actor.

    Args:
        environments: where the actors live.
        steps: T, steps collected for each update.
        context: steps before them that only feed the memory.
        generator: draws actions.
    """

    def __init__(
        self, environments: Environments, network: ActorCritic, *, steps: int, context: int, generator: torch.Generator
    ) -> None:
        self._environments, self._generator = environments, generator
        self.steps, self.context = steps, context
        spaces, actors, length = environments.spaces, len(environments.first), steps + context
        self.observations = torch.zeros(
            length, actors, *spaces.observation_shape, dtype=getattr(torch, spaces.observation_dtype)
        )
        actions = torch.zeros(length, actors, *spaces.action_shape, dtype=getattr(torch, spaces.action_dtype))
        self.actions, self.imitated_actions = actions, actions.clone()
        floats = torch.zeros(length, actors)
        self.log_probs, self.values, self.rewards = floats.clone(), floats.clone(), floats.clone()
        self.temperature, self.imitated_returns, self.imitation = floats.clone(), floats.clone(), floats.clone()
        self.first, self.ends, self.cuts, self.own = (torch.zeros(length, actors, dtype=torch.bool) for _ in range(4))
        self.states = torch.zeros(length, actors, network.state_size)
        self.last_values = torch.zeros(actors)
        self._state = torch.zeros(actors, network.state_size)
        self.filled = False

    @torch.no_grad()
    def collect(self, network: ActorCritic) -> int:
        """Takes T steps with every actor (1.5 T the first time) and returns how many."""
        start = self.context if self.filled else 0
        if self.filled:
            for kept in self._kept():
                kept[: self.context] = kept[self.steps :].clone()
        groups = range(len(self._environments.groups))
        for step in range(start, self.context + self.steps):
            for group in groups:
                if step > start:
                    self._finish(step - 1, group)
                self._begin(step, group, network)
        for group in groups:
            self._finish(self.context + self.steps - 1, group)
        self._look_ahead(network)
        self.filled = True
        return self.context + self.steps - start

    def _kept(self) -> list[Tensor]:
        return [
            self.observations,
            self.actions,
            self.imitated_actions,
            self.log_probs,
            self.values,
            self.rewards,
            self.temperature,
            self.imitated_returns,
            self.imitation,
            self.first,
            self.ends,
            self.cuts,
            self.own,
            self.states,
        ]

    def _begin(self, step: int, group: int, network: ActorCritic) -> None:
        seen, actors = self._environments, self._environments.groups[group]
        self.observations[step, actors] = torch.from_numpy(seen.observations[actors])
        self.first[step, actors] = torch.from_numpy(seen.first[actors])
        self.temperature[step, actors] = torch.from_numpy(seen.temperature[actors])
        self.states[step, actors] = self._state[actors]
        device = network.device
        output = network.act(
            self.observations[step, actors].to(device),
            self._state[actors].to(device),
            self.first[step, actors].to(device),
        )
        policy = output.policy.at_temperature(self.temperature[step, actors].to(device))
        actions = policy.sample(self._generator)
        self.actions[step, actors] = actions.cpu()
        self.log_probs[step, actors] = policy.log_prob(actions).cpu()
        self.values[step, actors] = output.value.cpu()
        self._state[actors] = output.state.cpu()
        seen.begin(group, self.actions[step, actors].numpy())

    def _finish(self, step: int, group: int) -> None:
        actors, brought = self._environments.groups[group], self._environments.finish(group)
        self.rewards[step, actors] = torch.from_numpy(brought.rewards)
        self.ends[step, actors] = torch.from_numpy(brought.ends)
        self.cuts[step, actors] = torch.from_numpy(brought.cuts)
        self.own[step, actors] = torch.from_numpy(brought.own)
        if brought.imitation is None:
            self.imitation[step, actors] = 0.0
        else:
            self.imitated_actions[step, actors] = torch.from_numpy(brought.imitation.actions)
            self.imitated_returns[step, actors] = torch.from_numpy(brought.imitation.returns)
            self.imitation[step, actors] = torch.from_numpy(brought.imitation.weights)

    def _look_ahead(self, network: ActorCritic) -> None:
        """The value of what is seen after the last step; the memory stays as it is."""
        device, seen = network.device, self._environments
        output = network.act(
            torch.from_numpy(seen.observations).to(device),
            self._state.to(device),
            torch.from_numpy(seen.first).to(device),
        )
        self.last_values = output.value.cpu()

    def save(self) -> dict[str, NDArray[Any]]:
        """The context of the next collection, as arrays."""
        kept = {f"rollout.{index}": each[self.steps :].numpy() for index, each in enumerate(self._kept())}
        return kept | {"rollout.state": self._state.numpy(), "rollout.filled": np.array(self.filled)}

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Takes over what `save` returned."""
        for index, each in enumerate(self._kept()):
            each[self.steps :] = torch.from_numpy(saved[f"rollout.{index}"])
        self._state = torch.from_numpy(np.array(saved["rollout.state"]))
        self.filled = bool(saved["rollout.filled"])
