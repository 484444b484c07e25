"""Two speeds compared on a machine that is never quiet."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Measurable(Protocol):
    """Something with a speed."""

    def steps_per_second(self, seconds: float) -> float:
        """Works for some seconds and returns its rate."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Medians over rounds."""

    baseline_rate: float
    rate: float
    ratio: float
    interval: tuple[float, float]
    """95% bootstrap interval of the median ratio."""


def compare(
    baseline: tuple[str, Measurable],
    candidate: tuple[str, Measurable],
    *,
    rounds: int,
    seconds: float,
    say: Callable[[str], None],
) -> Comparison:
    """Measures both in turns, and changes the order each round, so that a drift of the machine cancels out."""
    rates: dict[str, list[float]] = {baseline[0]: [], candidate[0]: []}
    for round_number in range(rounds):
        for name, thing in (baseline, candidate) if round_number % 2 == 0 else (candidate, baseline):
            rates[name].append(thing.steps_per_second(seconds))
        told = ", ".join(f"{name} {values[-1]:,.0f} steps/s" for name, values in rates.items())
        ratio = rates[candidate[0]][-1] / rates[baseline[0]][-1]
        say(f"round {round_number + 1} of {rounds}: {told}, ratio {ratio:.3f}")
    ratios = np.array(rates[candidate[0]]) / np.array(rates[baseline[0]])
    resampled = np.random.default_rng(0).choice(ratios, (2000, rounds))
    low, high = np.quantile(np.median(resampled, axis=1), [0.025, 0.975])
    return Comparison(
        baseline_rate=round(statistics.median(rates[baseline[0]]), 1),
        rate=round(statistics.median(rates[candidate[0]]), 1),
        ratio=round(float(np.median(ratios)), 4),
        interval=(round(float(low), 3), round(float(high), 3)),
    )
