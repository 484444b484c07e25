"""Cell functions by name, as the command line and run folders write them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from goexplore.cells._adaptive import AdaptiveCells
from goexplore.cells._downscale import Downscale
from goexplore.cells._dynamic import DynamicDownscale, parse_size
from goexplore.cells._features import Callback, RamFeatures, WholeObservation
from goexplore.cells._goals import MontezumaGoals, PitfallGoals
from goexplore.cells._montezuma import MontezumaCells
from goexplore.cells._pitfall import PitfallCells
from goexplore.cells._protocol import CellFunction
from goexplore.cells._shelves import VOXEL, ShelvesCells
from goexplore.errors import InputError
from goexplore.plugins import load_object, nearest

FORMS = (
    "dynamic[:WxHxD], downscale[:WxHxD], domain, montezuma[:WxH|:goals], pitfall[:WxH|:goals], observation[:SIZE],"
    " ram:NAME=BYTE[/SIZE],..., shelves[:original][:lift][:VOXEL], or package.module:name of your own"
)

NAMES = ("dynamic", "downscale", "domain", "montezuma", "observation", "pitfall", "ram", "shelves")
OWN_PREFIXES = tuple(f"{name}:" for name in NAMES)
DOMAIN_CELLS = {"montezuma_revenge": "montezuma", "pitfall": "pitfall", "goexplore/FetchShelves-v0": "shelves"}
"""The games (by their ROM's name) and environments that we know, and the cells made from that knowledge."""


def make_cells(cells: str | CellFunction | Callable[..., Any]) -> CellFunction:
    """Builds a cell function from its name, an object or a plain function.

    Raises:
        InputError: the name has none of the known forms, or the object is not a cell function.
    """
    if isinstance(cells, CellFunction):
        return cells
    if isinstance(cells, str):
        return _named(cells)
    if inspect.isclass(cells) and issubclass(cells, CellFunction):
        return cells()
    if callable(cells):
        return Callback(cells, takes_env=_takes_env(cells))
    raise InputError(f"cells: got a {type(cells).__name__}; expected a function, a CellFunction, or {FORMS}")


def make_fixed_cells(cells: str, *, what: str) -> CellFunction:
    """Builds cells that stay as they are while something is learnt from them.

    Args:
        cells: by name.
        what: is made of them, as the beginning of a sentence.

    Raises:
        InputError: the name has none of the known forms, or the cells adapt.
    """
    made = make_cells(cells)
    if isinstance(made, AdaptiveCells):
        raise InputError(f"{what} of cells {cells!r}: expected cells that stay as they are, for example downscale")
    return made


def domain_cells(game: str) -> str:
    """Returns the name of the cells made from knowledge of an Atari game or an environment.

    Raises:
        InputError: there are none for it.
    """
    if game not in DOMAIN_CELLS:
        raise InputError(
            f"cells 'domain': we know {', '.join(DOMAIN_CELLS)} only; for other environments write what you know as"
            " a function (package.module:name), or choose --cells dynamic"
        )
    return DOMAIN_CELLS[game]


def names_own_code(cells: str) -> bool:
    """Whether a name means code to import (`package.module:name`) and not one of our own forms."""
    return ":" in cells and not cells.startswith(OWN_PREFIXES)


def require_trust(cells: str | None, what: str, *, by: str, trust: bool) -> None:
    """Refuses cells that are code to import, unless told to trust them.

    Args:
        cells: by name, if any.
        what: who names them, as the beginning of a sentence.
        by: what would import them.
        trust: whether they may be.

    Raises:
        InputError: they may not.
    """
    if cells is not None and names_own_code(cells) and not trust:
        raise InputError(
            f"{what} {cells}, code that {by} would run; if you trust it, say so with --trust (trust=True from Python)"
        )


def _named(name: str) -> CellFunction:
    if match := re.fullmatch(r"downscale(?::(\d+)x(\d+)x(\d+))?", name):
        return Downscale(*map(int, match.groups())) if match[1] else Downscale()
    if name == "dynamic" or name.startswith("dynamic:"):
        return DynamicDownscale(parse_size(name.removeprefix("dynamic:")) if ":" in name else None)
    if match := re.fullmatch(r"(montezuma|pitfall):goals", name):
        return MontezumaGoals() if match[1] == "montezuma" else PitfallGoals()
    if match := re.fullmatch(r"(montezuma|pitfall)(?::(\d+)x(\d+))?", name):
        made = MontezumaCells if match[1] == "montezuma" else PitfallCells
        return made(int(match[2]), int(match[3])) if match[2] else made()
    if match := re.fullmatch(r"observation(?::([\d.]+))?", name):
        try:
            return WholeObservation(float(match[1]) if match[1] else None)
        except ValueError as error:
            raise InputError(f"cells {name!r}: {match[1]} is not a number") from error
    if match := re.fullmatch(r"shelves(:original)?(:lift)?(?::(\d*\.?\d+))?", name):
        return ShelvesCells(original=bool(match[1]), lift=bool(match[2]), voxel=float(match[3] or VOXEL))
    if name.startswith("ram:"):
        return RamFeatures(_ram_places(name))
    if names_own_code(name):
        return make_cells(load_object(name, what="cells"))
    raise InputError(f"cells {name!r}: expected {FORMS}{nearest(name, NAMES)}")


def _ram_places(name: str) -> dict[str, tuple[int, float]]:
    places = {}
    for part in name.removeprefix("ram:").split(","):
        match = re.fullmatch(r"(\w+)=(\d+)(?:/(\d+))?", part)
        if match is None:
            raise InputError(f"cells {name!r}: {part!r} should look like x=42/8 (feature x is RAM byte 42, by eights)")
        places[match[1]] = (int(match[2]), float(match[3] or 1))
    return places


def _takes_env(function: Callable[..., Any]) -> bool:
    """Whether a function wants the environment too; decided by its required positional arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [
        parameter
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and parameter.default is parameter.empty
    ]
    if len(positional) not in (1, 2):
        raise InputError(
            f"the cell function {getattr(function, '__name__', function)!r} takes {len(positional)} arguments;"
            " expected (observation) or (observation, env)"
        )
    return len(positional) == 2
