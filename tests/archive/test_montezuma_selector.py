"""W_mont_domain = 0.1^(L - l) (W + (2 - h)/10 + k), kept up to date as cells are added."""

from __future__ import annotations

import time

import numpy as np
import pytest

from goexplore.archive import START, Archive, MontezumaSelector
from goexplore.cells import PYRAMID, ROOM_AT
from goexplore.errors import InputError


def archive_of(*keys: bytes) -> Archive:
    archive = Archive((), np.uint8)
    for key in keys:
        archive.add(key, score=0.0, length=0, trajectory=START, snapshot=None, iteration=0)
    return archive


def cell(level=0, room=1, x=5, y=3, keys=()) -> bytes:
    return bytes((level, room, x, y, *keys))


def by_definition(archive: Archive) -> list[float]:
    known = set(archive.keys)
    left, right = min(key[2] for key in known), max(key[2] for key in known)
    highest = max(key[0] for key in known)
    weights = []
    for row, key in enumerate(archive.keys):
        level, room, x, y = key[:4]
        neighbours = 0
        for step in (-1, 1):
            beside_room, beside = room, x + step
            if not left <= beside <= right:
                place = PYRAMID[room]
                beside_room = ROOM_AT.get((place[0], place[1] + step), 99)
                beside = left if step > 0 else right
            neighbours += bytes((level, beside_room, beside, y)) + key[4:] in known
        most = max(len(other) for other in known if other[:4] == key[:4])
        location = (2 - neighbours) / 10 + (len(key) == most)
        weights.append(0.1 ** (highest - level) * (1 / np.sqrt(archive.table["seen"][row] + 1) + location))
    return weights


def test_hand_computed_weights():
    archive = archive_of(cell(x=4), cell(x=5), cell(x=6), cell(x=5, keys=(1,)))
    archive.table["seen"][:] = [0, 3, 0, 0]
    weights = MontezumaSelector().weights(archive)
    # x = 4 and 6 each have one neighbour; the cell between has two, but another there holds a key
    assert weights == pytest.approx([1 + 0.1 + 1, 0.5 + 0.0 + 0, 1 + 0.1 + 1, 1 + 0.2 + 1])


def test_lower_levels_count_a_tenth():
    weights = MontezumaSelector().weights(archive_of(cell(level=0), cell(level=2)))
    assert weights[1] == pytest.approx(100 * weights[0])


def test_kept_up_to_date_as_cells_are_added():
    rng = np.random.default_rng(0)
    archive, selector = archive_of(cell()), MontezumaSelector()
    for _ in range(60):
        for _ in range(rng.integers(1, 8)):
            key = cell(
                int(rng.integers(3)),
                int(rng.integers(24)),
                int(rng.integers(2, 18)),
                int(rng.integers(2)),
                (1, 7)[: rng.integers(3)],
            )
            archive.add(key, score=0.0, length=0, trajectory=START, snapshot=None, iteration=0)
        archive.table["seen"][rng.integers(len(archive))] += 1
        assert selector.weights(archive) == pytest.approx(by_definition(archive))
    assert MontezumaSelector().weights(archive) == pytest.approx(selector.weights(archive)), "as after a resume"


def test_selection_stays_cheap_with_many_cells():
    keys = {
        cell(level, room, x, y, keys)
        for level in range(9)
        for room in range(24)
        for x in range(20)
        for y in range(6)
        for keys in ((), (1,))
    }
    archive, selector = archive_of(*sorted(keys)), MontezumaSelector()
    selector.weights(archive)
    started = time.perf_counter()
    for _ in range(10):
        selector.weights(archive)
    assert len(archive) > 50_000
    assert (time.perf_counter() - started) / 10 < 0.02, "a hundredth of what a batch takes"


def test_other_cells_are_refused():
    with pytest.raises(InputError, match="montezuma"):
        MontezumaSelector().weights(archive_of(b"x=2"))
