"""The settings of the paper's set-ups, of the authors' code, and of ours for small machines.

A set-up is a kind of cells: downscaled frames that adapt (`dynamic`), knowledge of Montezuma's Revenge (`montezuma`),
of Pitfall (`pitfall`) or of the robot (`shelves`), or anything else. Each field of `ExplorationConfig` and `Fitting`
names the paper's value and its source; what differs is stated here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

from goexplore.cells import Fitting
from goexplore.errors import InputError
from goexplore.exploration._config import ExplorationConfig


@dataclass(frozen=True, slots=True)
class Preset:
    """Settings of the search, and what goes with them on Atari."""

    exploration: ExplorationConfig
    atari: dict[str, Any] = field(default_factory=dict)
    """Arguments of `AtariEnv`."""
    atari_cells: str = "dynamic"
    """The cells, if none are named."""
    variant: str | None = None
    """Of the set-up's kind of cells, if none are named; None is the plain one."""


PAPER = ExplorationConfig()
ORIGINAL = ExplorationConfig(
    # Facts about the authors' scripts, where the paper says otherwise or nothing.
    reset_counters_on_improvement=True,
    fitting=Fitting(least_frames=2, clear_sample=True, mean_offset=1, full_size=False),
)
LAPTOP = ExplorationConfig(
    # Small batches let a discovery be used sooner, and selection by 1/(C_seen + 1) goes there more eagerly: at a few
    # hundred thousand steps these two matter more than anything else (docs/measurements.md).
    batch_size=20,
    selector="inverse",
    reset_counters_on_improvement=True,
    fitting=Fitting(
        first_steps=20_000,
        growth=2.0,
        patience_steps=500_000,
        sample_probability=0.05,
        least_frames=500,
        sample_frames=5_000,
        proposals=1_000,
        near_best=0.5,
    ),
)
TINY = ExplorationConfig(
    batch_size=10,
    explore_steps=20,
    repeat_probability=0.8,
    fitting=Fitting(first_steps=500, every_steps=5_000, sample_probability=0.2, least_frames=50, proposals=50),
)

ROBOT: dict[str, Any] = {"explore_steps": 30, "repeat_probability": 0.9}  # Methods, "Exploration phase"

UNTIL_FIRST_DEATH = {"end_on_life_loss": True}
NO_ROLLOVER_GUARD = {"rollover_guard": False}  # the authors patched the score counter in later phases only

PRESETS: dict[str, Preset] = {
    "paper": Preset(PAPER),
    "original-code": Preset(ORIGINAL, NO_ROLLOVER_GUARD),
    # Ending at the first life lost keeps a small search out of the many states that differ in lives alone
    # (docs/measurements.md).
    # A first representation that is good enough in most games, until there is a sample to fit to.
    "laptop": Preset(LAPTOP, UNTIL_FIRST_DEATH, atari_cells="dynamic:11x8x8"),
    "tiny": Preset(TINY, atari_cells="downscale:11x8x8"),
}
"""`paper`: as published. `original-code`: as the authors' scripts ran. `laptop`: a few cores. `tiny`: tests."""

SET_UPS: dict[tuple[str, str], Preset] = {
    # Methods, "Exploration phase": W_mont_domain; the episode ends when all lives are lost.
    ("paper", "montezuma"): Preset(replace(PAPER, selector="montezuma")),
    # The authors' environment for this set-up ends at the first death, and never at the time limit.
    ("original-code", "montezuma"): Preset(
        replace(ORIGINAL, selector="montezuma"), NO_ROLLOVER_GUARD | UNTIL_FIRST_DEATH
    ),
    # Hundreds of rooms in a row: what matters is to get to the next (docs/measurements.md).
    ("laptop", "pitfall"): Preset(replace(LAPTOP, selector="rooms:1")),
    ("paper", "shelves"): Preset(replace(PAPER, **ROBOT)),
    # The authors' robot draws its actions differently, and prefers an open upper door; counters are not reset.
    ("original-code", "shelves"): Preset(replace(PAPER, **ROBOT, explorer="tanh-normal", selector="shelves")),
    # Fingers that touch the block seldom hold it: a cell for lifting it keeps those that do (docs/robotics.md).
    ("laptop", "shelves"): Preset(replace(LAPTOP, **ROBOT, explorer="tanh-normal"), variant="shelves:lift"),
}
"""Where a preset depends on the kind of cells."""

GAME_SETTINGS: dict[tuple[str, str], dict[str, Any]] = {
    # gym 0.10's Deterministic-v4 of this game, which the authors used; the paper says 4 everywhere.
    ("original-code", "space_invaders"): {"frame_skip": 3},
    # The clock of twenty minutes has run out, and the game stands still without ever being over.
    ("laptop", "pitfall"): {"max_frames": 72_000},
}
"""Where a preset depends on the game."""


def preset_config(preset: str, /, *, cells: str = "", **changes: Any) -> ExplorationConfig:
    """Returns a preset with some fields changed; changes that are None are ignored.

    Args:
        preset: its name.
        cells: the name of the cells, where the preset depends on their kind.
        changes: fields of ExplorationConfig; `fitting` may be a dict of some fields of Fitting.

    Raises:
        InputError: there is no such preset or field, or a value is out of range.
    """
    base = _preset(preset, cells).exploration
    known = {each.name for each in fields(ExplorationConfig)}
    if unknown := set(changes) - known:
        raise InputError(f"unknown setting {', '.join(sorted(unknown))}: expected one of {', '.join(sorted(known))}")
    changes = {name: value for name, value in changes.items() if value is not None}
    if isinstance(changes.get("fitting"), dict):
        changes["fitting"] = _changed_fitting(base.fitting, changes["fitting"])
    return replace(base, **changes)


def atari_settings(preset: str, *, cells: str = "", game: str | None = None) -> dict[str, Any]:
    """Returns the arguments of `AtariEnv` that go with a preset."""
    return _preset(preset, cells).atari | GAME_SETTINGS.get((preset, game or ""), {})


def atari_cells(preset: str) -> str:
    """Returns the cells that a preset takes on Atari if none are named."""
    return _preset(preset, "").atari_cells


def cells_of_kind(preset: str, kind: str) -> str:
    """Returns the cells that a preset takes where only their kind is known, for example "shelves".

    Raises:
        InputError: there is no such preset.
    """
    return _preset(preset, kind).variant or kind


def _preset(name: str, cells: str) -> Preset:
    if name not in PRESETS:
        raise InputError(f"preset {name!r}: expected one of {', '.join(PRESETS)}")
    return SET_UPS.get((name, cells.partition(":")[0]), PRESETS[name])


def _changed_fitting(base: Fitting, changes: dict[str, Any]) -> Fitting:
    known = [each.name for each in fields(Fitting)]
    if unknown := sorted(set(changes) - set(known)):
        raise InputError(f"unknown fitting setting {', '.join(unknown)}: expected one of {', '.join(known)}")
    try:
        return replace(base, **changes)
    except TypeError as error:
        raise InputError(f"fitting {changes}: expected numbers ({error})") from error
