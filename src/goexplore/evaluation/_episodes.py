"""Episodes from reset, in several processes, and what they come to."""

from __future__ import annotations

import dataclasses
import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from goexplore.errors import InputError
from goexplore.executors import available_cores

if TYPE_CHECKING:  # importing it needs PyTorch, and random play does without
    from goexplore.play import View

SIDE_BY_SIDE = 32
"""Games that a process plays together."""
RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class EpisodeScore:
    """One episode from reset."""

    number: int
    score: float
    steps: int
    first_life_score: float
    """Score until the first life is lost, or to the end."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a policy scores: policy scores, never to be set beside search scores."""

    policy: str
    episodes: int
    temperature: float
    view: dict[str, Any]
    """How the policy saw the game, and the noise: sticky actions, no-ops, the frame limit."""
    mean: float
    interval: tuple[float, float]
    """95% bootstrap interval of the mean."""
    median: float
    first_life_mean: float
    """Mean score until the first life is lost."""
    first_life_interval: tuple[float, float]
    reached: dict[str, float]
    """Share of episodes that reach each of some scores."""
    reached_in_first_life: dict[str, float]
    mean_steps: float
    frames: int
    seconds: float
    scores: tuple[float, ...]
    first_life_scores: tuple[float, ...]
    video: str | None = None
    """Of an episode with the median score."""
    until_score: float | None = None
    """Score at which episodes were ended; None, as in the paper, if they were not."""
    max_steps: int | None = None
    """Agent steps after which episodes were ended; None: at the frame limit."""


def check_counts(episodes: int, workers: int | None) -> None:
    """Whether there is something to play, and somebody to play it."""
    if episodes < 1 or (workers is not None and workers < 1):
        raise InputError(f"episodes {episodes}, workers {workers}: expected at least 1 of each")


def side_by_side(
    play: Callable[..., list[EpisodeScore]],
    arguments: tuple[Any, ...],
    *,
    episodes: int,
    workers: int | None,
    on_episode: Callable[[int, float], None],
) -> tuple[list[EpisodeScore], list[list[int]]]:
    """Plays episodes in several processes: `play(numbers, *arguments)`; returns them in order, and who was together."""
    count = min(available_cores() if workers is None else workers, episodes)
    parts = [list(range(index, episodes, count)) for index in range(count)]
    # Each part in pieces, so that progress is seen.
    pieces = [part[first : first + SIDE_BY_SIDE] for part in parts for first in range(0, len(part), SIDE_BY_SIDE)]
    found: list[EpisodeScore] = []
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:
        for finished in as_completed([pool.submit(play, piece, *arguments) for piece in pieces]):
            found += finished.result()
            on_episode(len(found), float(np.mean([each.score for each in found])))
    return sorted(found, key=lambda each: each.number), pieces


def summary(
    found: Sequence[EpisodeScore],
    *,
    policy: str,
    temperature: float,
    view: View,
    at_least: Sequence[float],
    frames_per_step: int,
    seconds: float,
    video: str | None = None,
    until_score: float | None = None,
    max_steps: int | None = None,
) -> Evaluation:
    """What episodes come to."""
    scores = np.array([each.score for each in found])
    first = np.array([each.first_life_score for each in found])
    steps = np.array([each.steps for each in found])
    return Evaluation(
        policy=policy,
        episodes=len(found),
        temperature=temperature,
        view=dataclasses.asdict(view),
        mean=round(float(scores.mean()), 4),
        interval=_interval(scores),
        median=float(np.median(scores)),
        first_life_mean=round(float(first.mean()), 4),
        first_life_interval=_interval(first),
        reached={f"{least:g}": round(float(np.mean(scores >= least)), 4) for least in at_least},
        reached_in_first_life={f"{least:g}": round(float(np.mean(first >= least)), 4) for least in at_least},
        mean_steps=round(float(steps.mean()), 1),
        frames=int(steps.sum()) * frames_per_step,
        seconds=round(seconds, 1),
        scores=tuple(scores.tolist()),
        first_life_scores=tuple(first.tolist()),
        video=video,
        until_score=until_score,
        max_steps=max_steps,
    )


def _interval(values: Any) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    means = rng.choice(values, (RESAMPLES, len(values))).mean(axis=1) if len(values) > 1 else np.repeat(values, 2)
    low, high = np.percentile(means, [2.5, 97.5])
    return round(float(low), 4), round(float(high), 4)
