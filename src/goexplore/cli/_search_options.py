"""Options that every command which explores takes."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import json
from dataclasses import dataclass
from typing import Any, Literal

import tyro

from goexplore.errors import InputError

Preset = Literal["laptop", "paper", "original-code", "tiny"]


@tyro.conf.configure(tyro.conf.OmitArgPrefixes)
@dataclass
class SearchOptions:
    """Settings of the search, in place of the preset's."""

    batch_size: int | None = None
    """Cells selected in each iteration."""
    explore_steps: int | None = None
    """Agent steps explored from each selected cell."""
    play_on_probability: float | None = None
    """Probability that a rollout begins in a cell with a high score and goes on until the episode ends."""
    repeat_probability: float | None = None
    """Probability of repeating the previous action."""
    selector: str | None = None
    """How cells are selected: seen, inverse, uniform, rooms:BYTES, montezuma (with its domain cells), or
    package.module:name."""
    explorer: str | None = None
    """How to act after a return: random (actions repeated), pure-random, mixed (half of the rollouts each),
    tanh-normal (numbers near their bounds), partial (not all numbers change at a time), or package.module:name."""
    trials: int | None = None
    """Noisy replays of each way that may enter the archive, for demonstrations that hold under noise: a more reliable
    way is kept even if it is longer. 8 are enough."""
    trial_sticky: float | None = None
    """Probability of repeating an action in trials."""
    trial_jitter: float | None = None
    """Standard deviation of noise on actions in trials, as a share of half their range."""
    reset_counters_on_improvement: bool | None = None
    """Zero a cell's counters whenever it is found or improved."""
    pipelined: bool | None = None
    """Select the next batch before the last is merged; for many workers."""
    fitting: tuple[str, ...] = ()
    """When dynamic cells are fitted, and to what, as NAME=VALUE, for example every_steps=1000000 target_share=0.25.
    --print-config shows all."""

    def settings(self) -> dict[str, Any]:
        """Those that were given, as `goexplore.explore` takes them."""
        given = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        return given | {"fitting": parse_settings(self.fitting) or None}


def parse_settings(pairs: tuple[str, ...]) -> dict[str, Any]:
    """Turns NAME=VALUE words into keyword arguments; values are JSON or Python's literals, or else text."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not all(part.isidentifier() for part in name.split(".")):
            raise InputError(f"setting {pair!r} should look like name=value")
        settings[name] = _parsed(value)
    return settings


def _parsed(value: str) -> Any:
    for parse in (json.loads, ast.literal_eval):
        with contextlib.suppress(ValueError, SyntaxError):
            return parse(value)
    return value
