"""The archive as actors see it: counts, weights, paths, lessons, and ways on trial."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from goexplore.errors import InputError
from goexplore.learn import Spaces
from goexplore.policy_based import (
    END,
    ActorRules,
    ArchiveAtlas,
    Leg,
    ReliabilityRules,
    Return,
    Sights,
    Stretch,
    draw_lesson,
    followed,
)
from goexplore.policy_based._returns import _wanted_cell
from tests.policy_based.corridor import Places

SPACES = Spaces(observation_shape=(3,), observation_dtype="float32", choices=4)
CELLS = Places()


def key(at: int) -> bytes:
    return CELLS.key_of((at,))


def atlas(**settings) -> ArchiveAtlas:
    return ArchiveAtlas(key(0), CELLS, SPACES, reliability=ReliabilityRules(), **settings)


def stretch(places: list[int], *, episode=0, begins=True, over=True, score=0.0, doing="random", actor=0) -> Stretch:
    count = len(places)
    return Stretch(
        actor,
        episode,
        key(0),
        begins,
        over,
        keys=[END if at < 0 else key(at) for at in places],
        scores=[score] * count,
        rewards=[0.0] * count,
        actions=list(range(count)),
        doing=[doing] * count,
    )


def test_the_weight_of_a_cell_after_many_steps_in_it():
    made = atlas()
    made.learn([[stretch([1] * 302 + [2] * 2)]], iteration=1)
    assert made.archive.table["steps"].tolist() == [0, 302, 2]
    weights = np.diff([0.0, *made._cumulative])
    np.testing.assert_allclose(weights, [1.0, 1 / 152, 1 / 2])
    rng = np.random.default_rng(0)
    drawn = Counter(made.choose(rng) for _ in range(4000))
    assert drawn[key(2)] / drawn[key(0)] == pytest.approx(0.5, abs=0.06)


def scored(places: list[int], scores: list[float], **settings) -> Stretch:
    taken = stretch(places, **settings)
    taken.scores, taken.rewards = scores, np.diff(scores, prepend=0.0).tolist()
    return taken


def test_a_share_of_returns_goes_to_the_cells_where_the_score_rose():
    """Points are scored when cell 3 is entered, and in cell 5: who comes to 4 or 6 has them, and to the end too."""
    plain, made = atlas(), atlas(milestone_share=0.6)
    for each in (plain, made):
        each.learn([[scored([1, 2, 3, 4, 5, 5, 6, 6, -1], [0, 0, 2, 2, 2, 5, 5, 5, 7])]], iteration=1)
    needs = {at: made.milestones.needs_its_score(made.archive.row_of(key(at))) for at in range(1, 7)}
    assert needs == {1: True, 2: True, 3: False, 4: True, 5: False, 6: True}
    shares = dict(zip(made.archive.keys, made.weights, strict=True))
    weights = dict(zip(made.archive.keys, plain.weights / plain.weights.sum() * 0.4, strict=True))
    milestones = (key(4), key(6), END)
    for cell, share in shares.items():
        assert share == pytest.approx(weights[cell] + 0.2 * (cell in milestones))
    made.learn([[scored([-1], [9.0], episode=1)]], iteration=2)
    assert made.milestones.among(made.weights > 0) == [made.archive.row_of(END)], "sooner, and more"


def test_whoever_was_in_a_cell_before_its_points_may_return_to_it_without_them():
    """Points are scored at 3; back in 2, and at the start, one may be without them, and only 4 needs them."""
    made = atlas(milestone_share=0.5)
    made.learn([[scored([1, 2, 3, 2, 0, 4], [0, 0, 5, 5, 5, 5])]], iteration=1)
    assert [made.milestones.needs_its_score(made.archive.row_of(key(at))) for at in (0, 1, 2, 3, 4)] == [0, 1, 0, 0, 1]
    assert made.milestones.among(made.weights > 0) == [made.archive.row_of(key(4))]


def test_exploration_is_not_drawn_to_milestones():
    made = atlas(milestone_share=1.0)
    made.learn([[scored([1, 2, 3], [0, 5, 5])]], iteration=1)
    rng = np.random.default_rng(0)
    assert {made.choose_return(rng) for _ in range(50)} == {key(3)}
    assert {made.choose(rng) for _ in range(50)} == {key(0), key(1), key(2), key(3)}


def test_where_nothing_was_scored_there_are_no_milestones():
    made = atlas(milestone_share=0.6)
    made.learn([[scored([1, 2], [-1, -2])]], iteration=1)
    np.testing.assert_allclose(made.weights, atlas_weights(made))


def atlas_weights(made: ArchiveAtlas) -> np.ndarray:
    return 1 / (0.5 * made.archive.table["steps"] + 1)


def test_an_episode_that_goes_on_keeps_its_path():
    made = atlas()
    made.learn([[stretch([1, 1, 2], over=False)]], iteration=1)
    made.learn([[stretch([3], begins=False)]], iteration=2)
    path = made.path_to(key(3))
    assert path.cells == [key(1), key(2), key(3)]
    assert path.stays == [2, 1, 1]
    row = made.archive.row_of(key(3))
    assert made.archive.table["length"][row] == 4


def test_a_shorter_way_or_a_higher_score_replaces_a_path():
    made = atlas()
    made.learn([[stretch([1, 2, 3])]], iteration=1)
    made.learn([[stretch([2, 3], episode=1)]], iteration=2)
    assert made.path_to(key(3)).cells == [key(2), key(3)]
    made.learn([[stretch([1, 2, 1, 3], episode=2, score=5.0)]], iteration=3)
    assert made.path_to(key(3)).cells == [key(1), key(2), key(1), key(3)]


def test_attempts_to_return_may_count_like_steps():
    """Else a cell that was entered once, and never again, is chosen ever more often."""
    for attempt_steps, weight in ((0.0, 1 / 1.5), (50.0, 1 / (1 + 0.5 * (1 + 3 * 50)))):
        made = atlas(attempt_steps=attempt_steps)
        tried = stretch([1, 2, 2])
        tried.returns = [Return(key(1), arrived) for arrived in (False, False, True)]
        made.learn([[tried]], iteration=1)
        np.testing.assert_allclose(made.weights, [1.0, weight, 1 / 2])


def test_how_cells_were_found_is_counted_once():
    made = atlas()
    found = made.learn([[stretch([1, 2], doing="policy")], [stretch([2, 3, 1], doing="random")]], iteration=1)
    assert found == {"policy": 2, "random": 1}
    assert made.found_by == [0, 3, 3, 2]


def test_ends_are_a_cell_that_may_be_left_out_of_the_choice():
    rng = np.random.default_rng(0)
    for choose_ends in (True, False):
        made = atlas(choose_ends=choose_ends)
        made.learn([[stretch([1, -1], score=3.0)]], iteration=1)
        assert made.knows(END)
        assert made.neighbours(END) == []
        assert (END in {made.choose(rng) for _ in range(200)}) == choose_ends


def test_collecting_garbage_changes_no_path():
    made = atlas()
    made.learn([[stretch([1, 2, 3, 4], episode=0)], [stretch([5], episode=1, over=False)]], iteration=1)
    for episode in range(2, 400):
        made.learn([[stretch([1] * 200, episode=episode)]], iteration=episode)
    assert made.archive.forest.stored_actions < 399 * 200, "some of it was collected"
    made.learn([[], [stretch([6], begins=False, episode=1)]], iteration=400)
    assert made.path_to(key(4)).cells == [key(1), key(2), key(3), key(4)]
    assert made.path_to(key(6)).cells == [key(5), key(6)]


def test_saving_and_restoring_changes_nothing():
    made, other = atlas(), atlas()
    made.learn([[stretch([1, 2, 3], over=False)]], iteration=1)
    other.restore(made.save())
    for each in (made, other):
        each.learn([[stretch([4], begins=False)]], iteration=2)
    assert made.archive.digest() == other.archive.digest()
    assert other.path_to(key(4)).cells == [key(1), key(2), key(3), key(4)]
    assert other.found_by == made.found_by


def test_lessons_are_aligned():
    """What was seen, done and aimed at before each step stand side by side: here the action is the step's number."""
    made, sights, rules = atlas(), Sights(1 << 20), ActorRules()
    taken = stretch([1, 1, 2, 3], episode=7)
    taken.rewards = [0.0, 0.0, 2.0, 0.0]
    sights.add(7, np.arange(12, dtype=np.float32).reshape(4, 3), start=key(0))
    made.learn([[taken]], iteration=1)
    rng = np.random.default_rng(0)
    lesson = None
    while lesson is None or len(lesson.goals) < 4:
        lesson = draw_lesson(made, sights, rules, gamma=0.5, shape=(3,), dtype="float32", rng=rng)
    assert lesson.actions.tolist() == [0, 1, 2, 3]
    assert lesson.goals == [key(1), key(2), key(2), key(3)]
    assert lesson.places == [key(0), key(1), key(1), key(2)]
    np.testing.assert_array_equal(lesson.seen[:, 0], [0, 3, 6, 9])
    # Rewards: 1 for cell 1, nothing for staying, 1 and the game's 2 for cell 2, 3 for arriving.
    np.testing.assert_allclose(lesson.returns, [1 + (0 + (3 + 3 / 2) / 2) / 2, (3 + 3 / 2) / 2, 3 + 3 / 2, 3])


def test_following_a_path_with_a_cycle():
    goals, rewards = followed(list("ABAC"), ActorRules())
    assert goals == ["A", "C", "C", "C"]
    assert rewards.tolist() == [1, 0, 0, 3]


def test_a_lesson_ends_where_an_actor_would_have_arrived():
    assert followed(list("ABA"), ActorRules())[1].tolist() == [3]
    far = list("ABCDEFGHIJKLMNOPA")
    assert len(followed(far, ActorRules())[0]) == 17
    assert len(followed(far, ActorRules(arrival="cell"))[0]) == 1


def test_sights_are_forgotten_when_they_are_too_many_or_of_no_use():
    rng = np.random.default_rng(0)
    sights = Sights(3000)
    for episode in range(10):
        sights.add(episode, rng.integers(0, 256, (1000,), dtype=np.uint8), start=key(0))
    sights.keep_only(range(1, 10))
    assert sights.held_bytes <= 3000
    assert sights.local(np.array([-1, 0, 9])).tolist() == [False, False, True]
    assert 9 in sights
    assert 0 not in sights
    sights.add(0, np.zeros(5, np.uint8))
    assert 0 not in sights, "without its beginning an episode is of no use"
    sights.keep_only({9})
    assert 8 not in sights
    copy = Sights(3000)
    copy.restore(sights.save())
    np.testing.assert_array_equal(copy.get(9, 1000, (), "uint8"), sights.get(9, 1000, (), "uint8"))
    assert len(copy.get(9, 10, (), "uint8")) == 10
    assert copy.held_bytes == sights.held_bytes


def tried(made: ArchiveAtlas, legs: list[tuple[int, int]], met: bool, times: int = 30) -> None:
    """Returns that went over these legs, all of them with this outcome."""
    noted = stretch([1], episode=99)
    noted.legs = [Leg(key(start), key(goal), met) for start, goal in legs] * times
    made.learn([[noted]], iteration=9)


def counting() -> ArchiveAtlas:
    return ArchiveAtlas(key(0), CELLS, SPACES, reliability=ReliabilityRules(counts=True))


def test_of_two_ways_of_one_length_the_reliable_one_is_kept():
    """Also by an episode that then stays in the cell: longer ways to it are not looked at again."""
    made = counting()
    made.learn([[stretch([4, 5, 3]), stretch([1, 2], episode=2)]], iteration=1)
    tried(made, [(0, 4), (4, 5), (5, 3)], met=False)
    tried(made, [(0, 1), (1, 2), (2, 3)], met=True)
    made.learn([[stretch([1, 2, 3, 3, 3], episode=1)]], iteration=2)
    assert made.path_to(key(3)).cells == [key(1), key(2), key(3)]


def test_episodes_may_begin_in_different_cells():
    made = atlas()
    other = stretch([6, 7], episode=1)
    other.start, other.legs = key(5), [Leg(key(5), key(6), True)]
    made.learn([[stretch([1])], [other]], iteration=1)
    assert made.archive.table["length"][made.archive.row_of(key(5))] == 0
    assert made.path_to(key(5)).cells == [key(5)]
    assert len(made.found_by) == len(made)


def test_a_way_does_not_become_a_longer_one_through_itself():
    """An episode goes on after its beginning has turned out to be unreliable."""
    made = counting()
    made.learn([[stretch([1, 2, 3, 5], over=False)]], iteration=1)
    tried(made, [(1, 2), (2, 3)], False)
    made.learn([[stretch([6, 3], begins=False)]], iteration=2)
    assert way(made) == [1, 2, 3]


def test_attributes_must_stay_what_they_were(monkeypatch):
    saved = atlas().save()
    monkeypatch.setattr(Places, "attributes", {"at": 13})
    with pytest.raises(InputError, match=r"have the attributes {'at': 13}; this run began with {'at': 12}"):
        atlas().restore(saved)


def test_neighbours_that_do_not_exist_are_one_sentence(monkeypatch):
    monkeypatch.setattr(Places, "neighbours", lambda self, values: [(99,)])
    with pytest.raises(InputError, match=r"neighbours of {'at': 0}: .* at = 99; expected"):
        atlas().neighbours(key(0))
    monkeypatch.setattr(Places, "neighbours", lambda self, values: 1 / 0)
    with pytest.raises(InputError, match="raised ZeroDivisionError"):
        atlas().neighbours(key(0))


LONG, SHORT = [1, 2, 2, 3], [4, 3]
LONG_LEGS, SHORT_LEGS = [(0, 1), (1, 2), (2, 3)], [(0, 4), (4, 3)]


def way(made: ArchiveAtlas) -> list[int]:
    return [CELLS.values_of(cell)[0] for cell in made.path_to(key(3)).cells]


def test_the_shortest_way_is_kept_however_rarely_it_works_unless_that_counts():
    made = atlas()
    made.learn([[stretch(LONG)]], iteration=1)
    made.learn([[stretch(SHORT, episode=1)]], iteration=2)
    tried(made, SHORT_LEGS, False)
    made.learn([[stretch(LONG, episode=2)]], iteration=3)
    assert way(made) == [4, 3]


@pytest.mark.parametrize("works", [True, False])
def test_a_shorter_way_has_to_be_about_as_reliable(works):
    made = counting()
    made.learn([[stretch(LONG)], [stretch([4], episode=1)]], iteration=1)
    tried(made, LONG_LEGS, True)
    tried(made, SHORT_LEGS, works)
    made.learn([[stretch(SHORT, episode=1)]], iteration=2)
    assert way(made) == ([4, 3] if works else [1, 2, 3])


@pytest.mark.parametrize("works", [True, False])
def test_a_longer_way_replaces_one_that_works_by_luck_only(works):
    made = counting()
    made.learn([[stretch(SHORT)], [stretch([1, 2], episode=1)]], iteration=1)
    tried(made, SHORT_LEGS, False)
    tried(made, LONG_LEGS, works)
    made.learn([[stretch(LONG, episode=2)]], iteration=2)
    assert way(made) == ([1, 2, 3] if works else [4, 3])
    assert made.archive.table["length"][made.archive.row_of(key(3))] == (4 if works else 2)


def test_a_reliable_way_is_not_given_up_for_a_longer_one():
    made = counting()
    made.learn([[stretch(SHORT)], [stretch([1, 2], episode=1)]], iteration=1)
    tried(made, SHORT_LEGS, True, 3)
    tried(made, LONG_LEGS, True)
    made.learn([[stretch(LONG, episode=2)]], iteration=2)
    assert way(made) == [4, 3]


def test_a_higher_score_counts_for_more_than_reliability():
    made = counting()
    made.learn([[stretch(LONG)], [stretch([4], episode=1)]], iteration=1)
    tried(made, LONG_LEGS, True)
    tried(made, SHORT_LEGS, False)
    made.learn([[stretch(SHORT, episode=1, score=1.0)]], iteration=2)
    assert way(made) == [4, 3]


def test_what_is_known_of_an_episode_under_way_is_kept():
    made, other = counting(), counting()
    for each in (made, other):
        each.learn([[stretch(LONG)], [stretch([4], episode=1)]], iteration=1)
        tried(each, LONG_LEGS, True)
        tried(each, SHORT_LEGS, False)
        each.learn([[stretch([4], episode=2, over=False)]], iteration=2)
    third = counting()
    third.restore(other.save())
    for each in (made, third):
        each.learn([[stretch([3], episode=2, begins=False)]], iteration=3)
        assert way(each) == [1, 2, 3]
    assert made.archive.digest() == third.archive.digest()


def test_returns_are_counted_for_each_cell():
    made = atlas()
    noted = stretch([1, 2])
    noted.returns = [Return(key(1), True), Return(key(1), False)]
    made.learn([[noted]], iteration=1)
    rates = made.reliability.rates(3)
    assert rates[1] == pytest.approx(0.98 / 1.98)
    assert np.isnan(rates[2])
    assert made.reliability.records(3) == pytest.approx([0.0, 0.98 / 3.98, 0.0])
    assert made.archive.table["chosen"].tolist() == [0, 2, 0]


def test_of_several_cells_the_one_returned_to_most_reliably_is_tested():
    """One success of one says less than nine of ten; where nothing is known the nearest is taken."""
    made = atlas()
    made.learn([[stretch([1, 2, 3, 4], score=5.0)]], iteration=1)

    def wanted(to):
        row, least = _wanted_cell(made, CELLS, to)
        return made.archive.keys[row], least

    assert wanted("best") == (key(1), 5.0)
    noted = stretch([1])
    noted.returns = [Return(key(2), True), *(Return(key(3), arrived) for arrived in [False] + [True] * 9)]
    made.learn([[noted]], iteration=2)
    assert wanted("best") == (key(3), 5.0)
    assert wanted("score=2") == (key(3), 2.0)
    assert wanted("at=2") == (key(2), None), "there is but one"
