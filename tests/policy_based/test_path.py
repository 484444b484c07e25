"""Following a path: windows, cycles, skips and what they allow."""

from __future__ import annotations

import pytest

from goexplore.policy_based import Follower, Path, temperature


def path(text: str) -> Path:
    """`A3 B4` stays three steps in A and four in B."""
    return Path(cell for part in text.split() for cell in part[0] * int(part[1:] or 1))


def follower(text: str, window: int = 10, **settings) -> Follower:
    return Follower(path(text), window=window, **settings)


def test_stays_are_merged():
    found = Path("AABBBAC")
    assert found.cells == ["A", "B", "A", "C"]
    assert found.stays == [2, 3, 1, 1]


def test_goals_come_one_after_the_other():
    walk = follower("A B C")
    assert [(walk.goal, walk.meet(cell), walk.finished) for cell in "AABCC"] == [
        ("A", True, False),
        ("B", False, False),
        ("B", True, False),
        ("C", True, True),
        ("C", False, True),
    ]


def test_a_later_cell_within_the_window_meets_the_goal_and_one_beyond_it_does_not():
    walk = follower("A B C D E", window=3)
    assert not walk.meet("D")
    assert walk.goal == "A"
    assert walk.meet("C")
    assert walk.goal == "D"


def test_a_cell_that_comes_twice_counts_where_it_comes_last():
    walk = follower("A B A C")
    assert walk.meet("A")
    assert walk.goal == "C"


def test_an_earlier_cell_does_not_lead_back():
    walk = follower("A B C")
    assert walk.meet("B")
    assert not walk.meet("A")
    assert walk.goal == "C"


@pytest.mark.parametrize(("from_goal", "allowed"), [(False, 5), (True, 9)])
def test_a_skip_allows_what_the_trajectory_took_from_where_one_is(from_goal, allowed):
    """The authors' code adds what was skipped."""
    walk = follower("A3 B4 C5 B6 D7", from_goal=from_goal)
    assert walk.allowance == 0
    walk.meet("A")
    assert walk.allowance == 3
    walk.meet("C")
    assert walk.goal == "B"
    assert walk.allowance == allowed


@pytest.mark.parametrize("from_goal", [False, True])
def test_in_a_cycle_the_allowance_is_that_of_all_of_it(from_goal):
    walk = follower("A3 B4 C5 B6 D7", from_goal=from_goal)
    walk.meet("A")
    walk.meet("B")
    assert walk.goal == "D"
    assert walk.allowance == 4 + 5 + 6


def test_temperature_rises_with_the_square_of_what_is_overdue():
    assert [temperature(overdue, factor=0.01, power=2) for overdue in (-5, 0, 100, 1000)] == [1, 1, 2, 101]
