"""What a cell function is: from an observation or the environment's state to a key.

States with equal keys belong to one cell. The paper's examples are downscaled frames and domain
knowledge (Methods, "Downscaling on Atari" and "Domain knowledge representations").
"""

from __future__ import annotations

import hashlib
import traceback
from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np

from goexplore.errors import GoExploreError, InputError

LONGEST_RAW_KEY = 32


class CellFunction(ABC):
    """Maps what the agent sees to the key of a cell.

    Most cell functions are stateless and implement `key` alone. One that tracks something across steps
    (a room it dead-reckons, keys picked up) also implements the other three; its state then travels in
    the snapshots:

        cells.reset()                        # at the start of an episode
        key = cells.key(observation, env)    # after reset, then once after every step
        state = cells.save()                 # with every snapshot taken
        cells.load(state)                    # with every restore
    """

    reads_observations = True
    """False if `key` looks at the environment alone. Some environments can then leave observations out."""
    atari_screen: Literal["gray", "palette"] = "gray"
    """What an Atari game should show as its observation."""

    @abstractmethod
    def key(self, observation: Any, env: Any) -> bytes:
        """Returns the cell's key; long ones are shortened with `short_key`.

        Args:
            observation: what `env` last returned. It may be a buffer that the next step overwrites.
            env: the restorable environment; `env.unwrapped` is the Gymnasium one.
        """

    def reset(self) -> None:  # noqa: B027 - most cell functions track nothing
        """Forgets what was tracked: an episode starts."""

    def save(self) -> bytes:
        """Returns what was tracked."""
        return b""

    def load(self, state: bytes) -> None:  # noqa: B027
        """Takes up what `save` returned, perhaps in another process."""


def short_key(key: bytes) -> bytes:
    """Returns keys of up to 32 bytes as they are, and a 16-byte BLAKE2 digest of longer ones.

    A downscaled frame may have thousands of pixels; the archive needs to tell cells apart, not to
    read them, and 128 bits do not collide.
    """
    return key if len(key) <= LONGEST_RAW_KEY else hashlib.blake2b(key, digest_size=16).digest()


def key_of(value: Any) -> bytes:
    """Turns what a user's function returns into a key.

    Takes bytes, whole numbers, booleans, strings and None, alone or in (nested) tuples and lists, or an
    array of whole numbers.

    Raises:
        InputError: it is something else. Floats are refused: they would make a cell of almost every state.
    """
    if isinstance(value, bytes):
        return short_key(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "iub":
        return short_key(str(value.shape).encode() + value.astype(np.int64).tobytes())
    return short_key(_canonical(value).encode())


def _canonical(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "T" if value else "F"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if value is None:
        return "None"
    if isinstance(value, (str, bytes)):
        return repr(value)
    if isinstance(value, (tuple, list)):
        return "(" + ",".join(_canonical(item) for item in value) + ")"
    if isinstance(value, (float, np.floating)):
        raise InputError(
            f"the cell function returned the float {float(value)!r}: almost every state would get a cell of its"
            " own; round it to a grid first, for example int(x // 0.5)"
        )
    raise InputError(
        f"the cell function returned a {type(value).__name__}; expected bytes, a whole number, a string,"
        " or a tuple of these"
    )


def cell_key(cells: CellFunction, observation: Any, env: Any) -> bytes:
    """Asks the cell function for a key.

    Raises:
        InputError: it raised something, or returned something other than bytes.
    """
    try:
        key = cells.key(observation, env)
    except GoExploreError:
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise InputError(
            f"the cell function raised {type(error).__name__}: {error} (line {place.lineno} of {place.filename})"
        ) from error
    if type(key) is not bytes:
        raise InputError(f"the cell function returned a {type(key).__name__}; expected bytes")
    return key if len(key) <= LONGEST_RAW_KEY else short_key(key)
