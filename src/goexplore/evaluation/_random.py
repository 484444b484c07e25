"""Random play from reset, episode after episode: what a search must beat at equal frames."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from goexplore.envs import EnvSpec, make_env
from goexplore.errors import InputError

STEPS_AT_ONCE = 4096
"""Actions drawn at a time. A repeated action is cut off at the end of a draw, which nobody can tell."""


@dataclass(frozen=True, slots=True)
class RandomPlay:
    """What random play came to. Deterministic environment, no sticky actions: comparable with search scores."""

    frames: int
    """Raw frames played."""
    steps: int
    episode_scores: tuple[float, ...]
    """Score of every episode that ended, in order; the one that the budget cut off is left out."""
    best_score: float
    """Highest score at any moment, as a run's `best_score`."""
    seconds: float

    @property
    def end_score(self) -> float | None:
        """Highest score at an end of episode, as a run's `end_score`; None if no episode ended."""
        return max(self.episode_scores, default=None)

    @property
    def mean_score(self) -> float | None:
        """Mean over the episodes that ended, the usual score of a random agent; None if none did."""
        return float(np.mean(self.episode_scores)) if self.episode_scores else None


def random_play(
    env: str | EnvSpec,
    *,
    frames: int,
    seed: int = 0,
    repeat_probability: float = 0.0,
    on_frames: Callable[[int], None] | None = None,
) -> RandomPlay:
    """Plays uniform random actions from reset until the frames are spent.

    The environment is the one of a search: every reset gives the same state, there are no sticky actions, and
    Atari scores that roll over are put right.

    Args:
        env: an id, or a spec with the settings of the run to compare with.
        frames: raw frames to play.
        seed: seed of the actions.
        repeat_probability: probability of taking the previous action again. 0 is the usual random agent; 0.95 acts
            as the exploration phase does on Atari after a return.
        on_frames: told now and then how many frames were played.

    Raises:
        InputError: there is no such environment, or a value is out of range.
    """
    if frames <= 0:
        raise InputError(f"frames {frames:,}: expected a budget above 0, for example 2_000_000")
    if not 0 <= repeat_probability < 1:
        raise InputError(f"repeat_probability {repeat_probability}: expected at least 0 and less than 1")
    if seed < 0:
        raise InputError(f"seed {seed}: expected 0 or more")
    game = make_env(EnvSpec(env) if isinstance(env, str) else env)
    rng, space, started = np.random.default_rng(seed), game.action_space, time.monotonic()
    total = -(-frames // game.frames_per_step)
    steps, score, best, ended = 0, 0.0, 0.0, []
    game.reset()
    while steps < total:
        rows = space.sample_repeating(rng, min(STEPS_AT_ONCE, total - steps), repeat_probability)
        for row in rows:
            _, reward, terminated, truncated, _ = game.step(space.to_env(row))
            score += reward
            best = max(best, score)
            if terminated or truncated:
                ended.append(score)
                score = 0.0
                game.reset()
        steps += len(rows)
        if on_frames is not None:
            on_frames(steps * game.frames_per_step)
    game.close()
    return RandomPlay(
        frames=steps * game.frames_per_step,
        steps=steps,
        episode_scores=tuple(ended),
        best_score=best,
        seconds=round(time.monotonic() - started, 2),
    )
