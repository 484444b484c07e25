"""Recurrent PPO in the shape of CleanRL's single-file programs, written by us as a baseline for `bench learn`.

One process: environments step one after the other, the network acts, and the update goes through minibatches of whole
environments with the memory unfolded step by step.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from goexplore.learn import NetworkConfig, PPOConfig


class SingleFileNetwork(nn.Module):
    """Convolutions, a dense layer, PyTorch's GRU, two heads; channels first, as usual."""

    def __init__(self, config: NetworkConfig, *, frames: int, size: int, actions: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = frames
        for out, kernel, stride in config.convolutions:
            layers += [nn.Conv2d(channels, out, kernel, stride), nn.ReLU()]
            channels = out
        layers.append(nn.Flatten())
        with torch.no_grad():
            width = nn.Sequential(*layers)(torch.zeros(1, frames, size, size)).shape[1]
        units = config.hidden[-1]
        layers += [nn.Linear(width, units), nn.LayerNorm(units), nn.ReLU()]
        self.encoder = nn.Sequential(*layers)
        self.memory = nn.GRU(units, config.memory)
        self.actor = nn.Linear(config.memory, actions)
        self.critic = nn.Linear(config.memory, 1)

    def states(self, pictures: Tensor, state: Tensor, done: Tensor) -> tuple[Tensor, Tensor]:
        """The memory after each picture; (steps * environments, ...) from the state before the first."""
        features = self.encoder(pictures / 255.0)
        environments = state.shape[1]
        remembered = []
        for feature, ended in zip(
            features.reshape(-1, environments, features.shape[-1]), done.reshape(-1, environments), strict=True
        ):
            after, state = self.memory(feature.unsqueeze(0), (1.0 - ended).view(1, -1, 1) * state)
            remembered.append(after)
        return torch.flatten(torch.cat(remembered), 0, 1), state

    def act(
        self, pictures: Tensor, state: Tensor, done: Tensor, actions: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Actions, their log-probabilities, entropies, values, and the state afterwards."""
        remembered, state = self.states(pictures, state, done)
        policy = torch.distributions.Categorical(logits=self.actor(remembered))
        chosen = policy.sample() if actions is None else actions  # type: ignore[no-untyped-call]
        log_probs: Tensor = policy.log_prob(chosen)  # type: ignore[no-untyped-call]
        entropy: Tensor = policy.entropy()  # type: ignore[no-untyped-call]
        return chosen, log_probs, entropy, self.critic(remembered).flatten(), state


class SingleFilePPO:
    """The training loop, one iteration at a time.

    Args:
        environments: pictures as (environments, frames, size, size) bytes.
        network: the network's shape.
        ppo: settings of the learner; context and imitation are not known here.
    """

    def __init__(
        self, environments: gym.vector.VectorEnv[Any, Any, Any], network: NetworkConfig, ppo: PPOConfig
    ) -> None:
        self._environments, self._ppo = environments, ppo
        self._count = environments.num_envs
        frames, size, _ = environments.single_observation_space.shape or (0, 0, 0)
        space = environments.single_action_space
        assert isinstance(space, gym.spaces.Discrete)
        self._network = SingleFileNetwork(network, frames=frames, size=size, actions=int(space.n))
        self._optimiser = torch.optim.Adam(self._network.parameters(), lr=ppo.learning_rate, eps=ppo.adam_epsilon)
        observation, _ = environments.reset(seed=0)
        self._seen = torch.from_numpy(observation).to(torch.float32)
        self._done = torch.zeros(self._count)
        self._state = torch.zeros(1, self._count, network.memory)
        shape = (ppo.steps, self._count)
        self._pictures = torch.zeros(*shape, *observation.shape[1:])
        self._actions = torch.zeros(*shape, dtype=torch.int64)
        self._log_probs, self._rewards = torch.zeros(shape), torch.zeros(shape)
        self._dones, self._values = torch.zeros(shape), torch.zeros(shape)

    def iterate(self) -> int:
        """Collects and learns once; returns the steps taken."""
        before = self._state.clone()
        with torch.no_grad():
            self._collect()
            advantages = self._advantages()
        self._learn(before, advantages, advantages + self._values)
        return self._ppo.steps * self._count

    def _collect(self) -> None:
        for step in range(self._ppo.steps):
            self._pictures[step], self._dones[step] = self._seen, self._done
            actions, log_probs, _, values, self._state = self._network.act(self._seen, self._state, self._done)
            self._actions[step], self._log_probs[step], self._values[step] = actions, log_probs, values
            seen, rewards, terminated, truncated, _ = self._environments.step(actions.numpy())
            self._rewards[step] = torch.from_numpy(np.sign(rewards)).to(torch.float32)
            self._seen = torch.from_numpy(seen).to(torch.float32)
            self._done = torch.from_numpy(np.logical_or(terminated, truncated)).to(torch.float32)

    def _advantages(self) -> Tensor:
        ppo = self._ppo
        value = self._network.act(self._seen, self._state, self._done)[3]
        advantages, last = torch.zeros_like(self._rewards), torch.zeros(self._count)
        done = self._done
        for step in reversed(range(ppo.steps)):
            gained = self._rewards[step] + ppo.gamma * value * (1.0 - done) - self._values[step]
            last = gained + ppo.gamma * ppo.gae_lambda * (1.0 - done) * last
            advantages[step], value, done = last, self._values[step], self._dones[step]
        return advantages

    def _learn(self, before: Tensor, advantages: Tensor, returns: Tensor) -> None:
        ppo, order = self._ppo, np.arange(self._count)
        for _ in range(ppo.epochs):
            np.random.default_rng().shuffle(order)
            for part in np.array_split(order, min(ppo.minibatches, self._count)):
                flat = [
                    each[:, part].flatten(0, 1)
                    for each in (self._pictures, self._dones, self._actions, self._log_probs, advantages, returns)
                ]
                pictures, dones, actions, old, gained, targets = flat
                _, log_probs, entropy, values, _ = self._network.act(pictures, before[:, part], dones, actions)
                gained = (gained - gained.mean()) / (gained.std() + 1e-8)
                ratio = (log_probs - old).exp()
                policy = torch.max(-gained * ratio, -gained * ratio.clamp(1 - ppo.clip, 1 + ppo.clip)).mean()
                value = 0.5 * (values - targets).square().mean()
                loss = policy - ppo.entropy_coefficient * entropy.mean() + ppo.value_coefficient * value
                self._optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(self._network.parameters(), ppo.gradient_norm or float("inf"))
                self._optimiser.step()
