"""Cell functions: what counts as one place."""

from goexplore.cells._downscale import Downscale
from goexplore.cells._features import Callback, Features, RamFeatures, WholeObservation
from goexplore.cells._make import FORMS, make_cells, names_own_code
from goexplore.cells._protocol import LONGEST_RAW_KEY, CellFunction, key_of, short_key

__all__ = [
    "FORMS",
    "LONGEST_RAW_KEY",
    "Callback",
    "CellFunction",
    "Downscale",
    "Features",
    "RamFeatures",
    "WholeObservation",
    "key_of",
    "make_cells",
    "names_own_code",
    "short_key",
]
