"""The numbers of the exploration phase, with their units and sources."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from goexplore.cells import Fitting
from goexplore.errors import InputError


@dataclass(frozen=True, slots=True)
class ExplorationConfig:
    """Settings of the exploration phase. The defaults are the paper's for Atari."""

    batch_size: int = 100
    """Cells selected in each iteration. Paper: 100 (Methods, "Exploration phase"). More keeps more workers busy
    between two merges; fewer lets a discovery be used sooner."""
    explore_steps: int = 100
    """Agent steps explored from each selected cell. Paper: 100 on Atari, 30 in robotics (Methods,
    "Exploration phase")."""
    play_on_probability: float = 0.0
    """Probability that a rollout begins in one of the tenth of cells with the highest scores and goes on until the
    episode ends. Paper: 0. More brings ends of episodes and depth where points come all the time and a search is
    short; it takes time from the search for new places."""
    play_on_steps: int = 5_000
    """Agent steps after which such a rollout stops all the same."""
    repeat_probability: float = 0.95
    """Probability of repeating the previous action. Paper: 0.95 on Atari, 0.90 in robotics. Higher goes
    further in one direction."""
    selector: Any = "seen"
    """How cells are selected: "seen" (W = 1/sqrt(C_seen + 1), Extended Data Table 1a), "inverse" (1/(C_seen + 1)),
    "uniform", "rooms:BYTES" (first a room, told by that many bytes of the key, then a cell), "montezuma"
    (W_mont_domain, for its domain cells), "package.module:name", or a Selector. "inverse" and "rooms" go to what is
    new more eagerly, which pays at small budgets."""
    explorer: Any = "random"
    """How to act after a return: "random" (with repetition), "pure-random" (without), "mixed" (half of the rollouts
    with, half without), "tanh-normal" (numbers near their bounds), "partial" (not all numbers change at a time),
    "package.module:name", or an Explorer."""
    reset_counters_on_improvement: bool = False
    """Zero a cell's counters whenever it is found or improved. Paper: not mentioned; the authors' Atari
    scripts do so, which sends every improved cell back to full weight."""
    pipelined: bool = False
    """Select batch k + 1 before batch k is merged, so that workers never wait for the merge. Still one seed,
    one archive, but not the same archive as without. Worth it from some ten workers on."""

    trials: int = 0
    """Noisy replays of each way that may enter the archive. The share that comes to the cell, times the reliability of
    the way before, is its reliability, which counts for more than its length. 0: the shortest way wins. Paper: 0. For
    demonstrations that hold under noise; they take most of the time."""
    trial_sticky: float = 0.1
    """Probability that an action is the one before instead, in trials."""
    trial_jitter: float = 0.05
    """Standard deviation of what is added to actions in trials, as a share of half their range; choices have none."""

    fitting: Fitting = field(default_factory=Fitting)
    """When cells that adapt themselves are fitted, and to what; see `Fitting`."""

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise InputError(f"batch_size {self.batch_size}: expected at least 1")
        if self.explore_steps < 1:
            raise InputError(f"explore_steps {self.explore_steps}: expected at least 1")
        if not 0 <= self.play_on_probability <= 1 or self.play_on_steps < 1:
            raise InputError(
                f"play_on_probability {self.play_on_probability}, play_on_steps {self.play_on_steps}: expected 0 to 1,"
                " and at least 1"
            )
        if self.trials < 0 or not 0 <= self.trial_sticky < 1 or not 0 <= self.trial_jitter < math.inf:
            raise InputError(
                f"trials {self.trials}, trial_sticky {self.trial_sticky}, trial_jitter {self.trial_jitter}: expected at"
                " least 0, 0 to 1, and at least 0"
            )
        if self.trials and self.pipelined:
            raise InputError("trials do not go together with pipelined: they depend on what is known of every cell")
        if not 0 <= self.repeat_probability < 1:
            raise InputError(f"repeat_probability {self.repeat_probability}: expected at least 0 and less than 1")
