"""The backward algorithm's episodes: exact starts, ends that end, and cuts that cut."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from goexplore.demos import Demonstration, digest_of  # noqa: E402
from goexplore.envs import AtariEnv, EnvSpec  # noqa: E402
from goexplore.errors import InputError  # noqa: E402
from goexplore.play import AtariView, PlainView, make_play  # noqa: E402
from goexplore.robustification import (  # noqa: E402
    VIRTUAL,
    BackwardConfig,
    Balance,
    Curriculum,
    Imitator,
    RewardScale,
    Route,
    reward_scale,
    whole,
)
from tests.robustification.actors import actor  # noqa: E402
from tests.robustification.chain import chain_demonstration, chain_play  # noqa: E402

VIEW = AtariView(width=32, height=32, gray=True)


def atari_demonstration(game="montezuma_revenge", steps=150, seed=3) -> Demonstration:
    env = AtariEnv(game)
    env.reset()
    rng = np.random.default_rng(seed)
    actions = env.action_space.sample_repeating(rng, steps, 0.9)
    rewards = [env.step(int(action))[1] for action in actions]
    return Demonstration(
        env=EnvSpec(f"ALE/{game}" if "/" in game else game),
        actions=actions,
        rewards=np.array(rewards, np.float64),
        ends_episode=False,
        state=digest_of(env.fingerprint()),
        frames_per_step=4,
        facts={"rom_md5": env.rom_md5},
    )


@pytest.mark.atari
@pytest.mark.parametrize("game", ["montezuma_revenge", "freeway"])
def test_from_every_step_the_rest_of_the_demonstration_does_what_it_did(game):
    """Restored in another emulator, without noise: same rewards, same memory, same observations."""
    demonstration = atari_demonstration(game)
    spec = demonstration.env
    play, other = (make_play(spec, VIEW, np.random.default_rng(seed)) for seed in range(2))
    route = Route(demonstration, play)
    play.reset()
    seen, states = [], []
    for action in route.actions:
        seen.append(play.observation.copy())
        states.append(play.fingerprint())
        play.replay(action)
    other.reset()
    for start in range(0, len(route), 7):
        route.put(other, start)
        for step in range(start, len(route)):
            if step < start + 6:
                np.testing.assert_array_equal(other.observation, seen[step])
                assert other.fingerprint() == states[step]
            reward, _ = other.replay(route.actions[step])
            assert reward == route.rewards[step]
        assert digest_of(other.fingerprint()) == demonstration.state


@pytest.mark.atari
def test_a_demonstration_of_another_game_is_refused():
    demonstration = atari_demonstration("freeway")
    play = make_play(EnvSpec("pong"), VIEW, np.random.default_rng(0))
    with pytest.raises(InputError, match="does not fit this environment"):
        Route(demonstration, play)


@pytest.mark.parametrize("lag", [0, 3, 10])
def test_doing_the_wrong_thing_ends_within_the_demonstration_and_the_lag(lag):
    """A failure that never ends fills the batch with hopeless states and hides among the successes."""
    config = BackwardConfig(
        allowed_lag_frames=lag, window_frames=50, virtual=False, extra_frames_coefficient=0.0, later_start_probability=1
    )
    made, _, route = actor(config)
    for _ in range(30):
        start, steps = made._start, 0
        while True:
            wrong = (route.actions[0] + 1) % 4
            _, end, cut = made.step(wrong if made.play.observation[0] else 0)
            steps += 1
            assert not cut
            if end:
                break
            assert steps <= len(route) - start + lag + 1
        assert not made.over[-1].matched
        assert made.over[-1].start == start


def test_following_the_demonstration_succeeds_from_everywhere():
    config = BackwardConfig(allowed_lag_frames=0, window_frames=50, virtual=False, extra_frames_coefficient=0.0)
    made, _, route = actor(config)
    ends = 0
    while len(made.over) < 40:
        at = int(np.argmax(made.play.observation))
        _, end, _ = made.step(route.actions[at])
        ends += end
    assert all(episode.matched for episode in made.over)
    assert all(episode.steps == len(route) - episode.start for episode in made.over)
    assert ends == 40, "the chain's own end comes first"


def test_a_match_goes_on_for_the_extra_frames_and_is_then_cut():
    """The demonstration stops short of any end, so that only the cut can end an episode."""
    env = EnvSpec("tests.robustification.actors:Scores")
    demonstration = Demonstration(env, np.zeros(20, np.uint8), np.eye(20)[5], False, "", 1)
    play = make_play(env, PlainView(), np.random.default_rng(0))
    config = BackwardConfig(window_frames=20, virtual=False, extra_frames_coefficient=2.0, allowed_lag_frames=5)
    made, _, _ = actor(config, route=Route(demonstration, play), play=play)
    lengths = []
    while len(made.over) < 300:
        reward, end, cut = made.step(0)
        assert not end
        assert not (cut and reward), "the reward of a cut step would be lost to learning"
    for episode in made.over:
        assert episode.matched
        lengths.append(episode.steps - max(1, 6 - episode.start))  # beyond the step that matches
    assert min(lengths) >= 1
    assert max(lengths) <= math.floor(math.exp(2.0)) + 1
    assert len(set(lengths)) > 3


def test_a_match_may_be_an_end_along_a_demonstration_and_from_reset():
    env = EnvSpec("tests.robustification.actors:Scores")
    demonstration = Demonstration(env, np.zeros(20, np.uint8), np.eye(20)[5], False, "", 1)
    play = make_play(env, PlainView(), np.random.default_rng(0))
    config = BackwardConfig(window_frames=20, allowed_lag_frames=5, match_ends=True)
    made, _, _ = actor(config, odds=1.0, route=Route(demonstration, play), play=play)
    rewarded = 0
    while len(made.over) < 200:
        before = len(made.over)
        reward, end, cut = made.step(0)
        assert not cut
        assert end == (len(made.over) > before)
        rewarded += bool(reward)
    assert {episode.leg for episode in made.over} == {VIRTUAL, 0}
    for episode in made.over:
        assert episode.steps == max(1, 6 - episode.start), "not a step after the match"
    assert rewarded == sum(episode.start <= 5 for episode in made.over)


@pytest.mark.parametrize("ends", [False, True])
def test_an_episode_from_reset_is_cut_or_ended_when_nothing_happens_for_long(ends):
    """Two rewards 40 steps apart: a wait as long as the demonstration's own is allowed, twice as long is not."""
    env = EnvSpec("tests.robustification.actors:Scores", {"at": 40})
    demonstration = Demonstration(env, np.zeros(60, np.uint8), np.eye(60)[40], False, "", 1)
    play = make_play(env, PlainView(), np.random.default_rng(0))
    config = BackwardConfig(allowed_lag_frames=5, virtual_cut_frames=10, stuck_ends=ends)
    made, _, _ = actor(config, odds=1e9, route=Route(demonstration, play), play=play)
    over = []
    while not made.over:
        _, end, cut = made.step(0)
        over.append((end, cut))
    assert over[-1] == (ends, not ends)
    assert not any(map(any, over[:-1]))
    assert made.over[0].steps == 41 + 41 + 5, "the longest wait is 41 steps, then the lag"


def test_success_counts_whatever_ends_the_episode():
    """Dying after the score was matched is still a success."""
    env = EnvSpec("tests.robustification.actors:Scores", {"dies_after": 9})
    demonstration = Demonstration(env, np.zeros(8, np.uint8), np.eye(8)[5], False, "", 1)
    play = make_play(env, PlainView(), np.random.default_rng(0))
    config = BackwardConfig(window_frames=8, virtual=False, extra_frames_coefficient=20.0, allowed_lag_frames=5)
    made, _, _ = actor(config, route=Route(demonstration, play), play=play)
    ended = 0
    while len(made.over) < 20:
        _, end, _ = made.step(0)
        ended += end
    assert ended > 15
    assert all(episode.matched for episode in made.over)


@pytest.mark.parametrize(("share", "at_start", "in_the_middle"), [(1.0, 200, 200), (0.5, 200, 200), (0.0, 30, None)])
def test_doing_nothing_may_last_longer_than_at_reset(share, at_start, in_the_middle):
    """So that what moves is met in all its phases, as it is after a lost life; at the start no less than elsewhere."""
    play = chain_play()
    waits: list[int] = []
    play.max_no_ops, play.do_nothing = 30, lambda frames: waits.append(frames) or (0.0, False)
    config = BackwardConfig(window_frames=1, virtual=False, mid_no_ops=share, mid_no_op_frames=200)
    made, curriculum, _ = actor(config, play=play)
    for start, most in ((40, in_the_middle), (0, at_start)):
        curriculum.latest[0] = start
        waits.clear()
        for _ in range(600):
            made.begin()
        if most is None:
            assert not waits
            continue
        assert most * 0.9 < max(waits) <= most
        assert min(waits) < 5
        assert len(waits) == 600 if start == 0 else abs(len(waits) - 600 * share) < 60
        if start == 0 and 0 < share < 1:
            assert np.mean(np.array(waits) <= 30) > 0.5  # as many as at reset, as often as before


@pytest.mark.atari
def test_a_demonstration_may_lose_lives_of_its_own():
    """Only a life that the demonstration does not lose is a failure."""
    env = AtariEnv("asterix")
    env.reset()
    rng = np.random.default_rng(0)
    actions, rewards = [], []
    while env.lives > 2:
        actions.append(int(rng.integers(9)))
        rewards.append(env.step(actions[-1])[1])
    for action in rng.integers(9, size=20):
        actions.append(int(action))
        rewards.append(env.step(actions[-1])[1])
    demonstration = Demonstration(
        EnvSpec("asterix"), np.array(actions, np.uint8), np.array(rewards), False, digest_of(env.fingerprint()), 4
    )
    play = make_play(demonstration.env, AtariView(width=8, height=8, gray=True, sticky=0.0), np.random.default_rng(0))
    route = Route(demonstration, play)
    config = BackwardConfig(window_frames=4, virtual=False, life_loss_fails=True, extra_frames_coefficient=0.0)
    made, curriculum, _ = actor(config, route=route, play=play)
    made._no_ops = lambda most=None: 0
    curriculum.latest[0] = 0
    made.begin()
    step = 0
    while not made.over:
        made.step(actions[min(step, len(actions) - 1)])
        step += 1
    assert made.over[0].matched
    assert made.over[0].start == 0


def test_large_rewards_need_not_drown_small_ones():
    assert [RewardScale(2.0)(reward) for reward in (100.0, -5.0, 0.0)] == [200.0, -10.0, 0.0]
    assert [RewardScale(2.0, 0.5)(reward) for reward in (100.0, -25.0, 0.0)] == [20.0, -10.0, 0.0]
    assert [RewardScale(2.0, 0.0)(reward) for reward in (100.0, -25.0, 0.0)] == [2.0, -2.0, 0.0]


def test_the_reward_scale_of_the_paper():
    """100 points after 90 steps with gamma 0.999: mu_V = 95.7, m = 0.1045 for C = 10."""
    play = make_play(
        EnvSpec("tests.robustification.actors:Scores", {"at": 89, "reward": 100.0}),
        PlainView(),
        np.random.default_rng(0),
    )
    demonstration = Demonstration(
        EnvSpec("tests.robustification.actors:Scores"),
        np.zeros(90, np.uint8),
        100.0 * np.eye(90)[89],
        False,
        "",
        1,
    )
    assert reward_scale([Route(demonstration, play)], 0.999, 10.0).factor == pytest.approx(0.1045, abs=1e-4)


def test_imitators_show_the_demonstration_and_what_it_achieves():
    play = chain_play()
    route = Route(chain_demonstration(), play)
    curriculum = Curriculum(whole(50), window=10, threshold=0.2)
    curriculum.latest[0] = 30
    config = BackwardConfig(imitation_frames=8, imitation_from_start=0.3)
    made = Imitator(play, [route], [route.returns(0.9, RewardScale(2.0))], curriculum, config, np.random.default_rng(0))
    from_start = steps = 0
    began_at_start = made._step == 0
    for _ in range(6000):
        at = int(np.argmax(made.observation))
        assert made.action == route.actions[at]
        assert made.achieved == pytest.approx(2.0 * 0.9 ** (49 - at), rel=1e-5)
        steps += 1
        from_start += began_at_start
        if made.step():
            began_at_start = made._step == 0
            assert made.first
    assert from_start / steps == pytest.approx(0.3, abs=0.06)


def test_imitated_steps_may_be_drawn_one_by_one():
    play = chain_play()
    route = Route(chain_demonstration(), play)
    curriculum = Curriculum(whole(50), window=10, threshold=0.2)
    curriculum.latest[0] = 30
    config = BackwardConfig(imitation_frames=8, imitation_from_start=0.3, imitate_shuffled=True)
    made = Imitator(play, [route], [route.returns(0.9, RewardScale(2.0))], curriculum, config, np.random.default_rng(0))
    drawn = []
    for _ in range(4000):
        at = int(np.argmax(made.observation))
        assert made.action == route.actions[at]
        drawn.append(at)
        assert made.step()
    early = np.mean(np.array(drawn) < 13)
    assert early == pytest.approx(0.3 * 13 / 38, abs=0.03)
    assert max(drawn) == 37


@pytest.mark.parametrize("odds", [0.1, 1.0])
def test_time_at_reset_is_balanced_by_length_from_the_first_step_on(odds):
    """Twenty-four actors; episodes from reset are twenty times as long as others."""
    rng = np.random.default_rng(0)
    balance = Balance(odds, actors=24)
    left, virtual = np.zeros(24, int), np.zeros(24, bool)
    shares = []
    for _ in range(6000):
        for actor_number in np.flatnonzero(left == 0):
            balance.running -= int(virtual[actor_number])
            virtual[actor_number] = balance.wants_virtual
            balance.running += int(virtual[actor_number])
            left[actor_number] = 400 if virtual[actor_number] else int(rng.integers(10, 30))
        for each in virtual:
            balance.count(virtual=bool(each))
        left -= 1
        shares.append(virtual.mean())
    wanted = odds / (1 + odds)
    assert max(shares) <= wanted + 1 / 24
    assert np.mean(shares[1000:]) == pytest.approx(wanted, rel=0.15)


def test_demonstrations_with_numbers_for_actions():
    """Their actions are taken as recorded, not through the squashing that policies go through."""
    import gymnasium

    from goexplore.envs import make_env

    spec = EnvSpec("Pendulum-v1")
    env = make_env(spec)
    env.reset()
    actions = env.action_space.sample(np.random.default_rng(0), 20)
    rewards = np.array([env.step(env.action_space.to_env(row))[1] for row in actions])
    demonstration = Demonstration(spec, actions, rewards, False, digest_of(env.fingerprint()), 1)
    route = Route(demonstration, make_play(spec, PlainView(), np.random.default_rng(0)))
    assert np.shape(route.actions[0]) == (1,)
    assert gymnasium.make("Pendulum-v1").action_space.shape == (1,)
