"""Environments that can be saved and put back: Atari, any Gymnasium environment, a robot, and small toys."""

from goexplore.envs import highway, toys
from goexplore.envs._actions import ActionSpace, repeating
from goexplore.envs._atari import AtariEnv, atari_game_of, atari_games
from goexplore.envs._check import Check, check_env
from goexplore.envs._emulator import KNOWN_BROKEN_ROUND_TRIPS, AtariEmulator
from goexplore.envs._gymnasium import GymnasiumEnv
from goexplore.envs._headless import prefer_egl
from goexplore.envs._make import EnvSpec, env_spec, is_atari, make_env, resolved
from goexplore.envs._protocol import RestorableEnv, SnapshotKind, events_of
from goexplore.envs._register import SHELVES, register_shelves

prefer_egl()
toys.register()
highway.register()
register_shelves()

__all__ = [
    "KNOWN_BROKEN_ROUND_TRIPS",
    "SHELVES",
    "ActionSpace",
    "AtariEmulator",
    "AtariEnv",
    "Check",
    "EnvSpec",
    "GymnasiumEnv",
    "RestorableEnv",
    "SnapshotKind",
    "atari_game_of",
    "atari_games",
    "check_env",
    "env_spec",
    "events_of",
    "is_atari",
    "make_env",
    "repeating",
    "resolved",
]
