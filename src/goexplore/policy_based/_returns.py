"""Testing returns: how often the policy gets to a cell again, and with which score (SI, "vs. DTSIL")."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import torch

from goexplore.cells import GoalCells
from goexplore.demos import check_video
from goexplore.errors import InputError
from goexplore.learn import ActorCritic
from goexplore.play import check_pictures, make_play
from goexplore.policy_based._atlas import ArchiveAtlas
from goexplore.policy_based._film import film_return, worth_showing
from goexplore.policy_based._goals import Goals
from goexplore.policy_based._return_player import ReturnPlayer, play_returns
from goexplore.policy_based._run import PolicyRun
from goexplore.policy_based._stretch import END
from goexplore.policy_based._training import goal_cells
from goexplore.runs import RunFolder, read_newest_checkpoint

SIDE_BY_SIDE = 16
"""Games that are played together."""
BEST, UNIFORM, SCORE = "best", "uniform", "score="


@dataclass(frozen=True, slots=True)
class ReturnsEvaluation:
    """How returns of a trained policy went. The scores are a policy's, under noise."""

    run: str
    to: str
    """best: the cell with the highest score. score=400: one with at least that. uniform: cells drawn evenly from the
    archive. Else what was asked for."""
    cell: dict[str, Any] | None
    """What the cell is, if it is one."""
    archive_score: float | None
    """What the archive says of it: found once, and not a policy's score."""
    archive_steps: int | None
    """Steps of the way that it keeps to there."""
    episodes: int
    temperature: float
    arrived: float
    """Share of episodes that reached the cell. An end of the game that brought nothing is not the one that brought
    something."""
    arrived_interval: tuple[float, float]
    """95% interval of that share (Wilson's)."""
    arrived_with_score: float | None
    """Share of episodes that reached it with at least the score that was asked for: with score=400 at least 400, with
    best what the archive says. None for an end of the game, whose points may depend on when it comes."""
    scored: float | None
    """Share of all episodes with at least that score, whether or not they reached the cell."""
    score_at_arrival: float | None
    """Mean over the episodes that reached it."""
    score: float
    """Mean over all, when they arrived or were over."""
    scores: tuple[float, ...]
    mean_steps: float
    steps_trained: int
    seconds: float
    video: str | None = None
    """Of one of the episodes."""


def evaluate_returns(
    path: str | FilePath,
    *,
    episodes: int = 100,
    to: str = "best",
    seed: int = 0,
    temperature: float = 1.0,
    trust: bool = False,
    video: str | os.PathLike[str] | None = None,
    on_episode: Callable[[int, float], None] = lambda done, mean: None,
) -> ReturnsEvaluation:
    """Lets the newest policy of a run return, in new episodes with all noise; each is over on arrival.

    Args:
        path: the run folder.
        episodes: how many.
        to: "best": to the cell with the highest score. "score=400": to one with at least that score. "uniform": to
            cells drawn evenly from the archive. Or a cell by its attributes, as in "x=3,y=0". Of several, the one
            with the best record in the training's returns, as the nearest may have been entered once, by luck; of those
            alike the one reached in the fewest steps.
        seed: of the episodes.
        temperature: 1 plays as trained; lower is surer of itself, until a goal is overdue; 0 always takes the likeliest
            action.
        trust: import the environment and cells that the run names (`package.module:name`).
        video: film an episode that arrives, if any does, and scores most: an .mp4 or .gif.
        on_episode: told the episodes that are over and their mean score.

    Raises:
        InputError: the folder is not such a run, or holds no checkpoint.
    """
    began = time.monotonic()
    torch.set_num_threads(1)  # small batches: more threads only wait for each other
    if episodes < 1:
        raise InputError(f"episodes {episodes}: expected at least 1")
    if not 0 <= temperature < math.inf:
        raise InputError(f"temperature {temperature}: expected at least 0, and finite")
    folder = RunFolder.open(FilePath(path))
    run = PolicyRun.open(folder, steps=None, trust=trust)
    run.require_trust(folder.path, by="testing", trust=trust)
    if video is not None:
        check_video(FilePath(video))
        check_pictures(make_play(run.env, run.config.view, np.random.default_rng(0), render=True))
    saved = read_newest_checkpoint(folder.path / "checkpoints" / "rank-0", warn=lambda message: None)
    cells = goal_cells(run.cells)
    noise, choices = np.random.SeedSequence(seed).spawn(2)
    count = min(SIDE_BY_SIDE, episodes)
    plays = [make_play(run.env, run.config.view, np.random.default_rng(each)) for each in noise.spawn(count)]
    atlas = ArchiveAtlas(
        END, cells, plays[0].spaces, reliability=run.config.reliability, choose_ends=run.config.choose_ends
    )
    atlas.restore(saved)
    goals = Goals(cells, plays[0].spaces, with_place=run.config.tell_place)
    network = ActorCritic(run.config.network, goals.spaces)
    network.load_state_dict({name: torch.from_numpy(saved[f"network.{name}"]) for name in network.state_dict()})
    rng = np.random.default_rng(choices)
    one, least = _wanted_cell(atlas, cells, to)
    drawn = rng.choice(np.flatnonzero(atlas.weights), size=episodes)
    rows = drawn.tolist() if one is None else [one]
    players = [
        ReturnPlayer(
            run.config,
            play,
            goal_cells(run.cells),
            atlas,
            [atlas.archive.keys[row] for row in rows[index::count] or rows],
            goals,
            each,
        )
        for index, (play, each) in enumerate(zip(plays, rng.spawn(count), strict=True))
    ]
    outcomes = play_returns(
        players,
        network,
        episodes,
        temperature=temperature,
        generator=torch.Generator().manual_seed(seed),
        on_episode=on_episode,
    )
    if video is not None:
        film_return(FilePath(video), run, cells, worth_showing(outcomes))
    key = None if one is None else atlas.archive.keys[one]
    arrived = [each.score for each in outcomes if each.arrived]
    return ReturnsEvaluation(
        run=str(path),
        to=to,
        cell=None if key is None else {"over": True} if key == END else cells.describe(key),
        archive_score=None if one is None else float(atlas.archive.table["score"][one]),
        archive_steps=None if one is None else int(atlas.archive.table["length"][one]),
        episodes=len(outcomes),
        temperature=temperature,
        arrived=round(len(arrived) / len(outcomes), 4),
        arrived_interval=interval_of_share(len(arrived), len(outcomes)),
        arrived_with_score=None
        if least is None or key == END
        else round(sum(score >= least for score in arrived) / len(outcomes), 4),
        scored=None if least is None else round(sum(each.score >= least for each in outcomes) / len(outcomes), 4),
        score_at_arrival=round(float(np.mean(arrived)), 4) if arrived else None,
        score=round(float(np.mean([each.score for each in outcomes])), 4),
        scores=tuple(each.score for each in outcomes),
        mean_steps=round(float(np.mean([each.steps for each in outcomes])), 1),
        steps_trained=int(_values(saved)["steps"]),
        seconds=round(time.monotonic() - began, 1),
        video=None if video is None else str(video),
    )


def _wanted_cell(atlas: ArchiveAtlas, cells: GoalCells, to: str) -> tuple[int | None, float | None]:
    """The row of the cell to return to, None for one after the other; and the score to have there, if one was named.

    Raises:
        InputError: that makes no sense, or there is no such cell in the archive.
    """
    if to == UNIFORM:
        return None, None
    if to == BEST or to.startswith(SCORE):
        found, least = _scored(atlas, to)
    else:
        found, least = _described(atlas, cells, to), None
    records, lengths = atlas.reliability.records(len(atlas)), atlas.archive.table["length"]
    return min(found, key=lambda row: (-float(records[row]), int(lengths[row]))), least


def _scored(atlas: ArchiveAtlas, to: str) -> tuple[list[int], float]:
    """Rows of cells that one comes to with the highest score, or with at least the one that is asked for; and that.

    Where points are scored in all of them, one may come to them with less.
    """
    scores = np.where(atlas.weights > 0, atlas.archive.table["score"], -np.inf)
    highest = float(scores.max())
    try:
        least = highest if to == BEST else float(to.removeprefix(SCORE))
    except ValueError:
        raise InputError(f"returns to {to!r}: expected a number, as in score=400") from None
    if not highest >= least:
        raise InputError(f"returns to {to!r}: the highest score of the archive is {highest:g}")
    rows: list[int] = np.flatnonzero(scores >= least).tolist()
    if not atlas.archive.table["length"][rows].all():
        raise InputError(
            f"returns to {to!r}: episodes begin with {least:g} points, so that there is nowhere to go; train until"
            " something is scored, or say where to, for example uniform"
        )
    return [row for row in rows if atlas.milestones.needs_its_score(row)] or rows, least


def _described(atlas: ArchiveAtlas, cells: GoalCells, to: str) -> list[int]:
    """Rows of cells with some attributes."""
    try:
        wanted = {part.split("=")[0]: int(part.split("=")[1]) for part in to.split(",")}
    except (IndexError, ValueError):
        wanted = {}
    if not wanted or not wanted.keys() <= cells.attributes.keys():
        told = ", ".join(f"{each}=..." for each in cells.attributes)
        raise InputError(f"returns to {to!r}: expected best, uniform, score=..., or some of {told}")
    keys = enumerate(atlas.archive.keys)
    rows = [row for row, key in keys if key != END and wanted.items() <= cells.describe(key).items()]
    if not rows:
        raise InputError(f"the archive holds no cell with {to}")
    return rows


def interval_of_share(count: int, total: int) -> tuple[float, float]:
    """Wilson's 95% interval, which says something even where all or none arrive."""
    share, z = count / total, 1.96
    middle = share + z * z / (2 * total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return round(max(0.0, (middle - spread) / scale), 4), round(min(1.0, (middle + spread) / scale), 4)


def _values(saved: dict[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(saved["training.values"].tobytes())
    return values
