"""Testing policies (Methods, "Evaluation"): sticky actions, up to 30 no-ops, 400,000 frames, all lives.

Every episode has a seed of its own and all of them are played to their end, so that short ones are not favoured and
the outcome does not depend on how many run side by side.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from goexplore.demos import check_video, shown_steps_per_second, video_writer
from goexplore.errors import GoExploreError, InputError
from goexplore.evaluation._episodes import EpisodeScore, Evaluation, check_counts, side_by_side, summary
from goexplore.runs import number

if TYPE_CHECKING:  # importing it needs PyTorch, and random play does without
    from goexplore.play import Play

CANDIDATES = 5
"""Policies of a run that are tried when the best is to be chosen."""


def evaluate(
    policy: str | os.PathLike[str],
    *,
    episodes: int = 100,
    seed: int = 0,
    temperature: float = 1.0,
    at_least: Sequence[float] = (),
    workers: int | None = None,
    trust: bool = False,
    until_score: float | None = None,
    max_steps: int | None = None,
    video: str | os.PathLike[str] | None = None,
    on_episode: Callable[[int, float], None] = lambda done, mean: None,
) -> Evaluation:
    """Plays episodes from reset under the noise that the policy was trained on.

    Args:
        policy: a .safetensors file, or a run folder, whose newest policy is taken.
        episodes: how many.
        seed: seed of all episodes; another one gives new ones.
        temperature: 1 plays as trained, the paper's code tests Atari at 0.5, 0 takes the likeliest action.
        at_least: scores of which to say how many episodes reach them.
        workers: processes; None takes one for each core.
        trust: import the environment that the policy names.
        until_score: end an episode that has reached this score. None, as in the paper: play on.
        max_steps: end an episode after so many agent steps. None: at the frame limit of the policy's view.
        video: film an episode with the median score: an .mp4 or .gif.
        on_episode: told the episodes done and their mean score.

    Raises:
        InputError: there is no such policy, or a value is out of range.
    """
    from goexplore.play import check_pictures
    from goexplore.policies import Policy, find_policy

    check_counts(episodes, workers)
    if not 0 <= temperature < math.inf:
        raise InputError(f"temperature {temperature}: expected at least 0, and finite")
    policy = find_policy(policy)  # once: a run that is still training writes newer ones
    loaded = Policy.load(policy, trust=trust)
    loaded.require_no_goals()
    if video is not None:
        check_video(Path(video))
        check_pictures(loaded.make_play(render=True))
    frames_per_step = loaded.make_play().frames_per_step
    conditions = Conditions(str(policy), seed, temperature, trust, until_score, max_steps)
    started = time.monotonic()
    found, pieces = side_by_side(
        play_episodes, (conditions,), episodes=episodes, workers=workers, on_episode=on_episode
    )
    if video is not None:
        median = sorted(found, key=lambda each: (each.score, each.steps))[(episodes - 1) // 2]
        piece = next(piece for piece in pieces if median.number in piece)
        _film(Path(video), conditions, piece, median)
    return summary(
        found,
        policy=str(policy),
        temperature=temperature,
        view=loaded.view,
        at_least=at_least,
        frames_per_step=frames_per_step,
        seconds=time.monotonic() - started,
        video=None if video is None else str(video),
        until_score=until_score,
        max_steps=max_steps,
    )


def best_policy(
    run: str | os.PathLike[str],
    *,
    episodes: int = 100,
    seed: int = 1_000_000,
    candidates: int = CANDIDATES,
    temperature: float = 1.0,
    workers: int | None = None,
    trust: bool = False,
    say: Callable[[str], None] = lambda message: None,
) -> Path:
    """The policy of a run that scores best on some episodes, among those with the best scores in training.

    Test it on other episodes afterwards: its score here is flattered by having been chosen.
    """
    files = sorted(Path(run).glob("policies/*.safetensors"))
    if not files:
        raise InputError(f"there is no policy in {run} yet")
    trained = sorted(files, key=lambda file: (_training_score(file), file.name))
    scored = []
    for file in trained[-candidates:]:
        result = evaluate(file, episodes=episodes, seed=seed, temperature=temperature, workers=workers, trust=trust)
        say(f"{file.name}: mean {result.mean:g} over {episodes} episodes")
        scored.append((result.mean, result.first_life_mean, file))
    return max(scored)[2]


class Conditions(NamedTuple):
    """Under which episodes are played."""

    policy: str
    seed: int = 0
    temperature: float = 1.0
    trust: bool = False
    until_score: float | None = None
    max_steps: int | None = None


class Watch(NamedTuple):
    """Somebody who looks at one episode."""

    number: int
    on_step: Callable[[Play, float, int], None]
    """Told the game, the score and the steps."""


def _film(path: Path, conditions: Conditions, piece: Sequence[int], episode: EpisodeScore) -> None:
    """Plays an episode again, beside the same others as before: sums in another order may turn a choice."""
    from goexplore.play import AtariPlay
    from goexplore.policies import Policy

    play = Policy.load(conditions.policy, trust=conditions.trust).make_play()
    fps = shown_steps_per_second(play.frames_per_step, atari=isinstance(play, AtariPlay))
    with video_writer(path, fps=fps) as add:

        def film(play: Play, score: float, steps: int) -> None:
            add(play.render(), f"policy score {number(score)} · step {steps:,}")

        again = play_episodes(piece, conditions, Watch(episode.number, film))
        if episode not in again:
            raise GoExploreError(f"episode {episode.number} is not what it was when it is played again; no video")


def _training_score(file: Path) -> float:
    score = json.loads(file.with_suffix(".json").read_text())["about"].get("training_score")
    return -np.inf if score is None else float(score)


def play_episodes(numbers: Sequence[int], conditions: Conditions, watch: Watch | None = None) -> list[EpisodeScore]:
    """Plays some episodes side by side, each with the randomness of its number; `watch` looks at one of them."""
    import torch

    from goexplore.policies import Policy

    torch.set_num_threads(1)
    temperature, loaded = conditions.temperature, Policy.load(conditions.policy, trust=conditions.trust)
    games = [_Game(loaded, number, conditions, watch) for number in numbers]
    state = loaded.network.initial_state(len(games))
    playing = list(range(len(games)))
    with torch.no_grad():
        while playing:
            seen = torch.from_numpy(np.stack([games[index].play.observation for index in playing]))
            first = torch.tensor([games[index].steps == 0 for index in playing])
            output = loaded.network.act(seen, state[playing], first)
            state[playing] = output.state
            if temperature == 0:
                actions = output.policy.mode()
            else:
                tempered = output.policy.at_temperature(temperature)
                actions = torch.stack([_drawn(tempered, row, games[index]) for row, index in enumerate(playing)])
            playing = [
                index for index, action in zip(playing, actions.numpy(), strict=True) if not games[index].step(action)
            ]
    return [game.result() for game in games]


def _drawn(policy: Any, row: int, game: _Game) -> Any:
    """An action of one game, with that game's own generator."""
    from goexplore.learn import Categorical, DiagonalGaussian

    one: Any
    if isinstance(policy, Categorical):
        one = Categorical(policy.logits[row : row + 1])
    else:
        one = DiagonalGaussian(policy.mean[row : row + 1], policy.log_std[row : row + 1])
    return one.sample(game.choices)[0]


class _Game:
    """One episode of a policy."""

    def __init__(self, policy: Any, number: int, conditions: Conditions, watch: Watch | None = None) -> None:
        import torch

        from goexplore.play import LifeScore, draw_no_ops

        noise, choices = np.random.SeedSequence(conditions.seed, spawn_key=(number,)).spawn(2)
        self._conditions = conditions
        self._on_step = watch.on_step if watch is not None and watch.number == number else None
        self.number, self.play = number, policy.make_play(seed=noise, render=self._on_step is not None)
        self.choices = torch.Generator().manual_seed(int(choices.generate_state(1, np.uint64)[0] >> 1))
        self.play.reset(draw_no_ops(self.play))
        self.steps, self._score = 0, LifeScore(self.play.lives)

    def step(self, action: Any) -> bool:
        reward, over = self.play.step(action)
        self.steps += 1
        self._score.add(reward, self.play.lives)
        if self._on_step is not None:
            self._on_step(self.play, self._score.score, self.steps)
        until, most = self._conditions.until_score, self._conditions.max_steps
        enough = (until is not None and self._score.score >= until) or (most is not None and self.steps >= most)
        return bool(over) or enough

    def result(self) -> EpisodeScore:
        return EpisodeScore(self.number, self._score.score, self.steps, self._score.first_life)
