"""Proximal policy optimisation with self-imitation (SI, "PPO and SIL"), over one rank's share of a batch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from goexplore.errors import GoExploreError, InputError
from goexplore.learn._advantages import advantages
from goexplore.learn._losses import imitation_loss, mean_where, policy_loss, value_loss
from goexplore.learn._networks import ActorCritic
from goexplore.learn._ranks import Ranks
from goexplore.learn._rollout import Rollout


@dataclass(frozen=True, slots=True)
class PPOConfig:
    """Settings of the learner. The defaults are the paper's for robustification on Atari (Extended Data Table 1a)."""

    steps: int = 128
    """T: agent steps of each actor between updates. Paper: 128."""
    context: int = 64
    """Steps before those that feed the memory and let gradients flow further back. Paper: T / 2. A network without
    memory needs none."""
    epochs: int = 4
    """Times that each batch is gone through. Paper: 4."""
    minibatches: int = 1
    """Parts of a batch that are learnt from one after the other. Paper: not stated; the authors' code: 1. More make
    each step of experience count for more."""
    learning_rate: float = 1e-4
    """Of Adam. Paper: not stated; the authors' code: 1e-4."""
    final_learning_rate: float | None = None
    """What it falls to, linearly, over the training. None: it stays. Paper: not mentioned."""
    adam_epsilon: float = 1e-6
    """Paper: not stated; the authors' code: 1e-6."""
    gradient_norm: float | None = None
    """Longest gradient; longer ones are scaled down. None: no limit. Paper: not mentioned."""
    gamma: float = 0.999
    """Discount factor of one agent step. Paper: 0.999 on Atari, 0.99 on robotics. Lower for short tasks: rewards
    beyond 1 / (1 - gamma) steps hardly count."""
    gae_lambda: float = 0.95
    """Paper: 0.95."""
    clip: float = 0.1
    """How far the ratio of probabilities may move before its gradient ends. Paper: 0.1."""
    value_clip: float | None = 0.1
    """The same for values; in units of scaled reward, so that values which should move far move slowly. None: no
    limit. Paper: 0.1."""
    value_coefficient: float = 0.5
    """Paper: 0.5. The authors' code halves the squared error as well, which makes 0.25."""
    entropy_coefficient: float = 1e-5
    """Paper: 1e-5."""
    final_entropy_coefficient: float | None = None
    """What it falls to, linearly, over the training. None: it stays."""
    l2_coefficient: float = 1e-7
    """Times half of the sum of all squared parameters. Paper: 1e-7."""
    imitation_coefficient: float = 0.1
    """Of self-imitation. Paper: 0.1."""
    imitation_value_coefficient: float = 0.01
    """Paper: 0.01 on Atari, 0.1 on robotics."""
    imitation_entropy_coefficient: float = 1e-5
    """Paper: 1e-5."""
    average_over: str = "all"
    """Entries that a mean is taken over. `all`: the whole padded batch, so that context and replayed steps dilute
    everything (the authors' code). `own`: those a term applies to. Paper: an expectation, which is `own`; the
    coefficients were chosen with `all`."""

    def __post_init__(self) -> None:
        for name, lowest in {"steps": 1, "context": 0, "epochs": 1, "minibatches": 1}.items():
            if (value := getattr(self, name)) < lowest:
                raise InputError(f"{name} {value}: expected at least {lowest}")
        if self.average_over not in ("all", "own"):
            raise InputError(f"average_over {self.average_over!r}: expected 'all' or 'own'")
        if not 0 <= self.gamma <= 1 or not 0 <= self.gae_lambda <= 1:
            raise InputError(f"gamma {self.gamma}, gae_lambda {self.gae_lambda}: expected 0 to 1")

    def at(self, done: float) -> tuple[float, float]:
        """Learning rate and entropy coefficient when a share of the training is done."""
        done = min(1.0, max(0.0, done))
        return (
            _between(self.learning_rate, self.final_learning_rate, done),
            _between(self.entropy_coefficient, self.final_entropy_coefficient, done),
        )


class DivergedError(GoExploreError):
    """A loss or gradient is no longer a number."""


class Learner:
    """Updates a network from rollouts.

    Args:
        network: this rank's copy.
        config: settings.
        ranks: who learns along.
        generator: shuffles minibatches.
    """

    def __init__(self, network: ActorCritic, config: PPOConfig, ranks: Ranks, generator: np.random.Generator) -> None:
        self.network, self.config = network, config
        self._ranks, self._generator = ranks, generator
        ranks.share_parameters(network)
        # Adam's weight decay adds l2 * parameter to the gradient: exactly the gradient of l2 / 2 * sum of squares.
        self.optimiser = torch.optim.Adam(
            network.parameters(), lr=config.learning_rate, eps=config.adam_epsilon, weight_decay=config.l2_coefficient
        )
        self._parameters = list(network.parameters())
        # All gradients side by side in memory, so that one message averages them.
        self._gradients = torch.zeros(sum(each.numel() for each in self._parameters), device=network.device)
        offset = 0
        for parameter in self._parameters:
            parameter.grad = self._gradients.as_strided(parameter.shape, parameter.stride(), offset)
            offset += parameter.numel()

    def update(self, rollout: Rollout, *, done: float = 0.0) -> dict[str, float]:
        """Learns from what was collected last.

        Args:
            rollout: the experience.
            done: share of the whole training that is behind, for settings that change over it.

        Returns:
            Means over all ranks of the loss's terms and what to watch beside them.

        Raises:
            DivergedError: a loss is not a number; the parameters are still those before that step.
        """
        learning_rate, entropy_coefficient = self.config.at(done)
        self._set(learning_rate)
        batch = self._batch(rollout)
        watched: list[dict[str, float]] = []
        for _ in range(self.config.epochs):
            for part in self._parts(batch):
                loss, terms = self._loss(part, entropy_coefficient)
                watched.append(terms | {"gradient_norm": self.step(loss)})
        means = {name: float(np.mean([each[name] for each in watched])) for name in watched[0]}
        means |= self._about(batch)
        names = sorted(means)
        averaged = self._ranks.average(torch.tensor([means[name] for name in names], dtype=torch.float64))
        return dict(zip(names, averaged.tolist(), strict=True)) | {"learning_rate": learning_rate}

    def _set(self, learning_rate: float) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate

    def _batch(self, rollout: Rollout) -> dict[str, Tensor]:
        """Everything that losses need; zeros for the context, which has no advantages."""
        context, config = rollout.context, self.config
        values = torch.cat([rollout.values[context:], rollout.last_values[None]]).numpy()
        gained = advantages(
            rollout.rewards[context:].numpy(),
            values,
            rollout.ends[context:].numpy(),
            rollout.cuts[context:].numpy(),
            gamma=config.gamma,
            gae_lambda=config.gae_lambda,
        )
        advantage = torch.zeros_like(rollout.values)
        advantage[context:] = torch.from_numpy(gained)
        trained = rollout.own & ~rollout.cuts
        trained[:context] = False
        counted = torch.ones_like(trained) if config.average_over == "all" else trained
        sums = torch.stack(
            [advantage[counted].sum(), advantage[counted].square().sum(), counted.sum().to(torch.float32)]
        ).to(torch.float64)
        total, squares, count = self._ranks.sum(sums).tolist()
        mean = total / max(count, 1.0)
        deviation = math.sqrt(max(squares / max(count, 1.0) - mean * mean, 0.0))
        batch = {
            "observations": rollout.observations,
            "actions": rollout.actions,
            "log_probs": rollout.log_probs,
            "values": rollout.values,
            "targets": rollout.values + advantage,
            "advantages": (advantage - mean) / (deviation + 1e-7),
            "temperature": rollout.temperature,
            "first": rollout.first,
            "trained": trained.to(torch.float32),
            "imitation": rollout.imitation,
            "imitated_actions": rollout.imitated_actions,
            "imitated_returns": rollout.imitated_returns,
            "states": rollout.states[:1] if self.network.config.memory else rollout.states,
        }
        if not self.network.config.memory:
            # Nothing ties the steps of an actor together: one long row of entries to shuffle.
            batch = {name: each.flatten(0, 1)[None] for name, each in batch.items()}
        return {name: each.to(self.network.device) for name, each in batch.items()}

    def _parts(self, batch: dict[str, Tensor]) -> Iterator[dict[str, Tensor]]:
        """Minibatches: whole actors, so that memories stay whole; single steps where there is no memory."""
        columns = batch["first"].shape[1]
        if self.config.minibatches == 1:
            yield batch
            return
        order = self._generator.permutation(columns)
        for chosen in np.array_split(order, self.config.minibatches):
            index = torch.from_numpy(chosen).to(self.network.device)
            yield {name: each.index_select(1, index) for name, each in batch.items()}

    def _loss(self, part: dict[str, Tensor], entropy_coefficient: float) -> tuple[Tensor, dict[str, float]]:
        config = self.config
        output = self.network.unroll(part["observations"], part["states"][0], part["first"])
        policy = output.policy.at_temperature(part["temperature"])
        trained, weights = part["trained"], part["imitation"]
        entropy, log_probs = policy.entropy(), policy.log_prob(part["actions"])
        everything = float(trained.numel())
        own = trained.sum() if config.average_over == "own" else everything
        imitated = (weights > 0).sum() if config.average_over == "own" else everything
        pg = mean_where(policy_loss(log_probs, part["log_probs"], part["advantages"], config.clip), trained, own)
        vf = mean_where(value_loss(output.value, part["values"], part["targets"], config.value_clip), trained, own)
        mean_entropy = mean_where(entropy, trained, own)
        loss = pg + config.value_coefficient * vf - entropy_coefficient * mean_entropy
        terms = {"policy_loss": pg, "value_loss": vf, "entropy": mean_where(entropy, trained, trained.sum())}
        if config.imitation_coefficient and bool((weights > 0).any()):
            learnt = imitation_loss(
                policy.log_prob(part["imitated_actions"]), output.value, part["values"], part["imitated_returns"]
            )
            imitation = (
                mean_where(learnt.policy, weights, imitated)
                + config.imitation_value_coefficient * mean_where(learnt.value, weights, imitated)
                - config.imitation_entropy_coefficient * mean_where(entropy, weights, imitated)
            )
            loss = loss + config.imitation_coefficient * imitation
            terms["imitation_loss"] = imitation
        else:
            terms["imitation_loss"] = torch.zeros(())
        with torch.no_grad():
            moved = log_probs - part["log_probs"]
            terms["approx_kl"] = mean_where(moved.exp() - 1.0 - moved, trained, trained.sum())
            terms["clip_fraction"] = mean_where(
                ((moved.exp() - 1.0).abs() > config.clip).to(torch.float32), trained, trained.sum()
            )
        return loss, {name: float(term.detach()) for name, term in terms.items()}

    def step(self, loss: Tensor, *, learning_rate: float | None = None) -> float:
        """Follows a loss's gradient, averaged over ranks, by one step; returns the gradient's norm.

        Raises:
            DivergedError: it is not a number; the parameters are as before.
        """
        if learning_rate is not None:
            self._set(learning_rate)
        self._gradients.zero_()
        loss.backward()  # type: ignore[no-untyped-call]
        self._ranks.average(self._gradients)
        norm = float(self._gradients.norm())
        if not math.isfinite(norm):  # averaged, so that all ranks see it and stop together
            raise DivergedError(
                f"training diverged: the gradient's norm is {norm}; lower the learning rate, and go on from the last"
                " checkpoint"
            )
        if self.config.gradient_norm is not None and norm > self.config.gradient_norm:
            self._gradients *= self.config.gradient_norm / norm
        self.optimiser.step()
        return norm

    def _about(self, batch: dict[str, Tensor]) -> dict[str, float]:
        trained = batch["trained"] > 0
        targets, values = batch["targets"][trained], batch["values"][trained]
        spread = float(targets.var()) if targets.numel() > 1 else 0.0
        explained = 1.0 - float((targets - values).var()) / spread if spread > 1e-12 else 0.0
        return {
            "explained_variance": explained,
            "mean_value": float(values.mean()) if values.numel() else 0.0,
        }

    def save(self) -> dict[str, NDArray[Any]]:
        """The optimiser's state, as arrays; the network is saved elsewhere."""
        saved: dict[str, NDArray[Any]] = {}
        for index, parameter in enumerate(self._parameters):
            for name, value in self.optimiser.state.get(parameter, {}).items():
                saved[f"adam.{index}.{name}"] = value.cpu().numpy()
        return saved

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Takes over what `save` returned."""
        for index, parameter in enumerate(self._parameters):
            names = ("step", "exp_avg", "exp_avg_sq")
            if f"adam.{index}.step" in saved:
                loaded = {name: torch.from_numpy(np.array(saved[f"adam.{index}.{name}"])) for name in names}
                self.optimiser.state[parameter] = {
                    name: value if name == "step" else value.to(parameter.device) for name, value in loaded.items()
                }


def _between(first: float, last: float | None, done: float) -> float:
    return first if last is None else first + (last - first) * done
