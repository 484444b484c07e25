"""Single settings of a nested configuration, by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from goexplore.errors import InputError
from goexplore.plugins import nearest

Config = TypeVar("Config")


def altered(config: Config, settings: Mapping[str, Any]) -> Config:
    """Returns a configuration with some settings changed: {"ppo.learning_rate": 1e-3, "actors": 24}.

    Raises:
        InputError: there is no such setting, or it does not take that value.
    """
    for name, value in settings.items():
        known = list(_names(config))
        if name not in known:
            hint = nearest(name, known) or f": expected one of {', '.join(known)}"
            raise InputError(f"there is no setting {name!r}{hint}")
        config = _replaced(config, name.split("."), value)
    return config


def _names(config: Any, prefix: str = "") -> Iterator[str]:
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            yield from _names(value, f"{prefix}{field.name}.")
        else:
            yield prefix + field.name


def _replaced(config: Any, path: list[str], value: Any) -> Any:
    name, *rest = path
    before = getattr(config, name)
    new = _replaced(before, rest, value) if rest else _like(before, value, name)
    return dataclasses.replace(config, **{name: new})


def _like(before: Any, value: Any, name: str) -> Any:
    """The value as the type of the one before it; numbers where that was None."""
    if isinstance(before, tuple) and isinstance(value, list):
        return tuple(tuple(each) if isinstance(each, list) else each for each in value)
    expected = (int, float) if before is None or isinstance(before, float) else type(before)
    if isinstance(value, float) and expected is int and value.is_integer():
        return int(value)
    if value is None or (isinstance(value, expected) and isinstance(value, bool) == (expected is bool)):
        return value
    raise InputError(f"{name} {value!r}: expected something like {before!r}")
