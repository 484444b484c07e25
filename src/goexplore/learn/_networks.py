"""Recurrent actor-critic networks.

The paper's (SI, "PPO and SIL"; facts of its code): convolutions, a fully connected layer with layer normalisation,
a GRU, and heads that see the GRU's output beside its input. Smaller ones of the same shape run on CPUs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from goexplore.errors import InputError
from goexplore.learn._distributions import Categorical, DiagonalGaussian, Distribution
from goexplore.learn._spaces import Spaces

LEAST_SPREAD = 0.01
"""Of a number that hardly changed in what a network was centred on."""
MOST_SPREADS = 5.0
"""Numbers further out than this are seen as if they were there."""


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    """The shape of a network. The defaults are the paper's for Atari."""

    convolutions: tuple[tuple[int, int, int], ...] = ((64, 8, 4), (128, 4, 2), (128, 3, 1))
    """Channels, kernel size and stride of each convolution; none for observations that are not pictures."""
    hidden: tuple[int, ...] = (800,)
    """Units of the fully connected layers; the last is layer-normalised."""
    memory: int = 800
    """Units of the GRU; 0 for a network without memory."""
    separate_towers: bool = False
    """A tower of layers for the policy and another for the value. Paper: on robotics."""
    gain: float = 1.0
    """Scale of the initial weights below the heads. The paper's code: 1; the square root of 2 suits ReLU."""
    told_gain: float | None = None
    """The same for what the network is told beside the observation, a goal say, on its own. None: it is one with the
    observation, as in the paper's code. A few numbers beside a thousand hardly count at first, and what hardly counts
    is learnt late."""
    policy_gain: float = 0.01
    """Scale of the policy head's initial weights."""
    value_gain: float = 0.01
    """Scale of the value head's initial weights."""
    centred: bool = False
    """Whether pictures are seen as what differs from a mean one, and numbers as standard scores, of what
    `ActorCritic.centre_on` is told. Paper: no. Where most of a picture is bright, or most numbers never change, that
    drowns what moves, and a small network learns nothing."""
    deviation: float = 1.0
    """Standard deviation of actions that are numbers, before anything is learnt. Paper: not stated. Less where a
    little noise is enough to drop what is held."""
    least_deviation: float = 0.0
    """Below which it never falls. Paper: not stated. Surer policies change too much with every step of learning."""

    def __post_init__(self) -> None:
        if not 0 <= self.least_deviation < self.deviation:
            raise InputError(
                f"deviation {self.deviation}, least_deviation {self.least_deviation}: expected a smaller second,"
                " of at least 0"
            )

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> NetworkConfig:
        """Rebuilds it from plain values, in which tuples have become lists."""
        tuples = {
            "convolutions": tuple(tuple(each) for each in saved["convolutions"]),
            "hidden": tuple(saved["hidden"]),
        }
        return cls(**(saved | tuples))


@dataclass(frozen=True, slots=True)
class Output:
    """What a network says about a batch of observations."""

    policy: Distribution
    value: Tensor
    state: Tensor
    """The memory after the last observation, (actors, `state_size`)."""


class ActorCritic(nn.Module):
    """A policy and a value function, with a memory.

    The memory is cleared before the first observation of an episode: `first[t]` belongs to observation t, in acting
    and in training alike. (Clearing after the last step instead is a classic error by one.)

        state = network.initial_state(actors)
        output = network.act(observations, state, first)               # one step for each actor
        output = network.unroll(observations, state, first)            # (steps, actors, ...) from a stored state
    """

    def __init__(self, config: NetworkConfig, spaces: Spaces) -> None:
        super().__init__()
        self.config, self.spaces = config, spaces
        self.towers = nn.ModuleList(_Tower(config, spaces) for _ in range(1 + config.separate_towers))
        width = config.hidden[-1] + config.memory
        outputs = spaces.choices if spaces.choices is not None else 2 * math.prod(spaces.action_shape)
        self.policy_head, self.value_head = nn.Linear(width, outputs), nn.Linear(width, 1)
        _initialise(self.policy_head, config.policy_gain)
        if spaces.choices is None:
            learnt = config.deviation - config.least_deviation
            nn.init.constant_(self.policy_head.bias[outputs // 2 :], math.log(learnt))
        _initialise(self.value_head, config.value_gain)

    def centre_on(self, observations: Tensor) -> None:
        """Compares what it sees with the mean of some observations, (count, ...), from now on; once, before use."""
        for tower in self.towers:
            cast(_Tower, tower).centre_on(observations)

    @property
    def state_size(self) -> int:
        """Numbers of memory for each actor."""
        return len(self.towers) * self.config.memory

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return self.value_head.bias.device

    def initial_state(self, actors: int) -> Tensor:
        """An empty memory for each actor."""
        return torch.zeros(actors, self.state_size, device=self.device)

    def act(self, observations: Tensor, state: Tensor, first: Tensor) -> Output:
        """Takes one observation of each actor, (actors, ...)."""
        output = self.unroll(observations.unsqueeze(0), state, first.unsqueeze(0))
        return Output(_first_of(output.policy), output.value[0], output.state)

    def unroll(self, observations: Tensor, state: Tensor, first: Tensor) -> Output:
        """Takes a stretch of observations of each actor, (steps, actors, ...), from the state before it."""
        states = torch.split(state, self.config.memory, dim=1) if self.config.memory else [state] * len(self.towers)
        features, after = [], []
        for tower, before in zip(self.towers, states, strict=True):
            feature, last = tower(observations, before, first)
            features.append(feature)
            after.append(last)
        policy = self._distribution(self.policy_head(features[0]))
        value = self.value_head(features[-1]).squeeze(-1)
        return Output(policy, value, torch.cat(after, dim=1) if self.config.memory else state)

    def _distribution(self, outputs: Tensor) -> Distribution:
        if self.spaces.choices is not None:
            return Categorical(outputs)
        mean, log_std = outputs.reshape(*outputs.shape[:-1], 2, *self.spaces.action_shape).unbind(outputs.dim() - 1)
        if self.config.least_deviation:
            log_std = torch.log(self.config.least_deviation + log_std.exp())
        return DiagonalGaussian(mean, log_std)


class _Tower(nn.Module):
    """Observations to features: everything below the heads."""

    centre: Tensor | None
    """The observation that others are compared with."""
    spread: Tensor | None
    """How far numbers usually are from it."""

    def __init__(self, config: NetworkConfig, spaces: Spaces) -> None:
        super().__init__()
        self._own_copy = spaces.observation_is_bytes  # converted to floats, they may be changed in place
        shape = spaces.picture_shape or spaces.observation_shape
        self._picture_shape = shape if config.convolutions else None
        self.register_buffer("centre", torch.zeros(shape) if config.centred else None)
        self.register_buffer("spread", torch.ones(shape) if config.centred and not config.convolutions else None)
        layers: list[nn.Module] = []
        channels = shape[-1]
        for out, kernel, stride in config.convolutions:
            convolution = nn.Conv2d(channels, out, kernel, stride)
            nn.init.orthogonal_(convolution.weight, config.gain)
            nn.init.zeros_(cast(Tensor, convolution.bias))
            layers += [convolution, nn.ReLU()]
            channels = out
        layers.append(nn.Flatten())
        self.encoder = nn.Sequential(*layers)
        self.encoder.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        with torch.no_grad():
            width = self._encoded(torch.zeros(1, *spaces.observation_shape)).shape[1]
        dense: list[nn.Module] = []
        for units in config.hidden:
            linear = nn.Linear(width, units)
            _initialise(linear, config.gain)
            if not dense and spaces.told and config.told_gain is not None:
                _initialise(linear, config.gain, slice(-spaces.told))
                _initialise(linear, config.told_gain, slice(-spaces.told, None))
            dense += [linear, nn.ReLU()]
            width = units
        dense.insert(len(dense) - 1, nn.LayerNorm(width, elementwise_affine=False))
        self.dense = nn.Sequential(*dense)
        self.memory = GRU(width, config.memory, gain=config.gain) if config.memory else None

    def forward(self, observations: Tensor, state: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
        steps, actors = observations.shape[:2]
        features = self.dense(self._encoded(observations.flatten(0, 1))).unflatten(0, (steps, actors))
        if self.memory is None:
            return features, state
        remembered, state = self.memory(features, state, first)
        return torch.cat([remembered, features], dim=-1), state

    def centre_on(self, observations: Tensor) -> None:
        if self.centre is not None:
            seen, _ = self._parts(observations.to(self.centre.device))
            self.centre.copy_(seen.mean(dim=0))
            if self.spread is not None:
                self.spread.copy_(seen.std(dim=0, correction=0).clamp(min=LEAST_SPREAD))

    def _parts(self, observations: Tensor) -> tuple[Tensor, Tensor | None]:
        """Pictures, (batch, height, width, channels), and what stands beside them; or numbers."""
        floats = observations.to(torch.float32)
        if self._own_copy:
            floats = floats.mul_(1.0 / 255.0)
        if self._picture_shape is None or floats.dim() > 2:
            return floats, None
        size = math.prod(self._picture_shape)
        return floats[:, :size].reshape(-1, *self._picture_shape), floats[:, size:]

    def _encoded(self, observations: Tensor) -> Tensor:
        """What the first fully connected layer sees: a picture through the convolutions, and what stands beside it."""
        floats, beside = self._parts(observations)
        if self._picture_shape is None:
            if self.centre is not None and self.spread is not None:
                floats = ((floats - self.centre) / self.spread).clamp(-MOST_SPREADS, MOST_SPREADS)
            encoded: Tensor = self.encoder(floats)
            return encoded
        if self.centre is not None:
            floats = floats.sub_(self.centre) if self._own_copy else floats - self.centre
        # (batch, channels, height, width), in the memory order that convolutions like best.
        encoded = self.encoder(floats.permute(0, 3, 1, 2))
        return encoded if beside is None else torch.cat([encoded, beside], dim=1)


class GRU(nn.Module):
    """A gated recurrent unit whose reset gate acts on the state before the matrix product (Cho et al. 2014).

    That is the paper's variant; PyTorch's own applies it after the product and has a second bias. Inputs of all
    steps are multiplied at once, so that only what depends on the state is done step by step.
    """

    def __init__(self, inputs: int, units: int, *, gain: float = 1.0) -> None:
        super().__init__()
        self.units = units
        self.from_input = nn.Linear(inputs, 3 * units)
        self.gates_from_state = nn.Linear(units, 2 * units, bias=False)
        self.candidate_from_state = nn.Linear(units, units, bias=False)
        for linear in (self.from_input, self.gates_from_state, self.candidate_from_state):
            _initialise(linear, gain)

    def forward(self, inputs: Tensor, state: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the state after each step, (steps, actors, units), and the last one."""
        keep = (~first).to(inputs.dtype).unsqueeze(-1)
        gate_inputs, candidate_inputs = self.from_input(inputs).split([2 * self.units, self.units], dim=-1)
        states = []
        for gate_input, candidate_input, kept in zip(gate_inputs, candidate_inputs, keep, strict=True):
            state = state * kept
            update, reset = torch.sigmoid(gate_input + self.gates_from_state(state)).chunk(2, dim=-1)
            candidate = torch.tanh(candidate_input + self.candidate_from_state(reset * state))
            state = torch.lerp(candidate, state, update)
            states.append(state)
        return torch.stack(states), state


def _initialise(linear: nn.Linear, gain: float, inputs: slice = slice(None)) -> None:
    """Incoming weights of every unit, those from some inputs, have the norm `gain`; biases are 0."""
    with torch.no_grad():
        weights = torch.randn_like(linear.weight[:, inputs])
        linear.weight[:, inputs] = gain * weights / weights.norm(dim=1, keepdim=True)
        if linear.bias is not None:
            linear.bias.zero_()


def _first_of(policy: Distribution) -> Distribution:
    if isinstance(policy, Categorical):
        return Categorical(policy.logits[0])
    gaussian = cast(DiagonalGaussian, policy)
    return DiagonalGaussian(gaussian.mean[0], gaussian.log_std[0])
