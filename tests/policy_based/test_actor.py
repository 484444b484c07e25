"""The state machine of an actor, with letters as cells."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from goexplore.errors import InputError
from goexplore.policy_based import POLICY, RANDOM, RETURNING, Actor, ActorRules, Path


class Letters:
    """An archive of paths; chooses in turn what it is told to."""

    def __init__(self, *paths: str, choices: str = "", beside: dict[str, str] | None = None) -> None:
        self.paths = {path[-1]: path for path in paths}
        self.choices = list(choices or paths[0][-1])
        self.beside = beside or {}

    def choose_return(self, rng):
        return self.choose(rng)

    def choose(self, rng):
        return self.choices.pop(0) if len(self.choices) > 1 else self.choices[0]

    def path_to(self, cell):
        return Path(self.paths[cell])

    def knows(self, cell):
        return any(cell in path for path in self.paths.values())

    def neighbours(self, cell):
        return list(self.beside.get(cell, ""))


def actor(atlas: Letters, seed: int = 0, **rules) -> Actor:
    return Actor(ActorRules(**rules), atlas, np.random.default_rng(seed))


def walk(made: Actor, cells: str) -> list:
    """Begins in the first cell and steps through the others."""
    return [made.begin(cells[0]), *(made.observe(cell) for cell in cells[1:])]


def test_a_return_pays_for_each_goal_and_more_for_the_last():
    steps = walk(actor(Letters("ABCD")), "AABCD")
    assert [each.reward for each in steps] == [0, 1, 1, 1, 3]
    assert [each.goal for each in steps[:4]] == ["A", "B", "C", "D"]
    assert [each.arrived for each in steps] == [False] * 4 + [True]
    assert all(each.trains for each in steps), "the step that arrives is learnt from as well"


def test_several_goals_met_at_once_pay_once():
    steps = walk(actor(Letters("ABCD")), "AC")
    assert steps[-1].reward == 1
    assert steps[-1].goal == "D"


def test_exploration_is_not_learnt_from_and_pays_nothing():
    made = actor(Letters("AB", beside={"B": "C"}), unknown_probability=1.0)
    steps = walk(made, "ABCBC")
    assert made.doing in (POLICY, RANDOM)
    assert [each.trains for each in steps] == [True, True, False, False, False]
    assert [each.reward for each in steps[2:]] == [0, 0, 0]
    credited = walk(actor(Letters("AB", beside={"B": "C"}), unknown_probability=1.0, credit_exploration=True), "ABC")
    assert credited[-1].reward == 3, "as in the authors' code"


def test_the_goal_after_a_switch_is_shown_at_once():
    """On arrival the exploration's goal, and after reaching that the next one."""
    made = actor(Letters("AB", choices="BQR"), policy_exploration=1.0)
    steps = walk(made, "AB")
    assert steps[-1].goal == "Q"
    assert made.observe("Q").goal == "R"


def test_a_path_that_comes_through_the_chosen_cell_twice_has_to_be_walked():
    """The chosen cell is where the points are, after a way back to where it began."""
    far = "ABCDEFGHIJKLMNOPA"
    strict = actor(Letters(far))
    assert not strict.begin("A").arrived
    assert [strict.observe(cell).arrived for cell in far] == [False] * 16 + [True]
    assert actor(Letters(far), arrival="cell").begin("A").arrived


def test_a_short_cut_counts_if_wanted():
    far = "ABCDEFGHIJKLMNOPQ"
    assert not walk(actor(Letters(far)), "AQ")[-1].arrived, "beyond the window"
    assert walk(actor(Letters(far), arrival="cell"), "AQ")[-1].arrived


def test_one_step_of_a_path_of_one_cell_is_an_arrival_where_one_begins_there():
    first = actor(Letters("A")).begin("A")
    assert first.arrived
    assert first.reward == 0


def test_temperature_rises_when_a_goal_is_overdue_and_falls_when_it_is_met():
    made = actor(Letters("AAAB"), entropy_factor=1.0, overdue_limit=3)
    made.begin("A")
    assert made.observe("A").temperature == 1.0
    temperatures = [made.observe("X").temperature for _ in range(6)]
    assert temperatures == [1, 1, 1, 2, 5, 10], "the trajectory took three steps from A to B"
    last = made.observe("X")
    assert last.gives_up
    assert last.trains
    made.begin("A")
    walked = [made.observe(cell) for cell in "AXXXXX"]
    assert walked[-1].temperature == 5
    assert made.observe("B").temperature == 1.0


def test_exploring_without_a_new_cell_gets_more_random_and_ends():
    made = actor(Letters("AB"), explore_threshold=2, entropy_factor=1.0, barren_limit=5)
    walk(made, "AB")
    assert [made.observe("A").temperature for _ in range(4)] == [1, 1, 2, 5]
    assert made.observe("Z").temperature == 1.0, "a new cell"
    ends = [made.observe(cell).gives_up for cell in "ZZAAAA"]
    assert ends == [False] * 5 + [True]
    limited = actor(Letters("AB"), explore_steps=2)
    walk(limited, "AB")
    assert [limited.observe(cell).gives_up for cell in "CD"] == [False, True]


def test_a_cell_is_new_once_whoever_found_it():
    made = actor(Letters("AB"), explore_threshold=0, entropy_factor=1.0)
    walk(made, "AB")
    assert [made.observe(cell).temperature for cell in "ZYZ"] == [1, 1, 2]


def test_explorations_act_at_random_or_by_the_policy_to_their_end():
    kinds = Counter()
    for seed in range(400):
        made = actor(Letters("AB"), seed)
        steps = walk(made, "ABCDE")[1:]
        assert len({each.random for each in steps}) == 1
        kinds[made.doing] += 1
    assert abs(kinds[RANDOM] - 200) < 50


@pytest.mark.parametrize(
    ("beside", "expected"),
    [
        ("CDA", {"unknown": 0.1 + 0.225 * 2 / 3, "A": 0.225 / 3, "B": 0.675}),
        ("AB", {"A": 0.125, "B": 0.875}),
        ("", {"B": 1}),
    ],
)
def test_goals_of_exploration_are_drawn_as_the_paper_says(beside, expected):
    goals = Counter()
    for seed in range(4000):
        goal = walk(actor(Letters("AB", beside={"B": beside}), seed, policy_exploration=1.0), "AB")[-1].goal
        goals["unknown" if goal in "CD" else goal] += 1
    assert set(goals) == set(expected)
    for name, share in expected.items():
        assert goals[name] / 4000 == pytest.approx(share, abs=0.03)


def test_another_goal_after_a_hundred_steps():
    made = actor(Letters("AB", choices="BQR"), explore_goal_steps=3, policy_exploration=1.0)
    walk(made, "AB")
    assert [made.observe("A").goal for _ in range(4)] == ["Q", "Q", "R", "R"]


def test_neighbours_are_those_of_where_one_is_or_of_the_goal_as_in_the_authors_code():
    def goal(**rules) -> str:
        atlas = Letters("AB", choices="BQ", beside={"B": "C", "X": "D", "Q": "E"})
        made = actor(atlas, unknown_probability=0.0, explore_goal_steps=1, policy_exploration=1.0, **rules)
        walk(made, "AB")
        made._rules = ActorRules(unknown_probability=1.0, explore_goal_steps=1, **rules)
        return made.observe("X").goal

    assert goal(neighbour_probability=0.0) == "D"
    assert goal(neighbour_probability=0.0, neighbours_of_goal=True) == "E"


def test_each_episode_begins_anew():
    made = actor(Letters("AB", "AC", choices="BQC"), explore_steps=1)
    walk(made, "ABX")
    assert made.returned
    assert made.begin("A").goal == "A"
    assert made.doing == RETURNING
    assert not made.returned
    assert made.chosen == "C"


def test_legs_of_a_return_are_told_as_they_end():
    made = actor(Letters("ABCDE"), overdue_limit=2)
    made.begin("A")
    told = []
    for cell in "ABDXXXX":
        made.observe(cell)
        told += made.legs
    assert told == [("A", "A", True), ("A", "B", True), ("B", "D", True), ("D", "E", False)]
    made.begin("A")
    made.observe("A")
    made.observe("X", over=True)
    assert made.legs == [("A", "B", False)]
    walk(made, "AE")
    assert made.legs == [("A", "E", True)], "several at once are one, to where one is"
    made.observe("Q", over=True)
    assert made.legs == [], "exploration has none"


@pytest.mark.parametrize(
    "wrong", [{"window": 0}, {"policy_exploration": 1.5}, {"arrival": "soon"}, {"overdue_limit": -1}]
)
def test_wrong_settings_are_one_sentence(wrong):
    with pytest.raises(InputError, match=f"{next(iter(wrong))} .*: expected"):
        ActorRules(**wrong)
