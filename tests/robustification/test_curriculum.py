"""Windows of starting points: they move as the rule says, retreat smoothly, and reach the start."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from goexplore.robustification import VIRTUAL, Curriculum, Episode, Leg, whole


def played(curriculum: Curriculum, success: float, rng, episodes: int = 400) -> None:
    """Episodes from the window that match with a probability."""
    for index in range(len(curriculum.legs)):
        starts = [curriculum.draw(index, rng) for _ in range(episodes)]
        curriculum.count(Episode(index, start, bool(rng.random() < success), 10, 0.0, 0.0) for start in starts)
    curriculum.move()


def test_the_window_moves_by_what_the_rule_says():
    """With W points, threshold h and success p all over the window, it moves back by W - W h / p points."""
    for success, expected in ((1.0, 115), (0.5, 102), (0.2, 64)):
        curriculum = Curriculum(whole(1000), window=128, threshold=0.1)
        for start in range(999 - 127, 1000):
            wins = round(100 * success)
            curriculum.count([Episode(0, start, True, 1, 0.0, 0.0)] * wins)
            curriculum.count([Episode(0, start, False, 1, 0.0, 0.0)] * (100 - wins))
        curriculum.move()
        assert 999 - curriculum.latest[0] == pytest.approx(expected, abs=1)


def test_an_oracle_reaches_the_start_in_a_predictable_number_of_moves():
    curriculum, rng = Curriculum(whole(200, 90), window=20, threshold=0.2, decay=0.5), np.random.default_rng(0)
    moves = 0
    while not all(curriculum.at_start(index) for index in range(2)):
        played(curriculum, 1.0, rng)
        moves += 1
        assert moves < 20
    assert moves == pytest.approx(199 / 16, abs=2), "each takes it back by 80% of a window"
    assert curriculum.way_to_start > 0.97
    for _ in range(5):
        played(curriculum, 1.0, rng)
    assert curriculum.latest == [0, 0], "and it really gets there"


def test_at_the_threshold_it_stays_and_below_it_retreats_without_a_jump():
    rng = np.random.default_rng(0)
    curriculum = Curriculum(whole(400), window=20, threshold=0.2, decay=0.5)
    for _ in range(8):
        played(curriculum, 1.0, rng)
    reached = curriculum.latest[0]
    for _ in range(4):
        played(curriculum, 0.2, rng, episodes=4000)
    assert abs(curriculum.latest[0] - reached) <= 8
    reached = curriculum.latest[0]
    for _ in range(6):
        before = curriculum.latest[0]
        played(curriculum, 0.05, rng)
        assert 0 <= curriculum.latest[0] - before <= 20
    assert curriculum.latest[0] > reached
    assert curriculum.latest[0] < 399


def test_moves_are_no_longer_than_allowed():
    rng = np.random.default_rng(0)
    curriculum = Curriculum(whole(400), window=40, threshold=0.1, most_move=12)
    played(curriculum, 1.0, rng)
    assert curriculum.latest[0] == 399 - 12
    for _ in range(5):
        played(curriculum, 1.0, rng)
    before = curriculum.latest[0]
    curriculum.success[0][:] = 0
    played(curriculum, 0.0, rng, episodes=2000)
    assert curriculum.latest[0] == before + 12, "nor are retreats"


def test_a_virtual_episode_moves_nothing():
    curriculum = Curriculum(whole(30), window=5, threshold=0.2)
    curriculum.count([Episode(VIRTUAL, 0, True, 10, 5.0, 5.0)] * 100)
    curriculum.move()
    assert curriculum.latest[0] == 29
    assert curriculum.success[0].sum() == 0


def test_starts_are_drawn_from_the_window_and_now_and_then_from_after_it():
    curriculum, rng = Curriculum(whole(100), window=10, threshold=0.2), np.random.default_rng(0)
    curriculum.latest[0] = 50
    inside = [curriculum.draw(0, rng) for _ in range(500)]
    assert set(inside) == set(range(41, 51))
    mixed = np.array([curriculum.draw(0, rng, later=0.2) for _ in range(2000)])
    assert mixed.min() == 41
    assert mixed.max() == 99
    assert np.mean(mixed > 50) == pytest.approx(0.2 * 49 / 59, abs=0.03)


def test_saving_and_restoring():
    rng = np.random.default_rng(0)
    curriculum, other = (Curriculum(whole(50, 80), window=10, threshold=0.2, decay=0.5) for _ in range(2))
    played(curriculum, 0.7, rng)
    other.restore(curriculum.save())
    first, second = np.random.default_rng(1), np.random.default_rng(1)
    played(curriculum, 0.7, first)
    played(other, 0.7, second)
    assert curriculum.latest == other.latest
    np.testing.assert_array_equal(curriculum.success[0], other.success[0])


def test_a_window_waits_for_enough_episodes_and_others_do_not():
    curriculum = Curriculum(whole(40, 40), window=8, threshold=0.2)
    won = [Episode(0, start, True, 5, 1.0, 1.0) for start in range(32, 40)]
    curriculum.count([*won, Episode(1, 39, True, 5, 1.0, 1.0)])
    assert not curriculum.move(episodes=8, now=0), "nobody could have been through the last step"
    assert curriculum.move(episodes=8, now=1)
    assert curriculum.latest[0] < 39
    assert curriculum.latest[1] == 39
    assert not curriculum.move(episodes=8, now=100), "counted anew after each move"
    again = Curriculum(whole(40, 40), window=8, threshold=0.2)
    again.restore(curriculum.save())
    again.count(won[:7])
    assert not again.move(episodes=8, now=200)
    again.count(won[:1])
    wait = 40 - again.latest[0]
    assert not again.move(episodes=8, now=1 + wait - 1)
    assert again.move(episodes=8, now=1 + wait)


def test_legs_have_windows_of_their_own_that_stop_at_their_beginnings():
    rng = np.random.default_rng(0)
    curriculum = Curriculum([Leg(0, 0, 60), Leg(0, 60, 100), Leg(1, 0, 30)], window=10, threshold=0.2, decay=0.5)
    assert curriculum.latest == [59, 99, 29]
    for _ in range(20):
        played(curriculum, 1.0, rng)
    assert curriculum.latest == [0, 60, 0]
    assert all(curriculum.at_start(index) for index in range(3))
    assert curriculum.way_to_start == 1.0
    assert {curriculum.draw(1, rng) for _ in range(50)} == {60}
    later = [curriculum.draw(1, rng, later=1.0) for _ in range(500)]
    assert min(later) == 60
    assert max(later) == 99


def test_legs_that_fail_are_practised_more_often():
    rng = np.random.default_rng(0)
    for least_practice in (0.2, 1.0):
        legs = [Leg(0, 0, 8), Leg(0, 8, 16)]
        curriculum = Curriculum(legs, window=8, threshold=0.2, least_practice=least_practice)
        for leg, matched in ((0, True), (1, False)):
            starts = range(legs[leg].begin, legs[leg].end)
            curriculum.count(Episode(leg, start, matched, 5, 0.0, 0.0) for start in starts)
        curriculum.move()
        drawn = [curriculum.draw_leg(rng) for _ in range(2000)]
        assert np.mean(drawn) == pytest.approx(1.0 / (1.0 + least_practice), abs=0.04)


def test_windows_that_begin_at_the_starts_retreat_where_the_way_is_not_known():
    rng = np.random.default_rng(0)
    curriculum = Curriculum([Leg(0, 0, 60), Leg(0, 60, 100)], window=10, threshold=0.2, decay=0.5, most_move=10)
    curriculum.begin_at_starts()
    assert curriculum.latest == [0, 60]
    for _ in range(30):
        for leg, knows_from in ((0, 0), (1, 85)):
            starts = [curriculum.draw(leg, rng) for _ in range(100)]
            curriculum.count(Episode(leg, start, start >= knows_from, 10, 0.0, 0.0) for start in starts)
        curriculum.move()
    assert curriculum.latest[0] == 0
    assert 80 <= curriculum.latest[1] <= 95
