"""A warm start: learning to do what demonstrations do, from replays that succeeded under noise.

Not in the paper. A demonstration shows one way through the game; replayed blindly under noise it is carried off that
way, and the replays that succeed nevertheless show what to do there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from goexplore.errors import InputError
from goexplore.learn import Agent, Ranks, Spaces
from goexplore.play import Play, draw_no_ops
from goexplore.robustification._route import RewardScale, Route, discounted

CHUNK = 64
"""Steps that are learnt from together; the memory begins empty."""
LATE_STEPS = 8
"""Steps by which a replay may be late; its last action is held meanwhile."""
NEAR = 0.5
"""A replay is where it should be if what it sees differs from the demonstration by no more than this share of what the
demonstration itself changes by in `LATE_STEPS`."""
MOST_BYTES = 256 << 20
"""Observations that a rank keeps."""


@dataclass(frozen=True, slots=True)
class CloningConfig:
    """Settings of the warm start. Paper: there is none."""

    replays: int = 0
    """Blind replays under noise, on all ranks together. 0: no warm start."""
    stretch_steps: int = 0
    """Replay stretches of so many agent steps, each from anywhere along the demonstrations, and learn those that lose
    neither a life nor points. 0: from reset to the end, which seldom succeeds where a demonstration is long."""
    epochs: int = 8
    """Times that what succeeded is gone through."""
    chunks: int = 16
    """Stretches of up to 64 steps in a minibatch of a rank."""
    learning_rate: float = 1e-3
    """Of the same Adam that goes on with PPO."""
    value_coefficient: float = 0.25
    """Of the squared error of values."""
    entropy_coefficient: float = 1e-2
    """Keeps the policy from being too sure of what it has seen only there."""

    def __post_init__(self) -> None:
        if min(self.replays, self.stretch_steps) < 0 or min(self.epochs, self.chunks) < 1:
            raise InputError(
                f"replays {self.replays}, stretch_steps {self.stretch_steps}, epochs {self.epochs}, chunks"
                f" {self.chunks}: expected at least 0, 0, 1 and 1"
            )


class Replays:
    """Stretches of replays that succeeded.

    Args:
        spaces: what is seen and done.
    """

    def __init__(self, spaces: Spaces) -> None:
        self._spaces = spaces
        self._chunks: list[dict[str, np.ndarray]] = []
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._chunks)

    def add(self, observations: Sequence[np.ndarray], actions: Sequence[object], returns: NDArray[np.float32]) -> None:
        """Adds a replay."""
        for first in range(0, len(actions), CHUNK):
            part = slice(first, first + CHUNK)
            chunk = {
                "observations": np.stack(observations[part]),
                "actions": np.array(actions[part], self._spaces.action_dtype),
                "returns": returns[part],
            }
            self._chunks.append(chunk)
            self.bytes += chunk["observations"].nbytes

    def batches(self, size: int, count: int, rng: np.random.Generator) -> Iterator[dict[str, Tensor]]:
        """Minibatches of chunks in random order, padded to equal lengths: (steps, chunks, ...)."""
        order = rng.permutation(len(self._chunks))
        for number in range(count):
            chosen = [
                self._chunks[index] for index in np.take(order, range(number * size, (number + 1) * size), mode="wrap")
            ]
            length = max(len(chunk["returns"]) for chunk in chosen)
            batch = {
                name: torch.zeros(length, len(chosen), *value.shape[1:], dtype=torch.from_numpy(value).dtype)
                for name, value in chosen[0].items()
            } | {"mask": torch.zeros(length, len(chosen))}
            for column, chunk in enumerate(chosen):
                for name, value in chunk.items():
                    batch[name][: len(value), column] = torch.from_numpy(value)
                batch["mask"][: len(chunk["returns"]), column] = 1.0
            yield batch


def noisy_replays(
    play: Play,
    routes: Sequence[Route],
    *,
    count: int,
    scale: RewardScale,
    gamma: float,
    tolerance: float,
) -> Replays:
    """Replays demonstrations in turn from reset under noise, and keeps what succeeds with the first life."""
    kept = Replays(play.spaces)
    for number in range(count):
        route = routes[number % len(routes)]
        play.reset(draw_no_ops(play))
        observations, rewards, lives, score = [], [], play.lives, 0.0
        actions = [*route.actions, *[route.actions[-1]] * LATE_STEPS]  # noise may have cost some time
        for action in actions:
            observations.append(np.array(play.observation))
            reward, over = play.step(action)
            rewards.append(reward)
            score += reward
            matched = score + route.tolerated(tolerance) >= route.final
            if over or play.lives < lives or (matched and len(rewards) >= len(route)):
                break
        if not matched or play.lives < lives:
            continue
        kept.add(observations, actions[: len(rewards)], discounted(_learnt(route, 0, rewards, scale), gamma))
        if kept.bytes >= MOST_BYTES:
            break
    return kept


def noisy_stretches(
    play: Play,
    routes: Sequence[Route],
    *,
    count: int,
    steps: int,
    scale: RewardScale,
    gamma: float,
    tolerance: float,
    rng: np.random.Generator,
) -> Replays:
    """Replays stretches of demonstrations under noise, each from anywhere; keeps those that come out where they should.

    They have lost neither lives nor points, and see what the demonstration saw about then. What follows is taken to be
    worth what it is there.
    """
    kept = Replays(play.spaces)
    returns = [route.returns(gamma, scale) for route in routes]
    for number in range(count):
        index = number % len(routes)
        route = routes[index]
        start = int(rng.integers(len(route)))
        end = min(start + steps, len(route))
        route.put(play, start)
        observations, rewards = [], []
        for action in route.actions[start:end]:
            observations.append(np.array(play.observation))
            reward, over = play.step(action)
            rewards.append(reward)
            if over:
                break
        score = float(route.scores[start]) + sum(rewards) + route.tolerated(tolerance)
        at = start + len(rewards)
        if play.lives < route.least_lives(at, LATE_STEPS) or score < route.threshold(at, LATE_STEPS):
            continue
        if score < route.final if at == len(route) else over or not _is_near(route, play, at):
            continue
        after = float(returns[index][at]) if at < len(route) else 0.0
        learnt = _learnt(route, start, rewards, scale)
        kept.add(observations, route.actions[start:at], discounted(learnt, gamma, after))
        if kept.bytes >= MOST_BYTES:
            break
    return kept


def _learnt(route: Route, start: int, rewards: Sequence[float], scale: RewardScale) -> NDArray[np.float32]:
    """What the steps of a replay bring, as it is learnt from; it comes to landmarks when the demonstration does."""
    learnt = np.array([scale(reward) for reward in rewards], np.float32)
    steps = route.landmarks.steps - 1 - start
    learnt[steps[(steps >= 0) & (steps < len(learnt))]] += scale.of_landmark
    return learnt


def _is_near(route: Route, play: Play, step: int) -> bool:
    """Whether what is seen now is much nearer to what a demonstration saw about then than that changes meanwhile."""
    now = np.array(play.observation, np.float32)  # looking at other states may put the game there
    about = range(max(0, step - LATE_STEPS), min(step + LATE_STEPS, len(route) - 1) + 1)
    seen = np.stack([route.seen(play, each) for each in about]).astype(np.float32)
    changes = np.abs(seen - seen[step - about.start]).reshape(len(seen), -1).mean(axis=1).max()
    apart = np.abs(seen - now).reshape(len(seen), -1).mean(axis=1).min()
    return bool(apart <= NEAR * changes)


def clone(
    agent: Agent,
    replays: Replays,
    config: CloningConfig,
    ranks: Ranks,
    rng: np.random.Generator,
    *,
    on_epoch: Callable[[int, float], None] = lambda epoch, loss: None,
) -> float | None:
    """Learns to do what was done; returns the last epoch's loss, or None where nothing had succeeded."""
    fewest = min(ranks.gather(len(replays)))
    if not fewest:
        return None
    loss_of_epoch = math.nan
    count = max(1, fewest // config.chunks)
    for epoch in range(config.epochs):
        losses = []
        for batch in replays.batches(config.chunks, count, rng):
            loss = _loss(agent, batch, config)
            agent.descend(loss, learning_rate=config.learning_rate)
            losses.append(float(loss.detach()))
        loss_of_epoch = float(ranks.average(torch.tensor(np.mean(losses))))
        on_epoch(epoch, loss_of_epoch)
    return loss_of_epoch


def _loss(agent: Agent, batch: dict[str, Tensor], config: CloningConfig) -> Tensor:
    network = agent.network
    part = {name: value.to(network.device) for name, value in batch.items()}
    first = torch.zeros_like(part["mask"], dtype=torch.bool)
    first[0] = True
    output = network.unroll(part["observations"], network.initial_state(first.shape[1]), first)
    error = (output.value - part["returns"]).square()
    each = (
        config.value_coefficient * error
        - output.policy.log_prob(part["actions"])
        - config.entropy_coefficient * output.policy.entropy()
    )
    return (each * part["mask"]).sum() / part["mask"].sum()
