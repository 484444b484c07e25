"""A table of named NumPy columns that grow together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Columns:
    """Struct of arrays with spare capacity, so that appending a row is cheap.

    Args:
        fields: name -> dtype, or (dtype, shape of one row).
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = {name: field if isinstance(field, tuple) else (field, ()) for name, field in fields.items()}
        self._size = 0
        self._arrays = {name: np.empty((64, *shape), dtype) for name, (dtype, shape) in self._fields.items()}

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Returns a column; a view, valid until rows are appended."""
        return self._arrays[name][: self._size]

    def items(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Names and columns."""
        return ((name, self[name]) for name in self._fields)

    def append(self, **values: Any) -> int:
        """Adds a row and returns its number."""
        row = self._size
        self._grow_to(row + 1)
        for name, value in values.items():
            self._arrays[name][row] = value
        return row

    def extend(self, **columns: NDArray[Any]) -> int:
        """Adds rows and returns the number of the first."""
        first = self._size
        self._grow_to(first + len(next(iter(columns.values()))))
        for name, values in columns.items():
            self._arrays[name][first : self._size] = values
        return first

    def replace(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Copies whole columns, all of one length."""
        self._arrays = {
            name: np.array(columns[name], dtype).reshape(-1, *shape) for name, (dtype, shape) in self._fields.items()
        }
        sizes = {len(array) for array in self._arrays.values()}
        if len(sizes) != 1:
            raise ValueError(f"columns of different lengths: {sorted(sizes)}")
        (self._size,) = sizes

    def _grow_to(self, size: int) -> None:
        capacity = len(next(iter(self._arrays.values())))
        if size > capacity:
            capacity = max(size, capacity + capacity // 4)  # a quarter: memory matters more than copies here
            for name, array in self._arrays.items():
                grown = np.empty((capacity, *array.shape[1:]), array.dtype)
                grown[: self._size] = array[: self._size]
                self._arrays[name] = grown
        self._size = size
