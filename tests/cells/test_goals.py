"""Cells that a policy can be told."""

from __future__ import annotations

import numpy as np
import pytest

from goexplore.cells import GoalCells, MontezumaCells, MontezumaGoals, PitfallGoals, cell_key, make_cells
from goexplore.envs import AtariEnv
from goexplore.errors import InputError


class Maze(GoalCells):
    attributes = {"x": 4, "y": 3, "keys": 2}  # noqa: RUF012
    clamped = ("keys",)

    def values(self, observation, env):
        return observation

    def neighbours(self, values):
        return self.grid_neighbours(values, "x", "y")


def test_a_key_says_what_the_values_were():
    cells = Maze()
    key = cell_key(cells, (3, 0, 1), None)
    assert cells.values_of(key) == (3, 0, 1)
    assert cells.describe(key) == {"x": 3, "y": 0, "keys": 1}
    assert cells.goal_size == 9
    np.testing.assert_array_equal(cells.one_hot(key), [0, 0, 0, 1, 1, 0, 0, 0, 1])


def test_more_than_the_largest_looks_like_the_largest_and_is_another_cell():
    cells = Maze()
    two, five = cells.key_of((0, 0, 2)), cells.key_of((0, 0, 5))
    assert two != five
    np.testing.assert_array_equal(cells.one_hot(two), cells.one_hot(five))
    np.testing.assert_array_equal(cells.one_hot(two), cells.one_hot(cells.key_of((0, 0, 1))))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ((4, 0, 0), r"x = 4; expected a whole number from 0 to 3, as attributes\['x'\] = 4 says"),
        ((0, -1, 0), "y = -1; expected a whole number from 0 to 2"),
        ((0, 1.5, 0), "y = 1.5; expected a whole number"),
        ((0, 1), r"2 values \(0, 1\) for 3 attributes \(x, y, keys\); expected one for each, always"),
        ((0, 1, 0, 0), "4 values"),
    ],
)
def test_values_that_do_not_fit_are_one_sentence(values, sentence):
    with pytest.raises(InputError, match=sentence):
        cell_key(Maze(), values, None)


def test_neighbours_on_a_grid_end_at_its_edges():
    assert set(Maze().neighbours((0, 1, 1))) == {(1, 1, 1), (0, 0, 1), (0, 2, 1)}


def test_over_the_edge_of_a_room_of_the_pyramid_lies_the_next():
    cells = MontezumaGoals()
    assert cells.goal_size == 3 + 4 + 24 + 9 + 9
    assert set(cells.neighbours((0, 1, 1, 8, 4))) == {
        (0, 1, 2, 0, 4),
        (0, 1, 1, 7, 4),
        (0, 1, 1, 8, 5),
        (0, 1, 1, 8, 3),
    }
    below = (0, 0, 5, 4, 0)  # room 5 is in the middle of the second row
    assert below in set(cells.neighbours((0, 0, 1, 4, 8)))
    assert len(list(cells.neighbours((0, 0, 0, 0, 0)))) == 2, "the pyramid ends here to the left and above"


def test_pitfalls_rooms_stand_in_a_ring():
    cells = PitfallGoals()
    assert cells.goal_size == 255 + 9 + 9
    assert set(cells.neighbours((0, 0, 0))) == {(254, 8, 0), (0, 1, 0), (0, 0, 1)}
    assert (0, 0, 5) in set(cells.neighbours((254, 8, 5)))


@pytest.mark.atari
def test_they_see_what_the_cells_of_the_search_see_and_travel_with_snapshots():
    env = AtariEnv("montezuma_revenge", observation="palette")
    goals, fine = make_cells("montezuma:goals"), MontezumaCells(18, 18)
    rng = np.random.default_rng(0)
    observation = env.reset()
    goals.reset()
    assert isinstance(goals, GoalCells)
    for action in env.action_space.sample_repeating(rng, 300, 0.9):
        goals.load(goals.save())
        told = goals.describe(goals.key(observation, env))
        level, room, x, y, *keys = fine.key(observation, env)
        assert told == {"level": level, "keys": len(keys), "room": room, "x": x, "y": y}
        observation = env.step(int(action))[0]
