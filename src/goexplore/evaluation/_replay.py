"""Replaying demonstrations blindly under noise: what a policy has to be better than."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from goexplore.demos import load_demonstrations
from goexplore.evaluation._episodes import EpisodeScore, Evaluation, check_counts, side_by_side, summary

if TYPE_CHECKING:  # importing it needs PyTorch, and random play does without
    from goexplore.play import View


def evaluate_replay(
    demonstrations: str | os.PathLike[str],
    view: View,
    *,
    episodes: int = 100,
    seed: int = 0,
    at_least: Sequence[float] = (),
    workers: int | None = None,
    trust: bool = False,
    on_episode: Callable[[int, float], None] = lambda done, mean: None,
) -> Evaluation:
    """Takes the actions of demonstrations in turn from reset, whatever noise makes of them, and stops where they end.

    Args:
        demonstrations: a folder of them, or one file.
        view: the noise: sticky actions and no-ops, or random actions.
        episodes: how many.
        seed: seed of all episodes.
        at_least: scores of which to say how many episodes reach them.
        workers: processes; None takes one for each core.
        trust: import the environment that they name.
        on_episode: told the episodes done and their mean score.

    Raises:
        InputError: there is no such demonstration, or a value is out of range.
    """
    from goexplore.play import make_play

    check_counts(episodes, workers)
    found = load_demonstrations(demonstrations, trust=trust)
    frames_per_step = make_play(found[0].env, view, np.random.default_rng(0)).frames_per_step
    started = time.monotonic()
    arguments = (str(demonstrations), view, seed, trust)
    played, _ = side_by_side(play_replays, arguments, episodes=episodes, workers=workers, on_episode=on_episode)
    return summary(
        played,
        policy=f"blind replay of {demonstrations}",
        temperature=0.0,
        view=view,
        at_least=at_least,
        frames_per_step=frames_per_step,
        seconds=time.monotonic() - started,
    )


def play_replays(numbers: Sequence[int], demonstrations: str, view: View, seed: int, trust: bool) -> list[EpisodeScore]:
    """Replays blindly; each episode has the randomness of its number."""
    from goexplore.play import LifeScore, draw_no_ops, make_play

    found = load_demonstrations(demonstrations, trust=trust)
    played = []
    for number in numbers:
        demonstration = found[number % len(found)]
        noise = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        play = make_play(demonstration.env, view, noise)
        play.reset(draw_no_ops(play))
        score, steps = LifeScore(play.lives), 0
        for row in demonstration.actions:
            reward, over = play.step(play.policy_action(row))
            score.add(reward, play.lives)
            steps += 1
            if over:
                break
        played.append(EpisodeScore(number, score.score, steps, score.first_life))
    return played
