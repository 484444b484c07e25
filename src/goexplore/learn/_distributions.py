"""What a policy head describes: a distribution over actions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


class Distribution(Protocol):
    """A distribution over actions for each entry of a batch."""

    def log_prob(self, actions: Tensor) -> Tensor:
        """Log-probability (or log-density) of actions, one number for each entry."""

    def entropy(self) -> Tensor:
        """Entropy in nats, one number for each entry."""

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """Draws an action for each entry."""

    def mode(self) -> Tensor:
        """The likeliest action of each entry."""

    def at_temperature(self, temperature: Tensor | float) -> Distribution:
        """A flatter (above 1) or sharper (below 1) distribution; one temperature for all, or one for each entry."""


@dataclass(frozen=True, slots=True)
class Categorical:
    """One of several choices, from unnormalised log-probabilities (..., choices)."""

    logits: Tensor

    def log_prob(self, actions: Tensor) -> Tensor:
        """See `Distribution`."""
        return self._log_probabilities().gather(-1, actions.long().unsqueeze(-1)).squeeze(-1)

    def entropy(self) -> Tensor:
        """See `Distribution`."""
        logs = self._log_probabilities()
        return -(logs.exp() * logs).sum(-1)

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """See `Distribution`."""
        probabilities = self._log_probabilities().exp()
        flat = probabilities.reshape(-1, probabilities.shape[-1])
        return torch.multinomial(flat, 1, generator=generator).reshape(probabilities.shape[:-1])

    def mode(self) -> Tensor:
        """See `Distribution`."""
        return self.logits.argmax(-1)

    def at_temperature(self, temperature: Tensor | float) -> Categorical:
        """See `Distribution`."""
        if isinstance(temperature, Tensor):
            temperature = temperature.unsqueeze(-1)
        return Categorical(self.logits / temperature)

    def _log_probabilities(self) -> Tensor:
        return torch.log_softmax(self.logits, dim=-1)


@dataclass(frozen=True, slots=True)
class DiagonalGaussian:
    """Independent normal numbers, with means and log standard deviations (..., numbers)."""

    mean: Tensor
    log_std: Tensor

    def log_prob(self, actions: Tensor) -> Tensor:
        """See `Distribution`."""
        standard = (actions - self.mean) * torch.exp(-self.log_std)
        return -(0.5 * standard.square() + self.log_std + 0.5 * math.log(2 * math.pi)).sum(-1)

    def entropy(self) -> Tensor:
        """See `Distribution`."""
        return (self.log_std + 0.5 * math.log(2 * math.pi * math.e)).sum(-1)

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """See `Distribution`."""
        noise = torch.randn(self.mean.shape, generator=generator, dtype=self.mean.dtype, device=self.mean.device)
        return self.mean + self.log_std.exp() * noise

    def mode(self) -> Tensor:
        """See `Distribution`."""
        return self.mean

    def at_temperature(self, temperature: Tensor | float) -> DiagonalGaussian:
        """Scales the standard deviation by the temperature's root, as a tempered density does."""
        factor = torch.as_tensor(temperature, dtype=self.log_std.dtype, device=self.log_std.device)
        return DiagonalGaussian(self.mean, self.log_std + 0.5 * factor.log().unsqueeze(-1))
