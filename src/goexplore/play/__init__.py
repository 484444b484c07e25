"""Environments as policies play them: stochastic, preprocessed, and still restorable."""

from goexplore.play._atari import AtariPlay, AtariView
from goexplore.play._gymnasium import PlainPlay, PlainView, flattened
from goexplore.play._lives import LifeScore
from goexplore.play._make import View, check_pictures, draw_no_ops, make_play, view_from_json, view_to_json
from goexplore.play._protocol import Play
from goexplore.play._saving import restore_game, save_game

__all__ = [
    "AtariPlay",
    "AtariView",
    "LifeScore",
    "PlainPlay",
    "PlainView",
    "Play",
    "View",
    "check_pictures",
    "draw_no_ops",
    "flattened",
    "make_play",
    "restore_game",
    "save_game",
    "view_from_json",
    "view_to_json",
]
