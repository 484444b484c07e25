"""Testing returns: how often the policy gets to a cell again, and with which score (SI, "vs. DTSIL")."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import torch

from goexplore.cells import GoalCells
from goexplore.errors import InputError
from goexplore.learn import ActorCritic
from goexplore.play import Play, draw_no_ops, make_play
from goexplore.policy_based._actor import Actor
from goexplore.policy_based._atlas import ArchiveAtlas
from goexplore.policy_based._goals import Goals
from goexplore.policy_based._player import stepped
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
    """best: the cell with the highest score. score=400: the nearest with at least that. uniform: cells drawn evenly
    from the archive. Else what was asked for."""
    cell: dict[str, Any] | None
    """What the cell is, if it is one."""
    archive_score: float | None
    """What the archive says of it: found once, and not a policy's score."""
    archive_steps: int | None
    """Steps of the way that it keeps to there."""
    episodes: int
    arrived: float
    """Share of episodes that reached the cell. An end of the game that brought nothing is not the one that brought
    something."""
    arrived_with_score: float | None
    """Share of episodes that reached it with at least the score that was asked for: with score=400 at least 400, with
    best what the archive says. None for an end of the game, whose points may depend on when it comes."""
    score_at_arrival: float | None
    """Mean over those."""
    score: float
    """Mean over all, when they arrived or were over."""
    scores: tuple[float, ...]
    mean_steps: float
    steps_trained: int
    seconds: float


@dataclass(slots=True)
class _Outcome:
    arrived: bool
    score: float
    steps: int


def evaluate_returns(
    path: str | FilePath,
    *,
    episodes: int = 100,
    to: str = "best",
    seed: int = 0,
    trust: bool = False,
    on_episode: Callable[[int, float], None] = lambda done, mean: None,
) -> ReturnsEvaluation:
    """Lets the newest policy of a run return, in new episodes with all noise; each is over on arrival.

    Args:
        path: the run folder.
        episodes: how many.
        to: "best": to the cell with the highest score. "score=400": to one with at least that score. "uniform": to
            cells drawn evenly from the archive. Or a cell by its attributes, as in "x=3,y=0". Of several, the one
            reached in the fewest steps.
        seed: of the episodes.
        trust: import the environment and cells that the run names (`package.module:name`).
        on_episode: told the episodes that are over and their mean score.

    Raises:
        InputError: the folder is not such a run, or holds no checkpoint.
    """
    began = time.monotonic()
    torch.set_num_threads(1)  # small batches: more threads only wait for each other
    if episodes < 1:
        raise InputError(f"episodes {episodes}: expected at least 1")
    folder = RunFolder.open(FilePath(path))
    run = PolicyRun.open(folder, steps=None, trust=trust)
    run.require_trust(folder.path, by="testing", trust=trust)
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
        _Player(run, play, atlas, [atlas.archive.keys[row] for row in rows[index::count] or rows], goals, each)
        for index, (play, each) in enumerate(zip(plays, rng.spawn(count), strict=True))
    ]
    outcomes = _played(players, network, episodes, torch.Generator().manual_seed(seed), on_episode)
    key = None if one is None else atlas.archive.keys[one]
    arrived = [each.score for each in outcomes if each.arrived]
    return ReturnsEvaluation(
        run=str(path),
        to=to,
        cell=None if key is None else {"over": True} if key == END else cells.describe(key),
        archive_score=None if one is None else float(atlas.archive.table["score"][one]),
        archive_steps=None if one is None else int(atlas.archive.table["length"][one]),
        episodes=len(outcomes),
        arrived=round(len(arrived) / len(outcomes), 4),
        arrived_with_score=None
        if least is None or key == END
        else round(sum(score >= least for score in arrived) / len(outcomes), 4),
        score_at_arrival=round(float(np.mean(arrived)), 4) if arrived else None,
        score=round(float(np.mean([each.score for each in outcomes])), 4),
        scores=tuple(each.score for each in outcomes),
        mean_steps=round(float(np.mean([each.steps for each in outcomes])), 1),
        steps_trained=int(_values(saved)["steps"]),
        seconds=round(time.monotonic() - began, 1),
    )


class _Player:
    """Plays one episode after the other, each until it arrives, is over or is given up."""

    def __init__(
        self,
        run: PolicyRun,
        play: Play,
        atlas: ArchiveAtlas,
        chosen: Sequence[bytes],
        goals: Goals,
        rng: np.random.Generator,
    ) -> None:
        self._config, self.play, self._goals = run.config, play, goals
        self._cells = goal_cells(run.cells)
        self._actor = Actor(run.config.rules, atlas, rng)
        self._atlas, self._chosen = atlas, itertools.cycle(chosen)
        self.begin()

    def begin(self) -> None:
        """Begins an episode; one that arrives with its first observation is over in the first step."""
        play = self.play
        play.reset(draw_no_ops(play))
        self._cells.reset()
        self.score, self.steps, self._lives, self.first = 0.0, 0, play.lives, True
        chosen = next(self._chosen)
        row = self._atlas.archive.row_of(chosen)
        self._pays = chosen == END and self._atlas.archive.table["score"][row] > 0
        self._cell = play.cell_key(self._cells)
        self.directive = self._actor.begin(self._cell, chosen=chosen)

    @property
    def observation(self) -> np.ndarray[Any, Any]:
        """What the policy sees."""
        row = np.zeros(self._goals.spaces.observation_shape, self._goals.spaces.observation_dtype)
        self._goals.show(row, self.play.observation, place=self._cell, goal=self.directive.goal)
        return row

    def step(self, action: Any) -> _Outcome | None:
        """Takes a step; returns what the episode came to, if that was its last."""
        if self.directive.arrived:
            return _Outcome(True, self.score, self.steps)
        play, config = self.play, self._config
        reward, over, too_long = stepped(play, action, config, lives=self._lives, steps=self.steps)
        self.score, self._lives, self.steps, self.first = self.score + reward, play.lives, self.steps + 1, False
        self._cell = END if over else play.cell_key(self._cells)
        self.directive = self._actor.observe(self._cell, over=over)
        if self.directive.arrived or over or self.directive.gives_up or too_long:
            # Games end in many ways, and what a good end brings may depend on when it comes.
            arrived = self.directive.arrived and (self.score > 0 or not self._pays)
            return _Outcome(arrived, self.score, self.steps)
        return None


@torch.no_grad()
def _played(
    players: Sequence[_Player],
    network: ActorCritic,
    episodes: int,
    generator: torch.Generator,
    on_episode: Callable[[int, float], None],
) -> list[_Outcome]:
    """Every player plays as many episodes as the others, so that short ones are not counted more often."""
    shares = [episodes // len(players) + (index < episodes % len(players)) for index in range(len(players))]
    outcomes: list[_Outcome] = []
    state = network.initial_state(len(players))
    while any(shares):
        output = network.act(
            torch.from_numpy(np.stack([player.observation for player in players])),
            state,
            torch.tensor([player.first for player in players]),
        )
        state = output.state
        heat = torch.tensor([player.directive.temperature for player in players])
        actions = output.policy.at_temperature(heat).sample(generator).numpy()
        for index, player in enumerate(players):
            outcome = player.step(actions[index]) if shares[index] else None
            if outcome is not None:
                outcomes.append(outcome)
                shares[index] -= 1
                player.begin()
                on_episode(len(outcomes), float(np.mean([each.score for each in outcomes])))
    return outcomes


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
    return min(found, key=lambda row: int(atlas.archive.table["length"][row])), least


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
    return [row for row in rows if atlas.needs_its_score(row)] or rows, least


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


def _values(saved: dict[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(saved["training.values"].tobytes())
    return values
