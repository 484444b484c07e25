"""From the environment of a search to the one that a policy plays."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeAlias

import numpy as np

from goexplore.envs import AtariEmulator, EnvSpec, atari_game_of, make_env
from goexplore.errors import InputError
from goexplore.play._atari import AtariPlay, AtariView
from goexplore.play._gymnasium import PlainPlay, PlainView
from goexplore.play._protocol import Play

View: TypeAlias = AtariView | PlainView
_KINDS: dict[str, type[View]] = {"atari": AtariView, "plain": PlainView}


def view_to_json(view: View) -> dict[str, Any]:
    """A view as plain values."""
    kind = next(name for name, kind in _KINDS.items() if isinstance(view, kind))
    return {"kind": kind} | dataclasses.asdict(view)


def view_from_json(saved: dict[str, Any]) -> View:
    """Rebuilds a view.

    Raises:
        KeyError, TypeError: it is not one of ours.
    """
    values = dict(saved)
    return _KINDS[values.pop("kind")](**values)


def draw_no_ops(play: Play) -> int:
    """Raw frames of doing nothing at the start of an episode, from the game's own generator."""
    return int(play.rng.integers(play.max_no_ops + 1)) if play.max_no_ops else 0


def check_pictures(play: Play) -> None:
    """Whether a game that was made to be rendered can be; to be asked before the long work that is to be shown.

    Raises:
        InputError: its environment draws no pictures.
    """
    play.reset(0)
    play.render()


def make_play(spec: EnvSpec, view: View, rng: np.random.Generator, *, render: bool = False) -> Play:
    """Makes a game for a policy.

    Of a search's settings on Atari, frame skip and the action set hold; how an episode ends and what is seen is up to
    the view.

    Args:
        spec: the environment in which demonstrations were found.
        view: how the policy sees it.
        rng: where its noise comes from.
        render: whether pictures will be asked for.

    Raises:
        InputError: the view does not fit the environment.
    """
    game = atari_game_of(spec.id) if spec.factory is None else None
    if game is not None and isinstance(view, AtariView):
        frame_skip = int(spec.kwargs.get("frame_skip", 4))
        emulator = AtariEmulator(
            game,
            full_action_space=bool(spec.kwargs.get("full_action_space", False)),
            max_frames=view.max_frames,
            rollover_guard=bool(spec.kwargs.get("rollover_guard", True)),
            start_skip=frame_skip,
        )
        return AtariPlay(emulator, view, rng, frame_skip=frame_skip)
    if game is None and isinstance(view, PlainView):
        return PlainPlay(make_env(spec, render=render), view, rng)
    raise InputError(f"{spec.id} cannot be seen through a {type(view).__name__}")
