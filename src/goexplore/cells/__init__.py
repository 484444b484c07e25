"""Cell functions: what counts as one place."""

from goexplore.cells._downscale import Downscale
from goexplore.cells._features import Callback, Features, RamFeatures, WholeObservation
from goexplore.cells._make import FORMS, make_cells
from goexplore.cells._protocol import CellFunction, key_of, short_key

__all__ = [
    "FORMS",
    "Callback",
    "CellFunction",
    "Downscale",
    "Features",
    "RamFeatures",
    "WholeObservation",
    "key_of",
    "make_cells",
    "short_key",
]
