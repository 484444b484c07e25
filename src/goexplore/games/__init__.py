"""The paper's 55 Atari games: its scores, and what matters when they are run. Data; no simulator is imported."""

from goexplore.games._table import AtariGame, focus_games, game, paper_games

__all__ = ["AtariGame", "focus_games", "game", "paper_games"]
