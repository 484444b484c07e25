"""Single settings of a nested configuration, by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, get_args, get_type_hints

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
    if rest:
        return dataclasses.replace(config, **{name: _replaced(before, rest, value)})
    kinds = {type(before)} if before is not None else set(get_args(get_type_hints(type(config))[name]))
    return dataclasses.replace(config, **{name: _like(before, value, name, kinds)})


def _like(before: Any, value: Any, name: str, kinds: set[type]) -> Any:
    """The value as one of the kinds that a setting may be of."""
    if isinstance(before, tuple) and isinstance(value, list):
        return tuple(tuple(each) if isinstance(each, list) else each for each in value)
    if isinstance(value, float) and float not in kinds and int in kinds and value.is_integer():
        return int(value)
    if value is None or type(value) in kinds or (type(value) is int and float in kinds):
        return value
    names = sorted(kind.__name__ for kind in kinds - {type(None)})
    expected = repr(before) if before is not None else " or ".join(names)
    raise InputError(f"{name} {value!r}: expected something like {expected}")
