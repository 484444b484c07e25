"""Cells from named numbers, each on its own grid: rooms, positions, doors, whatever matters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from goexplore.cells._protocol import CellFunction, key_of, short_key
from goexplore.errors import InputError
from goexplore.packing import pack


class Features(CellFunction):
    """Discretised named features: the key holds floor(value / size) of each.

    Args:
        read: returns the features, from the observation and the environment.
        sizes: grid size of each feature that counts, in the feature's own unit. Others are ignored.

    Example:
        >>> cells = Features(lambda obs, env: {"x": obs[0], "y": obs[1]}, sizes={"x": 8, "y": 16})
        >>> cells.key([19, 40], None)
        b'x=2 y=2'
    """

    def __init__(self, read: Callable[[Any, Any], Mapping[str, float]], *, sizes: Mapping[str, float]) -> None:
        if not sizes or any(size <= 0 for size in sizes.values()):
            raise InputError(f"feature sizes {dict(sizes)}: expected at least one, all above 0")
        self._read, self._sizes = read, dict(sizes)

    def key(self, observation: Any, env: Any) -> bytes:
        """Reads and discretises the features; readable as text while short."""
        features = self._read(observation, env)
        try:
            text = " ".join(f"{name}={math.floor(features[name] / size)}" for name, size in self._sizes.items())
        except KeyError as error:
            raise InputError(f"feature {error} is missing; the function returned {', '.join(features)}") from error
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"features {dict(features)} cannot be put on a grid: {error}") from error
        return short_key(text.encode())


class RamFeatures(Features):
    """Features read from Atari memory: {"room": (3, 1), "x": (42, 8)} is byte 3, and byte 42 by eights.

    Args:
        places: for each feature the index of its byte (0..127) and the size of its grid.
    """

    def __init__(self, places: Mapping[str, tuple[int, float]]) -> None:
        for name, (index, _) in places.items():
            if not 0 <= index < 128:
                raise InputError(f"feature {name}: there is no RAM byte {index}; expected 0 to 127")
        self._places = dict(places)
        super().__init__(self._read_ram, sizes={name: size for name, (_, size) in places.items()})

    def _read_ram(self, observation: Any, env: Any) -> dict[str, float]:
        if not hasattr(env, "ram"):
            raise InputError("ram cells need an Atari environment")
        ram = env.ram
        return {name: float(ram[index]) for name, (index, _) in self._places.items()}


class WholeObservation(CellFunction):
    """Every distinct observation is a cell; numbers may be put on a grid first.

    Args:
        size: grid size for floating-point observations; None refuses them.
    """

    def __init__(self, size: float | None = None) -> None:
        if size is not None and size <= 0:
            raise InputError(f"observation:{size}: expected a grid size above 0")
        self._size = size

    def key(self, observation: Any, env: Any) -> bytes:
        """Packs the observation."""
        return short_key(pack(self._on_grid(observation)))

    def _on_grid(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._on_grid(item) for key, item in value.items()}
        if isinstance(value, (tuple, list)):
            return [self._on_grid(item) for item in value]
        if isinstance(value, (float, np.floating, np.ndarray)) and np.asarray(value).dtype.kind == "f":
            if self._size is None:
                raise InputError(
                    "the observation holds floats, and every state would get a cell of its own; give a grid"
                    " size, for example --cells observation:0.25, or a cell function of your own"
                )
            return np.floor(np.asarray(value) / self._size).astype(np.int64)
        return int(value) if isinstance(value, np.integer) else value


class Callback(CellFunction):
    """A user's function of the observation, or of the observation and the environment.

    Args:
        function: returns bytes, a whole number, a string, or a tuple of these.
        takes_env: whether it takes the environment as second argument.
    """

    def __init__(self, function: Callable[..., Any], *, takes_env: bool) -> None:
        self._function, self._takes_env = function, takes_env

    def key(self, observation: Any, env: Any) -> bytes:
        """Calls the function."""
        result = self._function(observation, env) if self._takes_env else self._function(observation)
        return key_of(result)
