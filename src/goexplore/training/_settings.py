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
    known = list(_names(config))
    for name in settings:
        if name not in known:
            hint = nearest(name, known) or f": expected one of {', '.join(known)}"
            raise InputError(f"there is no setting {name!r}{hint}")
    altered_config: Config = _replaced(config, settings)
    return altered_config


def _names(config: Any, prefix: str = "") -> Iterator[str]:
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            yield from _names(value, f"{prefix}{field.name}.")
        else:
            yield prefix + field.name


def _replaced(config: Any, settings: Mapping[str, Any]) -> Any:
    """All at once, as settings that belong together may be valid only together."""
    changes: dict[str, Any] = {}
    within: dict[str, dict[str, Any]] = {}
    for name, value in settings.items():
        part, _, rest = name.partition(".")
        before = getattr(config, part)
        if rest:
            within.setdefault(part, {})[rest] = value
            continue
        kinds = {type(before)} if before is not None else set(get_args(get_type_hints(type(config))[name]))
        changes[name] = _like(before, value, name, kinds)
    for part, inner in within.items():
        changes[part] = _replaced(getattr(config, part), inner)
    return dataclasses.replace(config, **changes)


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
