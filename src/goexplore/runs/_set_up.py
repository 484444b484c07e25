"""Which cells are meant, and what they and the preset ask of the environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from goexplore.cells import DOMAIN_CELLS, CellFunction, domain_cells
from goexplore.envs import AtariEnv, EnvSpec, RestorableEnv, atari_game_of
from goexplore.errors import InputError
from goexplore.exploration import atari_cells, atari_settings, cells_of_kind, preset_config
from goexplore.plugins import named


def set_up(spec: EnvSpec, cells: str | CellFunction | Callable[..., Any] | None, preset: str) -> tuple[Any, EnvSpec]:
    """Settles which cells are meant, and what the preset and they ask of an Atari environment.

    Returns:
        The cells by name where they have one (None if none were given), and the environment with those settings;
        what the user asked for comes first.
    """
    game = atari_game_of(spec.id) if spec.factory is None else None
    if cells is None and spec.factory is None and spec.id in DOMAIN_CELLS:
        cells = "domain"
    chosen = cells_of_kind(preset, domain_cells(game or spec.id)) if cells == "domain" else named(cells)
    name = chosen if isinstance(chosen, str) else ""
    preset_config(preset, cells=name)
    if game is not None:
        kwargs = atari_settings(preset, cells=name, game=game)
        if name.partition(":")[0] in DOMAIN_CELLS.values():
            kwargs["observation"] = "palette"
        spec = replace(spec, kwargs=kwargs | spec.kwargs)
    return chosen, spec


def default_cells(env: RestorableEnv, preset: str) -> str:
    """What the preset has for Atari, downscaled frames for other pictures, the observation itself for whole numbers.

    Raises:
        InputError: the observation is neither.
    """
    if isinstance(env, AtariEnv) and env.observation_kind == "gray":
        return atari_cells(preset)
    observation = env.reset()
    if isinstance(observation, np.ndarray) and observation.dtype == np.uint8 and observation.ndim >= 2:
        return "downscale:11x8x8"
    if isinstance(observation, (int, np.integer)) or (
        isinstance(observation, np.ndarray) and observation.dtype.kind in "iub"
    ):
        return "observation"
    raise InputError(
        f"no default cells for an observation of type {type(observation).__name__}; say what counts as one place,"
        " for example --cells observation:0.25 (a grid) or --cells my_module:my_function"
    )
