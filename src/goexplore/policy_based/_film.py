"""A film of one return, for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from goexplore.cells import GoalCells
from goexplore.demos import shown_steps_per_second, video_writer
from goexplore.errors import GoExploreError
from goexplore.play import AtariPlay, draw_no_ops, make_play
from goexplore.policy_based._return_player import ReturnEpisode
from goexplore.policy_based._run import PolicyRun
from goexplore.policy_based._stretch import END
from goexplore.runs import number


def worth_showing(episodes: Sequence[ReturnEpisode]) -> ReturnEpisode:
    """Of those that arrived, if any did, with the highest score, one of median length."""
    kept = [each for each in episodes if each.arrived] or episodes
    highest = max(each.score for each in kept)
    by_length = sorted((each for each in kept if each.score == highest), key=lambda each: each.steps)
    return by_length[(len(by_length) - 1) // 2]


def film_return(path: Path, run: PolicyRun, cells: GoalCells, episode: ReturnEpisode) -> None:
    """Plays an episode again, with the same actions and the same noise, and says where it is going.

    Raises:
        GoExploreError: it came to something else; there is no video then.
    """
    rng = np.random.default_rng()
    play = make_play(run.env, run.config.view, rng, render=True)
    rng.bit_generator.state = dict(episode.noise)
    fps = shown_steps_per_second(play.frames_per_step, atari=isinstance(play, AtariPlay))
    with video_writer(path, fps=fps) as add:
        play.reset(draw_no_ops(play))
        add(play.render(), "policy score 0 · step 0")
        score = 0.0
        for step, (action, goal) in enumerate(zip(episode.actions, episode.goals, strict=True), 1):
            reward, _ = play.step(action)
            score += reward
            place = "the end" if goal == END else " ".join(f"{name} {at}" for name, at in cells.describe(goal).items())
            add(play.render(), f"policy score {number(score)} · step {step:,} · to {place}")
        if score != episode.score or play.fingerprint() != episode.fingerprint:
            raise GoExploreError("the episode is not what it was when it is played again; no video")
