"""Environments as policies play them: stochastic, preprocessed, and still restorable."""

from goexplore.play._atari import AtariPlay, AtariView
from goexplore.play._gymnasium import PlainPlay, PlainView, flattened
from goexplore.play._make import View, make_play
from goexplore.play._protocol import Play

__all__ = ["AtariPlay", "AtariView", "PlainPlay", "PlainView", "Play", "View", "flattened", "make_play"]
