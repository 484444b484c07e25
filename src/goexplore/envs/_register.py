"""Tells Gymnasium of the robot, without loading MuJoCo."""

from __future__ import annotations

import gymnasium as gym

SHELVES = "goexplore/FetchShelves-v0"
LONGEST_EPISODE = 4_000
"""In actions; the authors' default. Nothing in the task itself ends an episode once the block is out of reach."""


def register_shelves() -> None:
    """Makes the robot known to `gymnasium.make`."""
    if SHELVES not in gym.registry:
        gym.register(
            SHELVES,
            entry_point="goexplore.envs.shelves:FetchShelves",
            max_episode_steps=LONGEST_EPISODE,
            disable_env_checker=True,
        )
