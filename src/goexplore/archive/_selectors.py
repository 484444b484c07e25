"""Which cells to return to (Methods, "Exploration phase")."""

from __future__ import annotations

from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from goexplore.archive._archive import Archive
from goexplore.archive._montezuma_selector import MontezumaSelector
from goexplore.archive._room_selector import RoomSelector
from goexplore.archive._shelves_selector import ShelvesSelector
from goexplore.errors import InputError
from goexplore.plugins import load_object, made


class Selector(Protocol):
    """Gives every cell a weight; cells are drawn with probability proportional to it.

    A selector of your own is a class with this one method. It must depend on the archive alone, or
    the same seed will not give the same run after a resume.
    """

    def weights(self, archive: Archive) -> NDArray[np.float64]:
        """Returns a weight of at least 0 for each row of the archive."""


class SeenSelector:
    """W = 1 / sqrt(C_seen + 1): prefers cells that few rollouts have visited (Extended Data Table 1a)."""

    def weights(self, archive: Archive) -> NDArray[np.float64]:
        """Computes W for all cells at once."""
        return 1.0 / np.sqrt(archive.table["seen"] + 1.0)


class InverseSelector:
    """1 / (C_seen + 1): prefers such cells more strongly, which suits small budgets (docs/measurements.md)."""

    def weights(self, archive: Archive) -> NDArray[np.float64]:
        """Computes the weights of all cells at once."""
        return 1.0 / (archive.table["seen"] + 1.0)


class StepsSelector:
    """W = 1 / (0.5 C_steps + 1): prefers cells in which few steps were spent. The paper's where a policy returns.

    Args:
        attempt_steps: what choosing a cell counts for in C_steps, whether or not it is reached. Paper: 0.
    """

    def __init__(self, attempt_steps: float = 0.0) -> None:
        self._attempt_steps = attempt_steps

    def weights(self, archive: Archive) -> NDArray[np.float64]:
        """Computes W for all cells at once."""
        steps = archive.table["steps"] + self._attempt_steps * archive.table["chosen"]
        weights: NDArray[np.float64] = 1.0 / (0.5 * steps + 1.0)
        return weights


class UniformSelector:
    """Every cell alike."""

    def weights(self, archive: Archive) -> NDArray[np.float64]:
        """Ones."""
        return np.ones(len(archive))


SELECTORS: dict[str, type[Selector]] = {
    "seen": SeenSelector,
    "inverse": InverseSelector,
    "steps": StepsSelector,
    "uniform": UniformSelector,
    "montezuma": MontezumaSelector,
    "shelves": ShelvesSelector,
}


def make_selector(selector: str | Selector) -> Selector:
    """Returns the selector of that name (`SELECTORS`, `rooms:BYTES`, `package.module:name`), or the object itself."""
    if not isinstance(selector, str):
        return _own(selector)
    if selector in SELECTORS:
        return SELECTORS[selector]()
    name, _, argument = selector.partition(":")
    if name == "rooms" and argument.isdigit() and int(argument) > 0:
        return RoomSelector(int(argument))
    if ":" not in selector or name == "rooms":
        raise InputError(
            f"selector {selector!r}: expected {', '.join(SELECTORS)}, rooms:BYTES (how many bytes of a key say which"
            " room it is in) or package.module:name of your own"
        )
    return _own(load_object(selector, what="selector"))


def _own(selector: Any) -> Selector:
    return cast(Selector, made(selector, what="selector", methods=("weights",)))


def names_own_selector(selector: str) -> bool:
    """Whether a selector's name is that of code outside this library, whose import would run it."""
    return ":" in selector and not selector.startswith("rooms:")


def draw(weights: NDArray[np.float64], rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Draws `count` rows with replacement, in proportion to their weights.

    Raises:
        InputError: a weight is negative or not a number, or all are 0.
    """
    cumulative = np.cumsum(weights)
    total = cumulative[-1]
    if not np.isfinite(total) or total <= 0 or weights.min() < 0:
        raise InputError(
            "the selector returned weights that cannot be drawn from: expected finite numbers of at least 0,"
            " and not all 0"
        )
    rows: NDArray[np.int64] = np.searchsorted(cumulative, rng.random(count) * total, side="right")
    return rows.clip(max=len(weights) - 1)
