from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goexplore.cells import Downscale
from goexplore.errors import InputError

FRAME = np.random.default_rng(0).integers(0, 256, (210, 160), np.uint8)


def by_hand(frame, width: int, height: int, depth: int):
    """Area interpolation the slow way: blow up by whole factors, then take block means."""
    big = frame.repeat(height, axis=0).repeat(width, axis=1).astype(np.int64)
    blocks = big.reshape(height, frame.shape[0], width, frame.shape[1]).sum(axis=(1, 3))
    area = frame.size
    return (2 * blocks + area) // (2 * area) * depth // 255


@pytest.mark.parametrize("size", [(1, 1), (11, 8), (7, 13), (16, 21)])
@pytest.mark.parametrize("compiled", [True, False])
def test_matches_the_definition(size, compiled):
    cells = Downscale(*size, 12, compiled=compiled)
    assert np.array_equal(cells.downscaled(FRAME), by_hand(FRAME, *size, 12))


def test_full_size_only_quantises():
    assert np.array_equal(Downscale(160, 210, 12).downscaled(FRAME), FRAME.astype(int) * 12 // 255)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 160), st.integers(1, 210), st.integers(1, 255), st.integers(0, 2**32 - 1))
def test_compiled_and_numpy_give_the_same_keys(width, height, depth, seed):
    frame = np.random.default_rng(seed).integers(0, 256, (210, 160), np.uint8)
    compiled, plain = (Downscale(width, height, depth, compiled=choice) for choice in (True, False))
    assert compiled.key(frame, None) == plain.key(frame, None)


def test_large_frames_are_exact_too():
    rng = np.random.default_rng(0)
    for _ in range(10):
        frame = rng.integers(0, 256, (599, 801), np.uint8)
        compiled, plain = (Downscale(37, 51, 255, compiled=choice) for choice in (True, False))
        assert np.array_equal(compiled.downscaled(frame), plain.downscaled(frame))


def test_agrees_with_opencv_to_rounding():
    ours = Downscale(11, 8, 255).downscaled(FRAME).astype(int)
    theirs = cv2.resize(FRAME, (11, 8), interpolation=cv2.INTER_AREA).astype(int)
    assert np.abs(ours - theirs).max() <= 1


def test_whole_number_floor_is_pinned():
    """floor(d*p/255) in whole numbers differs from the float version for (51, 155) and (75, 187)."""
    for depth, gray in ((51, 155), (75, 187)):
        picture = np.full((4, 4), gray, np.uint8)
        assert Downscale(1, 1, depth).downscaled(picture)[0, 0] == gray * depth // 255


def test_every_level_is_reached():
    ramp = np.arange(256, dtype=np.uint8).reshape(16, 16)
    assert set(Downscale(16, 16, 8).downscaled(ramp).ravel()) == set(range(9))


def test_colour_pictures_are_turned_gray():
    rgb = np.random.default_rng(0).integers(0, 256, (40, 40, 3), np.uint8)
    gray = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)
    assert np.abs(Downscale(40, 40, 255).downscaled(rgb).astype(int) - gray).max() <= 1


def test_what_is_no_picture_is_refused():
    with pytest.raises(InputError, match="choose other cells"):
        Downscale().key(np.zeros(4), None)
    with pytest.raises(InputError, match="smaller size"):
        Downscale(20, 20, 8).key(np.zeros((10, 10), np.uint8), None)
    with pytest.raises(InputError, match="depth of 1 to 255"):
        Downscale(8, 8, 300)


@pytest.mark.atari
def test_ale_gray_is_opencv_luma():
    from goexplore.envs import AtariEnv

    gray, rgb = AtariEnv("montezuma_revenge"), AtariEnv("montezuma_revenge", observation="rgb")
    luma = cv2.cvtColor(rgb.reset(), cv2.COLOR_RGB2GRAY)
    assert np.array_equal(gray.reset(), luma)
