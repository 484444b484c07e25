"""What a sweep is asked to do, checked before the first run starts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import gymnasium as gym

from goexplore.cells import make_cells
from goexplore.envs import EnvSpec, atari_games, is_atari, make_env
from goexplore.errors import InputError
from goexplore.exploration import preset_config
from goexplore.games import focus_games, game, paper_games
from goexplore.plugins import named

EVERY_GAME = {"all": paper_games, "focus": focus_games}


@dataclass(frozen=True, slots=True)
class Target:
    """An environment and the name of its folder."""

    label: str
    env_id: str


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything but the seed and the environment that decides what a run finds."""

    preset: str
    cells: str | None
    env_kwargs: dict[str, Any]
    exploration: dict[str, Any]
    """Fields of ExplorationConfig that differ from the preset."""

    def to_json(self) -> dict[str, Any]:
        """As it goes into sweep.json."""
        return asdict(self)


def checked_settings(
    preset: str, cells: Any, env_kwargs: dict[str, Any] | None, exploration: dict[str, Any]
) -> Settings:
    """Checks what can be checked without running anything.

    Raises:
        InputError: there is no such preset, setting or cell function, or a part has no importable name.
    """
    given = {name: _by_name(name, value) for name, value in exploration.items() if value is not None}
    cells = _by_name("cells", cells)
    preset_config(preset, cells=cells or "", **given)
    if cells not in (None, "domain"):
        make_cells(cells)
    return Settings(preset, cells, env_kwargs or {}, given)


def targets(words: str | Sequence[str], env_kwargs: dict[str, Any]) -> list[Target]:
    """Turns names, ids and the words "all" and "focus" into environments, each once and in the order given.

    Raises:
        InputError: the list is empty, or something in it is no environment.
    """
    found: dict[str, Target] = {}
    for word in [words] if isinstance(words, str) else words:
        many = EVERY_GAME.get(word)
        for target in [_target(word, env_kwargs)] if many is None else [Target(one.name, one.env_id) for one in many()]:
            if found.setdefault(target.label, target) != target:
                raise InputError(
                    f"{target.env_id!r} and {found[target.label].env_id!r} would share the folder {target.label}:"
                    " put one of them into a sweep of its own"
                )
    if not found:
        raise InputError(
            "no games: name at least one, for example MontezumaRevenge or ALE/Freeway-v5, or focus, or all"
        )
    atari = next((target.env_id for target in found.values() if target.env_id.startswith("ALE/")), None)
    if atari is not None:
        make_env(EnvSpec(atari, env_kwargs)).close()  # ale-py is there, and knows the settings
    return list(found.values())


def checked_seeds(seeds: int | Iterable[int]) -> list[int]:
    """Returns the seeds, each once.

    Raises:
        InputError: there are none, or one is negative.
    """
    listed = list(dict.fromkeys([seeds] if isinstance(seeds, int) else seeds))
    if not listed:
        raise InputError("no seeds: give at least one, for example 0 1 2")
    if min(listed) < 0:
        raise InputError(f"seed {min(listed)}: expected 0 or more")
    return listed


def _target(word: str, env_kwargs: dict[str, Any]) -> Target:
    bare = re.fullmatch(r"\w+", word) is not None and word not in gym.registry
    if is_atari(word):
        label = _atari_name(word)
        return Target(label, f"ALE/{label}-v5")
    if bare:
        found = game(word)
        return Target(found.name, found.env_id)
    make_env(EnvSpec(word, env_kwargs)).close()
    return Target(re.sub(r"[^\w.-]+", "-", word), word)


def _atari_name(word: str) -> str:
    """The name of any game that ale-py has, the paper's or not."""
    base = re.sub(r"(-ram|NoFrameskip|Deterministic)*(-v\d+)?$", "", word.removeprefix("ALE/"))
    names = {name.lower(): name for name in atari_games()}
    return names[base.replace("_", "").lower()]


def _by_name(part: str, value: Any) -> Any:
    """Runs are processes of their own, so whatever they use must be importable by name."""
    name = named(value)
    if part != "fitting" and name is not None and not isinstance(name, (str, int, float)):
        raise InputError(
            f"{part} is the Python object {value!r}, and the runs of a sweep are processes of their own: put it into a"
            " module and give package.module:name"
        )
    return name
