"""Plain data to bytes and back, without pickle.

Snapshots, observations and environment states that may end up in a file go through here: a JSON
skeleton followed by the raw array buffers. Reading it can build arrays, numbers, strings, lists and
dictionaries, and nothing else, so a file from a stranger cannot run code.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from goexplore.errors import InputError

_ARRAY, _BYTES, _TUPLE, _SCALAR = "__array__", "__bytes__", "__tuple__", "__scalar__"


def pack(value: Any) -> bytes:
    """Encodes nested dicts, lists, tuples, arrays, bytes and JSON scalars.

    Raises:
        InputError: the value holds something else (an object, a function, an object array).
    """
    buffers: list[bytes] = []
    skeleton = json.dumps(_skeleton(value, buffers), separators=(",", ":")).encode()
    return b"".join([len(skeleton).to_bytes(4, "little"), skeleton, *buffers])


def unpack(data: bytes) -> Any:
    """Decodes what `pack` wrote.

    Raises:
        InputError: the bytes are not a packed value.
    """
    size = int.from_bytes(data[:4], "little")
    try:
        skeleton = json.loads(data[4 : 4 + size])
        value, end = _build(skeleton, data, 4 + size)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"packed data is damaged ({error})") from error
    if end != len(data):
        raise InputError(f"packed data is damaged: {len(data)} bytes where {end} were expected")
    return value


def _skeleton(value: Any, buffers: list[bytes]) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return {_SCALAR: _skeleton(np.asarray(value), buffers)}
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise InputError("an array of Python objects cannot be saved as plain data")
        contiguous = np.ascontiguousarray(value)
        buffers.append(contiguous.tobytes())
        return {_ARRAY: [contiguous.dtype.str, list(value.shape)]}
    if isinstance(value, (bytes, bytearray)):
        buffers.append(bytes(value))
        return {_BYTES: len(value)}
    if isinstance(value, tuple):
        return {_TUPLE: [_skeleton(item, buffers) for item in value]}
    if isinstance(value, list):
        return [_skeleton(item, buffers) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _skeleton(item, buffers) for key, item in value.items()}
    raise InputError(f"a {type(value).__name__} cannot be saved as plain data")


def _build(node: Any, data: bytes, at: int) -> tuple[Any, int]:
    if isinstance(node, list):
        items = []
        for child in node:
            item, at = _build(child, data, at)
            items.append(item)
        return items, at
    if not isinstance(node, dict):
        return node, at
    if _ARRAY in node:
        dtype, shape = np.dtype(node[_ARRAY][0]), tuple(node[_ARRAY][1])
        end = at + dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        return np.frombuffer(data[at:end], dtype).reshape(shape).copy(), end
    if _BYTES in node:
        end = at + int(node[_BYTES])
        return data[at:end], end
    if _TUPLE in node:
        items, at = _build(node[_TUPLE], data, at)
        return tuple(items), at
    if _SCALAR in node:
        array, at = _build(node[_SCALAR], data, at)
        return array[()], at
    built = {}
    for key, child in node.items():
        built[key], at = _build(child, data, at)
    return built, at
