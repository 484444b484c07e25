from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goexplore.archive import (
    NEVER,
    START,
    AddStatus,
    Archive,
    InverseSelector,
    RoomSelector,
    SeenSelector,
    SnapshotCodec,
    Trajectory,
    UniformSelector,
    draw,
    make_selector,
)
from goexplore.errors import InputError


def make_archive() -> Archive:
    archive = Archive((), np.uint8)
    archive.add(b"start", score=0.0, length=0, trajectory=START, snapshot=b"s", iteration=0)
    return archive


def offer(archive: Archive, key: bytes, score: float, length: int, snapshot: bytes = b"") -> AddStatus:
    chunk = archive.forest.add(START, np.zeros(length, np.uint8))
    status, _ = archive.add(
        key, score=score, length=length, trajectory=Trajectory(chunk, length), snapshot=snapshot, iteration=1
    )
    return status


def test_the_acceptance_rule():
    archive = make_archive()
    assert offer(archive, b"a", 1, 10) is AddStatus.NEW
    assert offer(archive, b"a", 1, 10) is AddStatus.REJECTED
    assert offer(archive, b"a", 0, 1) is AddStatus.REJECTED
    assert offer(archive, b"a", 1, 9) is AddStatus.IMPROVED
    assert offer(archive, b"a", 2, 500) is AddStatus.IMPROVED
    assert offer(archive, b"a", 2, 500) is AddStatus.REJECTED
    assert len(archive) == 2
    assert archive.best().score == 2


def test_the_end_of_episode_is_a_cell_of_its_own():
    archive = make_archive()
    assert archive.end is NEVER
    assert archive.add_end(-5.0, 7, START) is AddStatus.NEW
    assert archive.add_end(-6.0, 1, START) is AddStatus.REJECTED
    assert archive.add_end(-5.0, 6, START) is AddStatus.IMPROVED
    assert archive.end.score == -5
    assert len(archive) == 1


def test_best_is_the_shortest_among_equals():
    archive = make_archive()
    offer(archive, b"a", 3, 9)
    offer(archive, b"b", 3, 5)
    offer(archive, b"c", 3, 7)
    assert archive.best().length == 5


def test_counters():
    archive = make_archive()
    offer(archive, b"a", 0, 1)
    archive.count(chosen=np.array([0, 0, 1]), seen=np.array([0, 0, 1, 1, 1]), steps=np.array([[0, 5], [1, 2], [0, 1]]))
    assert archive.table["chosen"].tolist() == [2, 1]
    assert archive.table["seen"].tolist() == [2, 3]
    assert archive.table["steps"].tolist() == [6, 2]
    archive.reset_counters([1])
    assert archive.table["seen"].tolist() == [2, 0]


def test_seen_weights_follow_the_paper():
    archive = make_archive()
    for key in (b"a", b"b"):
        offer(archive, key, 0, 1)
    archive.table["seen"][:] = [0, 3, 99]
    assert SeenSelector().weights(archive).tolist() == [1.0, 0.5, 0.1]
    assert InverseSelector().weights(archive).tolist() == [1.0, 0.25, 0.01]
    assert UniformSelector().weights(archive).tolist() == [1, 1, 1]


def test_rooms_are_drawn_before_cells(rng):
    """Whatever the number of its cells, a room is drawn by how often rollouts began in it."""
    archive = make_archive()
    for key in (b"Aa", b"Ab", b"Ac", b"Ba"):
        offer(archive, key, 0, 1)
    selector = RoomSelector(1)
    rooms = [key[:1] for key in archive.keys]
    assert set(rooms) == {archive.keys[0][:1], b"A", b"B"}
    archive.table["seen"][:] = [9, 0, 0, 1, 3]
    archive.table["chosen"][:] = [4, 1, 0, 0, 2]

    def of(room):
        weights = selector.weights(archive)
        return sum(weight for weight, name in zip(weights, rooms, strict=True) if name == room)

    assert of(b"A") == pytest.approx(1 / 2)
    assert of(b"B") == pytest.approx(1 / 3)
    inside = selector.weights(archive)[1:4]
    np.testing.assert_allclose(inside / inside.sum(), np.array([1, 1, 0.5]) / 2.5)
    offer(archive, b"Bb", 0, 1)
    rooms.append(b"B")
    assert of(b"B") == pytest.approx(1 / 3), "a new cell does not make its room more likely"
    fresh = RoomSelector(1).weights(archive)
    np.testing.assert_array_equal(fresh, selector.weights(archive))


def test_drawing_is_proportional(rng):
    rows = draw(np.array([1.0, 0.0, 3.0]), rng, 40_000)
    counts = np.bincount(rows, minlength=3) / 40_000
    assert counts[1] == 0
    assert counts[2] == pytest.approx(0.75, abs=0.01)


@pytest.mark.parametrize("weights", [[0.0, 0.0], [np.nan, 1.0], [-1.0, 2.0], [np.inf, 1.0]])
def test_weights_that_cannot_be_drawn_from(weights, rng):
    with pytest.raises(InputError, match="weights"):
        draw(np.array(weights), rng, 1)


def test_selectors_by_name():
    assert isinstance(make_selector("uniform"), UniformSelector)
    assert isinstance(make_selector("goexplore.archive:SeenSelector"), SeenSelector)
    assert isinstance(make_selector("rooms:2"), RoomSelector)
    for name in ("best", "rooms", "rooms:0", "rooms:x"):
        with pytest.raises(InputError, match="expected seen, inverse, steps, uniform"):
            make_selector(name)


VISITS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(-3, 3), st.lists(st.integers(0, 17), min_size=1, max_size=8)),
    max_size=60,
)


@settings(deadline=None)
@given(VISITS, st.integers(1, 20))
def test_trajectories_survive_collection_and_saving(visits, collect_every):
    """Whatever is added, replaced and collected, every cell keeps its own actions and its best visit."""
    archive, model = make_archive(), {b"start": (0.0, 0, [])}
    for count, (cell, reward, actions) in enumerate(visits):
        parent_key = sorted(model)[count % len(model)]
        parent_score, parent_length, parent_actions = model[parent_key]
        row = archive.row_of(parent_key)
        chunk = archive.forest.add(archive.trajectory(row), np.array(actions, np.uint8))
        score, length, key = parent_score + reward, parent_length + len(actions), b"cell %d" % cell
        archive.add(
            key, score=score, length=length, trajectory=Trajectory(chunk, len(actions)), snapshot=None, iteration=count
        )
        known = model.get(key)
        if known is None or score > known[0] or (score == known[0] and length < known[1]):
            model[key] = (score, length, parent_actions + actions)
        if count % collect_every == 0:
            digest = archive.digest()
            archive.collect()
            assert archive.digest() == digest
    copy = Archive((), np.uint8)
    copy.restore(archive.save())
    for one in (archive, copy):
        for key, (score, length, actions) in model.items():
            row = one.row_of(key)
            assert one.table["score"][row] == score
            assert one.table["length"][row] == length
            assert one.forest.actions(one.trajectory(row)).tolist() == actions
    assert copy.digest() == archive.digest()


def test_collection_drops_what_nothing_needs():
    archive = make_archive()
    for length in range(300, 10, -1):
        offer(archive, b"a", 0, length)
    kept = archive.forest.add(START, np.zeros(50, np.uint8))
    renamed = archive.collect([Trajectory(kept, 20)])
    assert archive.forest.stored_actions == 11 + 20
    assert len(archive.forest.actions(renamed[Trajectory(kept, 20)])) == 20


def test_the_digest_sees_everything_but_the_bookkeeping():
    first, second = make_archive(), make_archive()
    for archive in (first, second):
        offer(archive, b"a", 1, 3)
    assert first.digest() == second.digest()
    second.forest.add(START, np.ones(4, np.uint8))  # unreachable
    assert first.digest() == second.digest()
    for change in (
        lambda: second.table["score"].__setitem__(1, 2),
        lambda: second.table["seen"].__setitem__(1, 2),
        lambda: second.add_end(0.0, 1, START),
        lambda: second.forest._actions["action"].__setitem__(0, 9),
    ):
        before = second.digest()
        change()
        assert second.digest() != before


def test_continuous_actions_are_kept_exactly():
    archive = Archive((3,), np.float32)
    actions = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    chunk = archive.forest.add(START, actions)
    assert np.array_equal(archive.forest.actions(Trajectory(chunk, 5)), actions[:5])


def test_snapshots_are_small_and_exact():
    rng = np.random.default_rng(0)
    start = rng.integers(0, 256, 20_000, np.uint8)
    codec = SnapshotCodec.for_start(start.tobytes(), b"")
    later = start.copy()
    later[rng.integers(0, 20_000, 100)] ^= 1
    encoded = codec.encode(later.tobytes(), b"room 7")
    assert len(encoded) < 1000
    assert codec.decode(encoded) == (later.tobytes(), b"room 7")
    assert codec.encode(None, b"") is None
    with pytest.raises(InputError, match="damaged"):
        codec.decode(encoded[:-5])
