from __future__ import annotations

import pytest

from goexplore.envs import EnvSpec
from goexplore.errors import InputError
from goexplore.evaluation import random_play

MAZE = "goexplore/KeyDoorMaze-v0"
CHAIN = EnvSpec("goexplore/Chain-v0", {"length": 4})


def test_random_play_finishes_what_chance_finishes():
    """Three times heads in a row ends an episode of the short chain: after 14 steps in the mean."""
    played = random_play(CHAIN, frames=14_000, seed=1)
    assert played.frames == played.steps == 14_000
    assert 900 < len(played.episode_scores) < 1100
    assert set(played.episode_scores) == {1.0}
    assert (played.mean_score, played.end_score, played.best_score) == (1.0, 1.0, 1.0)


def test_random_play_finds_no_key_in_the_maze():
    played = random_play(MAZE, frames=2000)
    assert (played.episode_scores, played.mean_score, played.end_score, played.best_score) == ((), None, None, 0.0)


def test_one_seed_one_game_and_repeating_differs():
    same = [random_play(CHAIN, frames=3000, seed=seed).episode_scores for seed in (5, 5)]
    assert same[0] == same[1]
    repeating = random_play(CHAIN, frames=3000, seed=5, repeat_probability=0.9)
    assert len(repeating.episode_scores) > len(same[0])  # the same way three times is what repeating does


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"frames": 0}, "frames 0: expected a budget above 0"),
        ({"frames": 10, "repeat_probability": 1.0}, "repeat_probability 1.0"),
        ({"frames": 10, "seed": -1}, "seed -1: expected 0 or more"),
    ],
)
def test_bad_input(wrong, sentence):
    with pytest.raises(InputError, match=sentence):
        random_play(MAZE, **wrong)


@pytest.mark.atari
def test_atari_counts_raw_frames_and_plays_whole_games():
    played = random_play("ALE/Pong-v5", frames=12_001)
    assert played.frames == 12_004 == 4 * played.steps
    assert len(played.episode_scores) >= 2
    assert played.mean_score is not None
    assert -21 <= played.mean_score < -15
    assert played.end_score == max(played.episode_scores)
