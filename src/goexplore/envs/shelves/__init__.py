"""A robot arm, a block, and a shelf with latched doors: the paper's second domain, built from plain shapes."""

from goexplore.errors import InputError

try:
    import mujoco  # noqa: F401
except ImportError as error:
    raise InputError("the robot needs MuJoCo: pip install 'goexplore[mujoco]'") from error

from goexplore.envs.shelves._env import ACTION_SECONDS, FetchShelves
from goexplore.envs.shelves._furniture import Block
from goexplore.envs.shelves._task import COMPARTMENTS, Look

__all__ = ["ACTION_SECONDS", "COMPARTMENTS", "Block", "FetchShelves", "Look"]
