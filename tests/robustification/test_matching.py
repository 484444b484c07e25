"""What counts as matching a demonstration: where points are lost, and leg by leg."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from goexplore.demos import Demonstration  # noqa: E402
from goexplore.envs import EnvSpec  # noqa: E402
from goexplore.play import PlainView, Play, make_play  # noqa: E402
from goexplore.robustification import Actor, BackwardConfig, Balance, RewardScale, Route  # noqa: E402
from goexplore.robustification._environments import make_curriculum  # noqa: E402
from tests.robustification.actors import actor  # noqa: E402


def losing_actor(coefficient=0.0):
    """A demonstration of twelve steps that loses a point at the sixth."""
    env = EnvSpec("tests.robustification.actors:Scores", {"reward": -1.0})
    demonstration = Demonstration(env, np.zeros(12, np.uint8), -np.eye(12)[5], False, "", 1)
    play = make_play(env, PlainView(), np.random.default_rng(0))
    config = BackwardConfig(window_frames=1, virtual=False, extra_frames_coefficient=coefficient, allowed_lag_frames=2)
    made, curriculum, route = actor(config, route=Route(demonstration, play), play=play)
    curriculum.latest[0] = 0
    made.begin()
    return made, route


def test_losses_to_come_are_no_lag_and_no_early_match():
    """Standing at 0 is not a success before the demonstration's time is over; doing as it does is one then."""
    made, route = losing_actor()
    for _ in range(11):
        _, end, cut = made.step(0)
        assert not end
        assert not cut
    assert not made.over
    assert route.threshold(5, 2) == -1.0
    steps = 11
    while not made.over:
        _, end, cut = made.step(0)
        steps += 1
        assert not end
        assert steps < 16
    assert cut
    assert made.over[0].matched


def test_dying_at_once_is_no_success_though_the_demonstration_loses_points():
    env = EnvSpec("tests.robustification.actors:Scores", {"reward": -1.0, "dies_after": 3})
    made, _ = losing_actor()
    made.play = make_play(env, PlainView(), np.random.default_rng(0))
    made.play.reset()
    while not made.over:
        _, end, _ = made.step(0)
        made.play = made.play if not end else losing_actor()[0].play
    assert not made.over[0].matched


class Descent(gym.Env):
    """A point lost at every step, five more at the bottom, ten paces down: action 1 goes two, action 2 none."""

    action_space = gym.spaces.Discrete(3)
    observation_space = gym.spaces.Box(0, 1000, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        self.at = 0
        return np.array([0.0], np.float32), {}

    def step(self, action):
        self.at += (1, 2, 0)[int(action)]
        over = self.at >= 10
        return np.array([float(self.at)], np.float32), -6.0 if over else -1.0, over, False, {}


@pytest.mark.parametrize(
    ("actions", "tolerance", "matched", "steps"),
    [
        ([0] * 10, 0.0, True, 10),
        ([1] * 5, 0.0, True, 5),  # sooner, with a better score
        ([2, *[0] * 10], 0.0, False, 11),  # later, and a point short
        ([2, *[0] * 10], 0.1, True, 11),
        ([2] * 40, 1.0, False, 13),  # never: standing still has lost less, but that is no descent
    ],
)
def test_where_the_worst_comes_last_an_episode_has_to_come_to_its_end(actions, tolerance, matched, steps):
    env = EnvSpec("tests.robustification.test_matching:Descent")
    demonstration = Demonstration(env, np.zeros(10, np.uint8), np.array([-1.0] * 9 + [-6.0]), True, "", 1)
    play = make_play(env, PlainView(), np.random.default_rng(0))
    config = BackwardConfig(
        window_frames=1, virtual=False, allowed_lag_frames=3, match_ends=True, score_tolerance=tolerance
    )
    made, curriculum, _ = actor(config, route=Route(demonstration, play), play=play)
    curriculum.latest[0] = 0
    made.begin()
    for action in actions:
        made.step(action)
        if made.over:
            break
    assert made.over[0].matched == matched
    assert made.over[0].steps == steps


@pytest.mark.parametrize("cuts", [False, True])
def test_lagging_is_no_way_out_of_points_to_be_lost(cuts):
    """An end would be worth 0, and going down costs five points more: whoever may end by standing still, will."""
    env = EnvSpec("tests.robustification.test_matching:Descent")
    demonstration = Demonstration(env, np.zeros(10, np.uint8), np.array([-1.0] * 9 + [-6.0]), True, "", 1)
    play = make_play(env, PlainView(), np.random.default_rng(0))
    config = BackwardConfig(window_frames=1, virtual=False, allowed_lag_frames=3, cut_where_points_fall=cuts)
    made, curriculum, _ = actor(config, route=Route(demonstration, play), play=play)
    curriculum.latest[0] = 0
    made.begin()
    while not made.over:
        _, end, cut = made.step(2)
    assert (end, cut) == (not cuts, cuts)
    assert not made.over[0].matched


class Coins(gym.Env):
    """A coin at every fifth step, however one steps."""

    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.Box(0, 1000, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        self.time = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.time += 1
        return np.array([self.time], np.float32), float(self.time % 5 == 0), False, False, {}


def coins() -> tuple[Play, Route]:
    env = EnvSpec("tests.robustification.test_matching:Coins")
    rewards = (np.arange(1, 21) % 5 == 0).astype(float)
    play = make_play(env, PlainView(), np.random.default_rng(0))
    return play, Route(Demonstration(env, np.zeros(20, np.uint8), rewards, False, "", 1), play)


def test_legs_end_with_rewards_that_count():
    _, route = coins()
    assert route.legs(6) == [(0, 10), (10, 20)]
    assert route.legs(5) == [(0, 5), (5, 10), (10, 15), (15, 20)]
    assert route.legs(None) == [(0, 20)]
    assert route.legs(12) == [(0, 15), (15, 20)], "the rest is the last"
    assert route.legs(5, tolerance=0.3) == [(0, 20)], "a coin may be missing"


def test_an_episode_goes_on_into_a_leg_that_is_begun_in_at_its_start():
    """Each leg is an episode of its own for the curriculum; until the next is learnt so far, it is cut."""
    play, route = coins()
    config = BackwardConfig(window_frames=1, virtual=False, leg_frames=6, match_ends=True, extra_frames_coefficient=0.0)
    curriculum = make_curriculum([route], config, 1)
    made = Actor(play, [route], curriculum, Balance(0.0, 1), config, scale=RewardScale(), rng=np.random.default_rng(0))
    assert [(leg.begin, leg.end) for leg in curriculum.legs] == [(0, 10), (10, 20)]
    ends = []
    for second in (19, 10):
        curriculum.latest = [7, second]
        made.begin()
        made.over.clear()
        while len(made.over) < 400:
            before = len(made.over)
            reward, end, cut = made.step(0)
            if len(made.over) > before:
                over = made.over[-1]
                assert over.matched
                assert not (cut and reward)
                ends.append((second, over.leg, over.start, over.steps, end, cut))
        made.over.clear()
    # From 7 to the tenth step, and one more for the cut; into the second leg: exactly to the reward, and on.
    assert {each for each in ends if each[0] == 19} == {(19, 0, 7, 4, False, True), (19, 1, 19, 1, True, False)}
    assert {each for each in ends if each[0] == 10} == {
        (10, 0, 7, 4, False, True),
        (10, 0, 7, 3, False, False),
        (10, 1, 10, 10, True, False),
    }
