"""Landmarks: how far an episode has come, where points do not tell."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from goexplore.cells import make_cells  # noqa: E402
from goexplore.demos import Demonstration  # noqa: E402
from goexplore.envs import EnvSpec  # noqa: E402
from goexplore.errors import InputError  # noqa: E402
from goexplore.play import PlainView, Play, make_play  # noqa: E402
from goexplore.robustification import (  # noqa: E402
    VIRTUAL,
    Actor,
    BackwardConfig,
    Balance,
    RewardScale,
    Route,
    reward_scale,
)
from goexplore.robustification._environments import make_curriculum  # noqa: E402
from goexplore.robustification._landmarks import Landmarks  # noqa: E402

WAIT, WALK, TAKE = 0, 1, 2
ROOMS = "tests.robustification.test_landmarks:Room"


class Corridor(gym.Env):
    """Rooms of four steps each; a point is lost at every step, until the end of the fifth room."""

    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.Box(0, 1000, (1,), np.float32)

    def __init__(self, cost: float = 1.0) -> None:
        self.cost, self.place = cost, 0

    def reset(self, *, seed=None, options=None):
        self.place = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.place += int(action)
        return np.array([self.place], np.float32), -self.cost, self.place >= 20, False, {}

    def get_state(self):
        return self.place

    def set_state(self, state):
        self.place = state


class Coin(Corridor):
    """The same without a cost, and with a coin of ten points in the second room that can be left lying."""

    action_space = gym.spaces.Discrete(3)

    def __init__(self) -> None:
        super().__init__(cost=0.0)
        self.taken = False

    def reset(self, *, seed=None, options=None):
        self.taken = False
        return super().reset()

    def step(self, action):
        found = action == TAKE and self.place == 5 and not self.taken
        self.taken |= found
        observation, _, over, _, _ = super().step(action == WALK)
        return observation, 10.0 * found, over, False, {}

    def get_state(self):
        return self.place, self.taken

    def set_state(self, state):
        self.place, self.taken = state


def Room(observation):  # noqa: N802 - named like a class of cells
    return int(observation[0]) // 4


def corridor(cost: float = 1.0) -> tuple[Play, Route]:
    env = EnvSpec("tests.robustification.test_landmarks:Corridor", {"cost": cost})
    play = make_play(env, PlainView(), np.random.default_rng(0))
    demonstration = Demonstration(env, np.ones(20, np.uint8), np.full(20, -cost), True, "", 1)
    return play, Route(demonstration, play, cells=make_cells(Room))


def follower(**settings) -> Actor:
    """An actor that begins at the start."""
    play, route = corridor()
    config = BackwardConfig(
        **{
            "window_frames": 1,
            "virtual": False,
            "leg_frames": 4,
            "landmarks": ROOMS,
            "allowed_lag_frames": 3,
            "score_tolerance": 0.2,
            "extra_frames_coefficient": 0.0,
        }
        | settings
    )
    curriculum = make_curriculum([route], config, 1)
    curriculum.latest = [leg.begin for leg in curriculum.legs[:1]] + [leg.end - 1 for leg in curriculum.legs[1:]]
    odds = 1e9 if config.virtual else 0.0
    scale = RewardScale(2.0, landmark=5.0)
    made = Actor(play, [route], curriculum, Balance(odds, 1), config, scale=scale, rng=np.random.default_rng(0))
    while made._start or (made._leg == VIRTUAL) != config.virtual:
        made.begin()
    made.over.clear()
    return made


def test_landmarks_are_first_entries_and_may_be_left_out():
    landmarks = Landmarks([b"a", b"a", b"b", b"a", b"c", b"b", b"d"])
    assert landmarks.steps.tolist() == [2, 4, 6], "b is left once, but the way leads through it"
    assert [landmarks.by(step) for step in (-1, 1, 2, 5, 6, 99)] == [0, 0, 1, 2, 3, 3]
    assert landmarks.behind(0, b"b") == 1
    assert landmarks.behind(1, b"b") == 1, "what is behind is not passed again"
    assert landmarks.behind(0, b"d") == 3
    assert landmarks.behind(2, b"a") == 2
    assert len(Landmarks([b""] * 5).steps) == 0


def test_detours_are_no_landmarks():
    landmarks = Landmarks([bytes([letter]) for letter in b"abxbcbyzbcd"])
    assert landmarks.steps.tolist() == [1, 4, 10], "b, c and d; neither x nor y and z, from where it comes back to b"
    assert landmarks.behind(1, b"x") == 1


def test_legs_end_at_landmarks_where_points_are_lost_all_the_way():
    _, route = corridor()
    assert route.legs(4) == [(0, 4), (4, 8), (8, 12), (12, 16), (16, 20)]
    assert route.legs(6) == [(0, 8), (8, 16), (16, 20)]
    assert route.longest_wait == 4


def test_a_leg_is_matched_at_its_landmark_and_every_landmark_pays():
    made = follower()
    learnt = [made.step(WALK)[0] for _ in range(4)]
    assert learnt == [-2.0, -2.0, -2.0, -2.0 + 10.0]
    assert not made.over
    assert made.step(WALK)[2], "a cut, after the extra step"
    assert made.over[0].matched
    assert made.over[0].leg == 0


def test_whoever_does_not_come_on_has_failed():
    made = follower()
    steps = 0
    while not made.over:
        _, end, _ = made.step(WALK if steps < 3 else WAIT)
        steps += 1
    assert end
    assert steps == 4 + 3, "the demonstration enters its second room after 4 steps, and the lag is 3"
    assert not made.over[0].matched


def test_an_episode_from_reset_that_comes_no_further_is_stuck_though_points_are_lost():
    made = follower(virtual=True, virtual_cut_frames=6, stuck_ends=True)
    rewards, cut = [], False
    for step in range(30):
        reward, end, cut = made.step(WALK if step < 4 else WAIT)
        rewards.append(reward)
        assert not end, "an end would spare it what it is about to lose"
        if cut:
            break
    assert cut
    assert len(rewards) == 4 + max(6, 3 + 4)
    assert max(rewards) == 8.0


def test_who_leaves_points_out_comes_to_no_more_landmarks():
    env = EnvSpec("tests.robustification.test_landmarks:Coin")
    play = make_play(env, PlainView(), np.random.default_rng(0))
    actions = np.array([WALK] * 5 + [TAKE] + [WALK] * 15, np.uint8)
    demonstration = Demonstration(env, actions, np.where(actions == TAKE, 10.0, 0.0), True, "", 1)
    route = Route(demonstration, play, cells=make_cells(Room))
    config = BackwardConfig(landmarks=ROOMS, virtual_odds=1e9)
    curriculum = make_curriculum([route], config, 1)
    scale = RewardScale(landmark=1.0)

    def learnt(actions) -> list[float]:
        made = Actor(play, [route], curriculum, Balance(1e9, 1), config, scale=scale, rng=np.random.default_rng(0))
        assert made._leg == VIRTUAL
        return [made.step(action)[0] for action in actions]

    taking, passing_by = learnt(actions[:14]), learnt([WALK] * 14)
    assert np.flatnonzero(taking).tolist() == [3, 5, 8, 12]
    assert np.flatnonzero(passing_by).tolist() == [3], "the second room comes before the coin"


def test_what_lies_ahead_includes_landmarks():
    _, route = corridor()
    scale = reward_scale([route], 1.0, None, landmark=3.0)
    assert route.returns(1.0, scale)[0] == pytest.approx(-20 + 5 * 3)
    assert route.returns(1.0, scale)[-1] == -1.0 + 3.0


def test_an_episode_is_saved_with_what_it_has_passed():
    made, other = follower(), follower()
    for _ in range(4):
        made.step(WALK)
    other.restore(*made.save())
    assert other.step(WALK) == made.step(WALK)
    assert [each.matched for each in other.over] == [True]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"landmarks": "dynamic"}, "stay as they are"),
        ({"landmarks": "rooms"}, "expected dynamic"),
        ({"landmark_reward": 1.0}, "expected landmarks"),
        ({"least_practice": 0.0}, "more than 0"),
    ],
)
def test_wrong_settings_are_refused(settings, sentence):
    with pytest.raises(InputError, match=sentence):
        BackwardConfig(**settings)
