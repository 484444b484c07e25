"""The whole loop on a corridor: it learns to return, goes on as if never stopped, and says what is wrong."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from goexplore.envs import EnvSpec  # noqa: E402
from goexplore.errors import InputError  # noqa: E402
from goexplore.evaluation import evaluate  # noqa: E402
from goexplore.learn import ActorCritic, Categorical, Ranks  # noqa: E402
from goexplore.play import PlainView  # noqa: E402
from goexplore.policy_based import (  # noqa: E402
    END,
    PRESETS,
    Actor,
    PolicyTraining,
    ReliabilityRules,
    evaluate_returns,
    explore_with_policy,
    goal_cells,
    policy_preset,
    resume_with_policy,
)
from tests.policy_based.corridor import LENGTH, Places  # noqa: E402

CORRIDOR, PLACES = "tests.policy_based.corridor:Corridor", "tests.policy_based.corridor:Places"


def small(**changes):
    preset = policy_preset("laptop", CORRIDOR)
    return replace(
        preset,
        network=replace(preset.network, hidden=(32,)),
        # Nothing that falls towards the last step: some tests go on to a later one.
        ppo=replace(preset.ppo, steps=32, final_learning_rate=None, final_entropy_coefficient=None),
        **{"actors": 4, "imitators": 1, "episode_steps": 60, "view": PlainView(sticky=0.25)} | changes,
    )


def training(seed=0, **changes) -> PolicyTraining:
    return PolicyTraining(EnvSpec(CORRIDOR), PLACES, small(**changes), seed=seed, ranks=Ranks())


def test_it_finds_the_end_of_a_corridor_and_learns_to_return():
    made = training()
    for _ in range(60):
        last = made.iterate(done=0.0)
    assert len(made.atlas) == LENGTH, "every place, and the end of the game instead of the last"
    assert made.atlas.knows(END)
    assert made.atlas.archive.best().score == 5.0
    assert last.numbers["returned"] > 0.8
    assert sum(last.numbers[f"found_{doing}"] for doing in ("returning", "random", "policy")) == LENGTH - 1


@pytest.mark.parametrize(("arrives", "share"), [(True, 1.0), (False, 0.0)])
def test_returns_of_a_policy_that_is_known_beforehand(tmp_path, arrives, share):
    """Without noise: who always goes on reaches every place but the start, who always goes back none."""
    config = small(view=PlainView(), episode_steps=40)
    explore_with_policy(
        CORRIDOR, out=tmp_path / "run", steps=2_560, cells=PLACES, config=config, ranks=1, progress=False
    )
    with patch.object(ActorCritic, "_distribution", lambda self, outputs: _always(outputs, int(arrives))):
        tested = evaluate_returns(tmp_path / "run", to="at=3", episodes=10, trust=True)
        best = evaluate_returns(tmp_path / "run", episodes=10, trust=True)
    assert tested.arrived == share
    assert best.arrived == share
    if arrives:
        assert tested.mean_steps == 3


def test_a_lower_temperature_is_surer_of_itself(tmp_path):
    """Two choices with odds of e to 1, the better of which has to be taken three times in a row."""
    config = small(view=PlainView(), episode_steps=3)
    explore_with_policy(
        CORRIDOR, out=tmp_path / "run", steps=2_560, cells=PLACES, config=config, ranks=1, progress=False
    )
    with patch.object(ActorCritic, "_distribution", lambda self, outputs: _always(outputs, 1, others=-1.0)):
        shares = [
            evaluate_returns(tmp_path / "run", to="at=3", episodes=400, temperature=temperature, trust=True).arrived
            for temperature in (1.0, 0.5, 0.0)
        ]
    likely = [1 / (1 + np.exp(-1 / temperature)) for temperature in (1.0, 0.5)]
    np.testing.assert_allclose(shares, [likely[0] ** 3, likely[1] ** 3, 1.0], atol=0.09)
    assert shares[0] < shares[1] < shares[2]
    with pytest.raises(InputError, match="temperature -1: expected at least 0"):
        evaluate_returns(tmp_path / "run", temperature=-1, trust=True)
    with pytest.raises(InputError, match="temperature nan: expected at least 0, and finite"):
        evaluate_returns(tmp_path / "run", temperature=math.nan, trust=True)


def test_an_end_that_is_rewarded_late_is_a_return_to_it_and_one_for_nothing_is_not(tmp_path):
    fading = CORRIDOR.replace("Corridor", "Fading")
    explore_with_policy(
        fading, out=tmp_path / "run", steps=5_120, cells=PLACES, config=small(), ranks=1, progress=False
    )

    def tested(**logits):
        with patch.object(ActorCritic, "_distribution", lambda self, outputs: _always(outputs, **logits)):
            return evaluate_returns(tmp_path / "run", episodes=60, trust=True)

    hesitates = tested(action=1, others=-1.5)
    assert hesitates.archive_score > hesitates.score_at_arrival > 0
    assert hesitates.arrived_with_score is None, "the points of that end depend on when it comes"
    assert 0.5 < hesitates.arrived == round(float(np.mean(np.array(hesitates.scores) > 0)), 4) < 1
    assert tested(action=0).arrived == 0


def _always(outputs, action: int, others: float = -1e9) -> Categorical:
    logits = torch.full_like(outputs, others)
    logits[..., action] = 0.0
    return Categorical(logits)


def test_a_policy_is_told_its_place_and_its_goal():
    environments = training(tell_place=True)._environments
    assert environments.spaces.told == 2 * (LENGTH + 2)
    for _ in range(50):
        environments.begin(0, np.ones(5, np.int64))
        environments.finish(0)
        for row, player in zip(environments.observations, environments.players, strict=False):
            seen, place, goal = np.split(row, [LENGTH, LENGTH + LENGTH + 2])
            np.testing.assert_array_equal(seen, place[:LENGTH], "the corridor shows where one is")
            assert goal[goal_cells(PLACES).values_of(player.directive.goal)] == 1.0
            assert place.sum() == 2.0
            assert goal.sum() == 2.0


def test_what_is_imitated_was_seen_in_the_place_that_is_told():
    made = training(tell_place=True)
    for _ in range(5):
        made.iterate(done=0.0)
        row, lesson = made._environments.observations[-1], made._environments._imitators[0].lesson
        assert lesson is not None
        np.testing.assert_array_equal(row[:LENGTH], row[LENGTH : 2 * LENGTH])


def test_what_is_imitated_leads_to_what_is_seen_next():
    """Without noise an action tells where it leads, and returns are those of the steps still to come."""
    made, checked = training(view=PlainView()), 0
    for _ in range(5):
        made.iterate(done=0.0)
    environments, gamma = made._environments, small().ppo.gamma
    ahead = None
    for _ in range(300):
        at = int(np.argmax(environments.observations[-1][:LENGTH]))
        environments.begin(0, np.ones(5, np.int64))
        brought = environments.finish(0)
        action, value = int(brought.imitation.actions[-1]), float(brought.imitation.returns[-1])
        if ahead is not None:
            reward, whence = ahead
            assert reward - gamma * value == pytest.approx(0.0, abs=1e-4) or reward - gamma * value == pytest.approx(
                1.0
            )
            assert at == whence
        if brought.cuts[-1]:
            assert value in (3.0, 5.0), "arrived, perhaps at the coin, of which two points count"
            ahead = None
        else:
            ahead = value, max(0, at + (1 if action else -1))
            checked += 1
    assert checked > 100


@pytest.mark.parametrize("credited", [False, True])
def test_nothing_that_comes_after_an_arrival_counts_for_the_way_there(credited):
    """Unless that is wanted, as in the authors' code."""
    made = training(view=PlainView(), rules=replace(small().rules, credit_exploration=credited))
    for _ in range(10):
        made.iterate(done=0.0)
    seen: list[tuple[bool, bool]] = []
    observe = Actor.observe

    def noted(self, cell, *, over=False):
        directive = observe(self, cell, over=over)
        seen.append((cell == END, directive.arrived))
        return directive

    arrivals = 0
    with patch.object(Actor, "observe", noted):
        for _ in range(200):
            seen.clear()
            made._environments.begin(0, np.ones(5, np.int64))
            ends = made._environments.finish(0).ends[:4].tolist()
            assert ends == [over or (arrived and not credited) for over, arrived in seen]
            arrivals += sum(arrived and not over for over, arrived in seen)
    assert arrivals > 20


@pytest.mark.parametrize(
    "settings", [{}, {"tell_place": False, "milestone_share": 0.0, "reliability": ReliabilityRules()}]
)
def test_saved_and_restored_it_goes_on_as_if_nothing_had_been(settings):
    whole, stopped, resumed = training(**settings), training(**settings), training(seed=1, **settings)
    for _ in range(4):
        whole.iterate(done=0.0)
        stopped.iterate(done=0.0)
    resumed.restore(stopped.save())
    for _ in range(3):
        one, other = whole.iterate(done=0.0), resumed.iterate(done=0.0)
        assert one.numbers == other.numbers
    assert whole.atlas.archive.digest() == resumed.atlas.archive.digest()
    saved, again = whole.save(), resumed.save()
    assert saved.keys() == again.keys()
    for name, value in saved.items():
        np.testing.assert_array_equal(value, again[name], err_msg=name)


def test_a_run_of_two_ranks_can_be_stopped_and_gone_on_with(tmp_path):
    settings = {"cells": PLACES, "config": small(), "ranks": 2, "progress": False}
    whole = explore_with_policy(CORRIDOR, out=tmp_path / "whole", steps=1_280, **settings)
    explore_with_policy(CORRIDOR, out=tmp_path / "run", steps=640, **settings)
    with pytest.raises(InputError, match="--trust"):
        resume_with_policy(tmp_path / "run", steps=1_280, progress=False)
    with pytest.raises(InputError, match="code that testing would run"):
        evaluate_returns(tmp_path / "run")
    resumed = resume_with_policy(tmp_path / "run", steps=1_280, trust=True, progress=False)
    assert resumed.steps == whole.steps
    last = [json.loads((tmp_path / name / "metrics.jsonl").read_text().splitlines()[-1]) for name in ("whole", "run")]
    for line in last:
        for name in ("seconds", "steps_per_second"):
            del line[name]
    assert last[0] == last[1]
    for to, score in (("best", whole.best_score), ("uniform", None), ("at=1", 0.0)):
        tested = evaluate_returns(tmp_path / "run", to=to, episodes=20, trust=True)
        assert tested.episodes == 20
        assert tested.arrived_with_score is None
        assert (tested.scored is None) == (to in ("uniform", "at=1"))
        assert tested.archive_score == score
    with pytest.raises(InputError, match="has to be told where to go"):
        evaluate(tmp_path / "run", episodes=1, trust=True)
    for wrong in ("at", "beside=1", "at=many"):
        with pytest.raises(InputError, match=r"expected best, uniform, score=\.\.\., or some of at="):
            evaluate_returns(tmp_path / "run", to=wrong, trust=True)
    for wrong, message in (("score=many", "expected a number"), ("score=6", f"highest .* is {whole.best_score:g}")):
        with pytest.raises(InputError, match=message):
            evaluate_returns(tmp_path / "run", to=wrong, trust=True)
    with pytest.raises(InputError, match="no cell with at=77"):
        evaluate_returns(tmp_path / "run", to="at=77", trust=True)
    with pytest.raises(InputError, match="episodes begin with 0 points, so that there is nowhere to go; train until"):
        evaluate_returns(tmp_path / "run", to="score=0", trust=True)


def test_a_return_to_points_goes_on_behind_the_place_that_pays_them(tmp_path):
    """Whoever is in that place may have been there before without them."""
    toll = CORRIDOR.replace("Corridor", "Toll")
    explore_with_policy(toll, out=tmp_path / "run", steps=2_560, cells=PLACES, config=small(), ranks=1, progress=False)
    with patch.object(ActorCritic, "_distribution", lambda self, outputs: _always(outputs, 1)):
        tested = evaluate_returns(tmp_path / "run", to="score=2", episodes=10, trust=True)
    assert tested.cell == {"at": 4}
    assert tested.arrived == tested.arrived_with_score == tested.scored == 1.0
    assert tested.score_at_arrival == 2.0


class TooMany(Places):
    attributes = {f"a{number}": 2 for number in range(17)}  # noqa: RUF012


def test_more_attributes_than_a_key_holds_are_one_sentence():
    with pytest.raises(InputError, match="expected 1 to 16, each with 1 to 65536 values"):
        goal_cells(TooMany())


def test_a_time_limit_is_a_cut_in_the_cell_where_it_comes():
    """Neither an end of the game nor its cell; and neither is giving up."""
    for limit in ({"view": PlainView(max_steps=7)}, {"episode_steps": 7}):
        environments = training(rules=replace(small().rules, policy_exploration=1.0), **limit)._environments
        for steps in range(1, 71):
            environments.begin(0, np.zeros(5, np.int64))  # back into the wall, all the time
            brought = environments.finish(0)
            assert brought.cuts[:4].all() == (steps % 7 == 0)
            np.testing.assert_array_equal(environments.first[:4], brought.cuts[:4])
        keys = {key for player in environments.players for each in player.stretches for key in each.keys}
        assert keys == {goal_cells(PLACES).key_of((0,))}


def test_cells_that_a_policy_cannot_be_told_are_refused(tmp_path):
    with pytest.raises(InputError, match="can only be told cells with attributes"):
        explore_with_policy(CORRIDOR, cells="observation:0.5", out=tmp_path / "run", progress=False)
    with pytest.raises(InputError, match="no default goals for"):
        explore_with_policy(CORRIDOR, out=tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists()


def test_the_paper_s_numbers():
    """Extended Data Table 1a, the column of policy-based Go-Explore; Methods."""
    paper = PRESETS["paper"]
    assert (paper.actors, paper.imitators) == (240, 16)
    ppo = paper.ppo
    assert (ppo.steps, ppo.epochs, ppo.gamma, ppo.gae_lambda, ppo.clip) == (128, 4, 0.99, 0.95, 0.1)
    assert (ppo.value_coefficient, ppo.entropy_coefficient, ppo.l2_coefficient) == (0.5, 1e-4, 1e-7)
    assert (ppo.imitation_coefficient, ppo.imitation_value_coefficient) == (0.1, 0.01)
    rules = paper.rules
    assert (rules.window, rules.goal_reward, rules.final_reward) == (10, 1, 3)
    assert (rules.entropy_factor, rules.entropy_power, rules.explore_threshold) == (0.01, 2, 50)
    assert (rules.overdue_limit, rules.barren_limit, rules.explore_goal_steps) == (1_000, 1_000, 100)
    assert (rules.unknown_probability, rules.neighbour_probability * 0.9) == (0.1, pytest.approx(0.225))
    assert paper.reward_limit == 2
