"""Runs that differ in their seed alone, and what to call them beside other runs of the same game."""

from __future__ import annotations

import dataclasses
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from goexplore.exploration import ExplorationConfig, atari_settings, preset_config
from goexplore.report._runs import Run, Warn

PRESET_ORDER = ("laptop", "paper", "original-code", "tiny")
"""Among presets that fit equally well, the default is the likeliest."""


@dataclass(frozen=True, slots=True)
class Group:
    """Runs of one game with one setting, one for each seed."""

    game: str
    title: str
    """The game for people."""
    label: str
    """What sets it apart from the game's other groups; empty if there are none."""
    settings: str
    """All of its settings in a few words."""
    runs: tuple[Run, ...]

    @property
    def name(self) -> str:
        """Game and label."""
        return f"{self.title} ({self.label})" if self.label else self.title

    @property
    def caveats(self) -> list[str]:
        """Why its scores are not measured as the paper's are."""
        kwargs, cells = self.runs[0].env_kwargs, self.runs[0].cells_name
        found = []
        if kwargs.get("end_on_life_loss"):
            found.append("episodes end at the first life lost; the paper's end with the game")
        if int(kwargs.get("max_frames", 400_000)) != 400_000:
            found.append(f"episodes end after {int(kwargs['max_frames']):,} frames; the paper's after 400,000")
        if cells.startswith(("montezuma", "pitfall", "ram:")):
            found.append("cells use knowledge of the game; the paper's column here is without")
        return found


def group_runs(runs: Sequence[Run], *, warn: Warn) -> dict[str, list[Group]]:
    """Groups by game, in order of title."""
    games: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        games[run.game][_setting(run)].append(run)
    return {
        game: _labelled(game, [_one_run_a_seed(members, warn) for members in settings.values()])
        for game, settings in sorted(games.items(), key=lambda item: _first(item[1]).title.lower())
    }


def settings_of(run: Run) -> dict[str, str]:
    """The nearest preset, the cells, and whatever differs from that preset."""
    saved = _flat(run.config["exploration"]) | run.env_kwargs
    differences = {name: _differences(saved, name, run) for name in PRESET_ORDER}
    preset = min(PRESET_ORDER, key=lambda name: len(differences[name]))
    words = {"preset": preset, "cells": run.cells_name}
    return words | {name: f"{name}={_word(value)}" for name, value in differences[preset].items()}


def _differences(saved: dict[str, Any], preset: str, run: Run) -> dict[str, Any]:
    expected = _flat(dataclasses.asdict(preset_config(preset, cells=run.cells_name)))
    if run.rom is not None:
        expected |= atari_settings(preset, cells=run.cells_name, game=run.rom) | {"observation": "palette"}
    different = {name: value for name, value in saved.items() if name not in expected or expected[name] != value}
    # Unset arguments of an Atari environment are false or the paper's.
    absent = {name: False for name, value in expected.items() if name not in saved and value is True}
    return different | absent


def _flat(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings inside settings by their own names; Python objects without a name, {"object": ...}, stay whole."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        flat |= _flat(value) if isinstance(value, dict) and "object" not in value else {name: value}
    return flat


def _word(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("object", value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _setting(run: Run) -> str:
    """Everything that decides what a run finds, the seed aside.

    Settings at their defaults are left out: runs from before there was one belong with those after it.
    """
    env = {name: value for name, value in run.config["env"].items() if name != "id"}
    usual = dataclasses.asdict(ExplorationConfig())
    exploration = {
        name: value for name, value in run.config["exploration"].items() if name not in usual or value != usual[name]
    }
    told = [run.game, env, run.config["cells"], exploration]
    return json.dumps(told, sort_keys=True, default=str)


def _one_run_a_seed(runs: list[Run], warn: Warn) -> list[Run]:
    """One seed gives one archive, so that a second run of it is no second sample: the longest is kept."""
    longest: dict[int, Run] = {}
    for run in runs:
        other = longest.get(run.seed)
        if other is None:
            longest[run.seed] = run
            continue
        kept, left_out = (run, other) if run.frames > other.frames else (other, run)
        warn(f"{left_out.folder.path} is left out: {kept.folder.path} has the same settings and seed")
        longest[run.seed] = kept
    return [longest[seed] for seed in sorted(longest)]


def _labelled(game: str, groups: list[list[Run]]) -> list[Group]:
    words = [settings_of(runs[0]) for runs in groups]
    names = list(dict.fromkeys(name for each in words for name in each))
    telling = [name for name in names if len({each.get(name) for each in words}) > 1]
    labels = [", ".join(each[name] for name in telling if name in each) or each["preset"] for each in words]
    found = [
        Group(game, runs[0].title, label if len(groups) > 1 else "", ", ".join(each.values()), tuple(runs))
        for runs, label, each in zip(groups, labels, words, strict=True)
    ]
    return sorted(found, key=lambda group: group.label)


def _first(settings: dict[str, list[Run]]) -> Run:
    return next(iter(settings.values()))[0]
