"""Settings as people type them."""

from __future__ import annotations

import pytest

from goexplore.cli._search_options import parse_settings
from goexplore.errors import InputError


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("0.1", 0.1),
        ("1e-3", 1e-3),
        ("1_000", 1000),
        ("true", True),
        ("True", True),
        ("None", None),
        ("[16, 8]", [16, 8]),
        ("()", ()),
        ("((16, 8, 4), (32, 4, 2))", ((16, 8, 4), (32, 4, 2))),
        ("ram:room=3", "ram:room=3"),
        ("own", "own"),
    ],
)
def test_values_are_json_or_python_or_text(typed, value):
    assert parse_settings((f"part.name={typed}",)) == {"part.name": value}


@pytest.mark.parametrize("typed", ["name", "=1", "two words=1"])
def test_what_is_no_setting_is_refused(typed):
    with pytest.raises(InputError, match="name=value"):
        parse_settings((typed,))
