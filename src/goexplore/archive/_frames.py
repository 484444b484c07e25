"""Frames as the archive and the sample keep them: compressed against the first frame, with a name of their own."""

from __future__ import annotations

import hashlib

import numpy as np
import zstandard
from numpy.typing import NDArray

from goexplore.errors import InputError

_LEVEL = 3
_IDENTITY = 16


class FrameCodec:
    """Encodes frames of one shape: sixteen bytes that name the frame, then its compressed pixels.

    Args:
        reference: a typical frame; the same one is needed to read.
    """

    def __init__(self, reference: NDArray[np.uint8]) -> None:
        self.reference = np.ascontiguousarray(reference)
        dictionary = zstandard.ZstdCompressionDict(self.reference.tobytes(), dict_type=zstandard.DICT_TYPE_RAWCONTENT)
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL, dict_data=dictionary)
        self._decompressor = zstandard.ZstdDecompressor(dict_data=dictionary)

    def encode(self, frame: NDArray[np.uint8]) -> bytes:
        """Returns the encoded frame."""
        pixels = frame.tobytes()
        return hashlib.blake2b(pixels, digest_size=_IDENTITY).digest() + self._compressor.compress(pixels)

    def decode(self, encoded: bytes) -> NDArray[np.uint8]:
        """Returns the frame."""
        try:
            pixels = self._decompressor.decompress(encoded[_IDENTITY:])
            return np.frombuffer(pixels, np.uint8).reshape(self.reference.shape)
        except (zstandard.ZstdError, ValueError) as error:
            raise InputError(f"a frame is damaged: {error}") from error


def identity(encoded: bytes) -> bytes:
    """Sixteen bytes that are equal for equal frames."""
    return encoded[:_IDENTITY]
