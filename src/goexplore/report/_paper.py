"""What the paper says about a game (Extended Data Table "Full scores on Atari"), through `goexplore.games`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class PaperGame:
    """A game's row in the paper."""

    name: str
    exploration: float
    """Mean best end-of-episode score of the exploration phase."""
    frames: int
    """Raw frames it explored for that."""
    state_of_the_art: float
    """Of policies, under sticky actions."""
    average_human: float
    random_mean: float | None = None
    """Mean score of random play, where it is known; the paper gives none."""


@dataclass(frozen=True, slots=True)
class Normalised:
    """A score as a percentage of the average human's."""

    percent: float
    by: str
    """What it was divided by."""


def paper_game(rom: str | None) -> PaperGame | None:
    """The paper's row of a ROM; None where it has none."""
    return None if rom is None else _table().get(_plain(rom))


def human_normalised(score: float, game: PaperGame) -> Normalised | None:
    """The share of the average human's score, in percent, counted from random play where that is known.

    The paper calls its bars "human-normalised" and gives no random scores, so without one this is score / human.
    That is no measure where the human score is 0 or less: None.
    """
    if game.random_mean is not None and game.random_mean != game.average_human:
        span = game.average_human - game.random_mean
        return Normalised(100 * (score - game.random_mean) / span, "human minus random")
    return Normalised(100 * score / game.average_human, "human") if game.average_human > 0 else None


@cache
def _table() -> dict[str, PaperGame]:
    from goexplore.games import paper_games

    return {
        _plain(game.name): PaperGame(
            name=game.name,
            exploration=game.paper_exploration,
            frames=game.paper_frames,
            state_of_the_art=game.state_of_the_art,
            average_human=game.average_human,
            random_mean=getattr(game, "random_mean", None),
        )
        for game in paper_games()
    }


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
