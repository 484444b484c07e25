"""Testing policies (Methods, "Evaluation"): sticky actions, up to 30 no-ops, 400,000 frames, all lives.

Every episode has a seed of its own and all of them are played to their end, so that short ones are not favoured and
the outcome does not depend on how many run side by side.
"""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from goexplore.demos import ATARI_FPS, OTHER_STEPS_PER_SECOND, video_writer
from goexplore.errors import GoExploreError, InputError
from goexplore.executors import available_cores
from goexplore.runs import number

if TYPE_CHECKING:  # importing it needs PyTorch, and random play does without
    from goexplore.play import Play

SIDE_BY_SIDE = 32
"""Games that a process plays together."""
RESAMPLES = 10_000
CANDIDATES = 5
"""Policies of a run that are tried when the best is to be chosen."""


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


def evaluate(
    policy: str | os.PathLike[str],
    *,
    episodes: int = 100,
    seed: int = 0,
    temperature: float = 1.0,
    at_least: Sequence[float] = (),
    workers: int | None = None,
    trust: bool = False,
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
        video: film an episode with the median score: an .mp4 or .gif.
        on_episode: told the episodes done and their mean score.

    Raises:
        InputError: there is no such policy, or a value is out of range.
    """
    from goexplore.policies import Policy, find_policy

    if episodes < 1 or temperature < 0 or (workers is not None and workers < 1):
        raise InputError(
            f"episodes {episodes}, temperature {temperature}, workers {workers}: expected at least 1, 0 and 1"
        )
    policy = find_policy(policy)  # once: a run that is still training writes newer ones
    loaded = Policy.load(policy, trust=trust)
    frames_per_step = loaded.make_play().frames_per_step
    started, found = time.monotonic(), []
    count = min(available_cores() if workers is None else workers, episodes)
    parts = [list(range(index, episodes, count)) for index in range(count)]
    # Each part in pieces, so that progress is seen.
    pieces = [part[first : first + SIDE_BY_SIDE] for part in parts for first in range(0, len(part), SIDE_BY_SIDE)]
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = [pool.submit(play_episodes, str(policy), piece, seed, temperature, trust) for piece in pieces]
        for finished in as_completed(waiting):
            found += finished.result()
            on_episode(len(found), float(np.mean([each.score for each in found])))
    found.sort(key=lambda each: each.number)
    if video is not None:
        median = sorted(found, key=lambda each: (each.score, each.steps))[(episodes - 1) // 2]
        piece = next(piece for piece in pieces if median.number in piece)
        _film(Path(video), policy, piece, median, seed, temperature, trust)
    scores = np.array([each.score for each in found])
    first = np.array([each.first_life_score for each in found])
    steps = np.array([each.steps for each in found])
    return Evaluation(
        policy=str(policy),
        episodes=episodes,
        temperature=temperature,
        view=dataclasses.asdict(loaded.view),
        mean=round(float(scores.mean()), 4),
        interval=_interval(scores),
        median=float(np.median(scores)),
        first_life_mean=round(float(first.mean()), 4),
        first_life_interval=_interval(first),
        reached={f"{least:g}": round(float(np.mean(scores >= least)), 4) for least in at_least},
        reached_in_first_life={f"{least:g}": round(float(np.mean(first >= least)), 4) for least in at_least},
        mean_steps=round(float(steps.mean()), 1),
        frames=int(steps.sum()) * frames_per_step,
        seconds=round(time.monotonic() - started, 1),
        scores=tuple(scores.tolist()),
        first_life_scores=tuple(first.tolist()),
        video=None if video is None else str(video),
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


class Watch(NamedTuple):
    """Somebody who looks at one episode."""

    number: int
    on_step: Callable[[Play, float, int], None]
    """Told the game, the score and the steps."""


def _film(
    path: Path, policy: Path, piece: Sequence[int], episode: EpisodeScore, seed: int, temperature: float, trust: bool
) -> None:
    """Plays an episode again, beside the same others as before: sums in another order may turn a choice."""
    from goexplore.play import AtariPlay
    from goexplore.policies import Policy

    play = Policy.load(policy, trust=trust).make_play()
    steps_per_second = ATARI_FPS / play.frames_per_step if isinstance(play, AtariPlay) else OTHER_STEPS_PER_SECOND
    with video_writer(path, fps=steps_per_second) as add:

        def film(play: Play, score: float, steps: int) -> None:
            add(play.render(), f"policy score {number(score)} · step {steps:,}")

        again = play_episodes(str(policy), piece, seed, temperature, trust, Watch(episode.number, film))
        if episode not in again:
            raise GoExploreError(f"episode {episode.number} is not what it was when it is played again; no video")


def _training_score(file: Path) -> float:
    score = json.loads(file.with_suffix(".json").read_text())["about"].get("training_score")
    return -np.inf if score is None else float(score)


def play_episodes(
    policy: str, numbers: Sequence[int], seed: int, temperature: float, trust: bool, watch: Watch | None = None
) -> list[EpisodeScore]:
    """Plays some episodes side by side, each with the randomness of its number; `watch` looks at one of them."""
    import torch

    from goexplore.policies import Policy

    torch.set_num_threads(1)
    loaded = Policy.load(policy, trust=trust)
    games = [_Game(loaded, number, seed, watch) for number in numbers]
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
    """One episode."""

    def __init__(self, policy: Any, number: int, seed: int, watch: Watch | None) -> None:
        import torch

        noise, choices = np.random.SeedSequence(seed, spawn_key=(number,)).spawn(2)
        self._on_step = watch.on_step if watch is not None and watch.number == number else None
        self.number, self.play = number, policy.make_play(seed=noise, render=self._on_step is not None)
        self.choices = torch.Generator().manual_seed(int(choices.generate_state(1, np.uint64)[0] >> 1))
        no_ops = int(self.play.rng.integers(self.play.max_no_ops + 1)) if self.play.max_no_ops else 0
        self.play.reset(no_ops)
        self._lives, self.steps, self._score = self.play.lives, 0, 0.0
        self._first_life_score: float | None = None

    def step(self, action: Any) -> bool:
        reward, over = self.play.step(action)
        self.steps += 1
        self._score += reward
        if self._first_life_score is None and self.play.lives < self._lives:
            self._first_life_score = self._score
        if self._on_step is not None:
            self._on_step(self.play, self._score, self.steps)
        return bool(over)

    def result(self) -> EpisodeScore:
        first = self._score if self._first_life_score is None else self._first_life_score
        return EpisodeScore(self.number, self._score, self.steps, first)


def _interval(values: Any) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    means = rng.choice(values, (RESAMPLES, len(values))).mean(axis=1) if len(values) > 1 else np.repeat(values, 2)
    low, high = np.percentile(means, [2.5, 97.5])
    return round(float(low), 4), round(float(high), 4)
