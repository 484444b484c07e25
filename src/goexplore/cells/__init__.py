"""Cell functions: what counts as one place."""

from goexplore.cells._adaptive import AdaptiveCells, Fitting, Frame
from goexplore.cells._downscale import Downscale
from goexplore.cells._dynamic import DynamicDownscale
from goexplore.cells._features import Callback, Features, RamFeatures, WholeObservation
from goexplore.cells._goals import GoalCells, MontezumaGoals, PitfallGoals
from goexplore.cells._make import (
    DOMAIN_CELLS,
    FORMS,
    domain_cells,
    make_cells,
    make_fixed_cells,
    names_own_code,
    require_trust,
)
from goexplore.cells._montezuma import PYRAMID, ROOM_AT, MontezumaCells
from goexplore.cells._pitfall import PitfallCells
from goexplore.cells._protocol import LONGEST_RAW_KEY, CellFunction, cell_key, key_of, short_key
from goexplore.cells._search import Downscaling, Sample, objective, search
from goexplore.cells._shelves import ShelvesCells

__all__ = [
    "DOMAIN_CELLS",
    "FORMS",
    "LONGEST_RAW_KEY",
    "PYRAMID",
    "ROOM_AT",
    "AdaptiveCells",
    "Callback",
    "CellFunction",
    "Downscale",
    "Downscaling",
    "DynamicDownscale",
    "Features",
    "Fitting",
    "Frame",
    "GoalCells",
    "MontezumaCells",
    "MontezumaGoals",
    "PitfallCells",
    "PitfallGoals",
    "RamFeatures",
    "Sample",
    "ShelvesCells",
    "WholeObservation",
    "cell_key",
    "domain_cells",
    "key_of",
    "make_cells",
    "make_fixed_cells",
    "names_own_code",
    "objective",
    "require_trust",
    "search",
    "short_key",
]
