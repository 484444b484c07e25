"""The terms of the loss (SI, "PPO and SIL"), for each entry of a batch; who is averaged over is decided elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


def policy_loss(log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """L^PG: max(-A r, -A clip(r, 1 - eps, 1 + eps)), with r the ratio of probabilities now and then."""
    ratio = torch.exp(log_prob - old_log_prob)
    return torch.maximum(-advantage * ratio, -advantage * ratio.clamp(1.0 - clip, 1.0 + clip))


def value_loss(value: Tensor, old_value: Tensor, target: Tensor, clip: float | None) -> Tensor:
    """L^VF: the squared error, or that of a value which may move by `clip` only if it is larger."""
    error = (value - target).square()
    if clip is None:
        return error
    clipped = old_value + (value - old_value).clamp(-clip, clip)
    return torch.maximum(error, (clipped - target).square())


@dataclass(frozen=True, slots=True)
class ImitationLoss:
    """Terms of L^SIL for each entry."""

    policy: Tensor
    value: Tensor


def imitation_loss(log_prob: Tensor, value: Tensor, old_value: Tensor, achieved: Tensor) -> ImitationLoss:
    """L^SIL: imitate an action as far as what followed it beats what was expected; expect at least as much.

    Args:
        log_prob: of the imitated action, now.
        value: now.
        old_value: when the data was collected; constant.
        achieved: R, the discounted reward that followed.
    """
    return ImitationLoss(
        policy=-log_prob * torch.relu(achieved - old_value),
        value=0.5 * torch.relu(achieved - value).square(),
    )


def mean_where(terms: Tensor, weights: Tensor, count: Tensor | float) -> Tensor:
    """The weighted sum over `count` entries, 0 if there are none."""
    return (terms * weights).sum() / torch.clamp(torch.as_tensor(count, dtype=terms.dtype), min=1.0)
