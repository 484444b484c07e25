from __future__ import annotations

import numpy as np
import pytest

from goexplore.cells import CellFunction, Features, RamFeatures, WholeObservation, key_of, make_cells, short_key
from goexplore.errors import InputError


def by_position(observation):
    return int(observation[0]), int(observation[1])


def with_env(observation, env):
    return env.unwrapped.x


class Tracking(CellFunction):
    def key(self, observation, env) -> bytes:
        return b"k"


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (b"abc", b"abc"),
        (3, b"3"),
        (np.int32(3), b"3"),
        ((3, True, None, "x"), b"(3,T,None,'x')"),
        ([1, (2, 3)], b"(1,(2,3))"),
        ((1, b"ab"), b"(1,b'ab')"),
    ],
)
def test_keys_people_return(value, key):
    assert key_of(value) == key


def test_alike_but_different_values_get_different_keys():
    values = [1, "1", True, (1,), ((1,),), (1, 1), 11, None, "None", np.array([1, 2]), np.array([[1, 2]])]
    assert len({key_of(value) for value in values}) == len(values)


@pytest.mark.parametrize("value", [1.5, (1, 2.0), np.float32(1), object(), {1: 2}, np.array([0.5])])
def test_keys_that_are_refused(value):
    with pytest.raises(InputError, match="the cell function returned"):
        key_of(value)


def test_long_keys_are_shortened():
    assert short_key(b"x" * 32) == b"x" * 32
    assert len(short_key(b"x" * 33)) == 16
    assert short_key(b"x" * 33) != short_key(b"x" * 34)


def test_features_are_discretised_with_floor():
    cells = Features(lambda obs, env: {"x": obs[0], "y": obs[1]}, sizes={"x": 0.5, "y": 2})
    assert cells.key([0.99, -0.1], None) == b"x=1 y=-1"
    with pytest.raises(InputError, match="missing"):
        Features(lambda obs, env: {"x": 1}, sizes={"z": 1}).key(None, None)
    with pytest.raises(InputError, match="grid"):
        Features(lambda obs, env: {"x": float("nan")}, sizes={"x": 1}).key(None, None)


def test_whole_observations():
    grid = WholeObservation(0.5)
    assert grid.key(np.array([0.1, 0.6]), None) == grid.key(np.array([0.4, 0.9]), None)
    assert grid.key(np.array([0.1, 0.6]), None) != grid.key(np.array([0.1, 1.1]), None)
    assert WholeObservation().key({"a": np.array([1]), "b": 2}, None) != WholeObservation().key(
        {"a": np.array([2]), "b": 2}, None
    )
    with pytest.raises(InputError, match="grid size"):
        WholeObservation().key(np.array([0.1]), None)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ("downscale", "Downscale"),
        ("downscale:16x21x8", "Downscale"),
        ("observation:0.25", "WholeObservation"),
        ("ram:room=3,x=42/8", "RamFeatures"),
        ("tests.cells.test_cells:by_position", "Callback"),
        ("tests.cells.test_cells:Tracking", "Tracking"),
        (by_position, "Callback"),
        (with_env, "Callback"),
        (Tracking(), "Tracking"),
    ],
)
def test_names_and_objects(cells, kind):
    assert type(make_cells(cells)).__name__ == kind


@pytest.mark.parametrize(
    "cells",
    ["downscale:11x8", "downscale:0x8x8", "obs", "ram:room", "ram:x=200", "observation:0", "no.module:f", 7, lambda: 0],
)
def test_names_that_are_refused(cells):
    with pytest.raises(InputError):
        make_cells(cells)


@pytest.mark.atari
def test_ram_cells_read_memory():
    from goexplore.envs import AtariEnv

    env = AtariEnv("montezuma_revenge")
    key = RamFeatures({"room": (3, 1), "x": (42, 8)}).key(env.reset(), env)
    assert key == b"room=1 x=%d" % (env.ram[42] // 8)
