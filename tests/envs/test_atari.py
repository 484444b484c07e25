from __future__ import annotations

import numpy as np
import pytest

from goexplore.envs import AtariEnv, EnvSpec, make_env
from goexplore.errors import InputError

pytestmark = pytest.mark.atari


def play(env: AtariEnv, actions) -> list[tuple[float, bool, bytes, bytes]]:
    trace = []
    for action in actions:
        observation, reward, terminated, truncated, _ = env.step(int(action))
        trace.append((reward, terminated or truncated, observation.tobytes(), env.ram.tobytes()))
    return trace


def random_actions(env: AtariEnv, count: int, seed: int = 0):
    return np.random.default_rng(seed).integers(0, int(env.action_space.high) + 1, count)


def test_a_step_is_four_frames_on_every_path():
    env = AtariEnv("breakout")
    for pool in (1, 2, 4):
        env = AtariEnv("breakout", pool_frames=pool)
        env.reset()
        before = env.episode_frames
        env.step(1)
        assert env.episode_frames - before == 4
        snapshot = env.snapshot()
        env.step(0)
        env.restore(snapshot)
        env.step(0)
        assert env.episode_frames - before == 8


def test_no_sticky_actions_whatever_the_id_says():
    env = make_env(EnvSpec("ALE/Breakout-v5"))
    actions = random_actions(env, 300)
    env.reset()
    first = play(env, actions)
    env.reset()
    assert play(env, actions) == first
    assert env._ale.getFloat("repeat_action_probability") == 0.0


def test_restore_returns_the_saved_observation_not_the_stale_screen():
    env = AtariEnv("montezuma_revenge")
    env.reset()
    play(env, random_actions(env, 60))
    seen, snapshot = env.observation.copy(), env.snapshot()
    play(env, random_actions(env, 60, seed=1))
    assert not np.array_equal(env.observation, seen)
    stale = np.zeros_like(seen)
    restored = env.restore(snapshot)
    env._ale.getScreenGrayscale(stale)
    assert not np.array_equal(stale, seen), "ALE's screen is fresh after a restore: the trap is gone, simplify"
    assert np.array_equal(restored, seen)
    with pytest.raises(InputError, match="stale"):
        env.render()


@pytest.mark.parametrize("game", ["montezuma_revenge", "pitfall", "freeway", "ms_pacman"])
def test_restoring_in_another_instance_continues_alike(game):
    env, other = AtariEnv(game), AtariEnv(game)
    env.reset()
    other.reset()
    play(env, random_actions(env, 100))
    snapshot, actions = env.snapshot(), random_actions(env, 200, seed=1)
    assert play(env, actions) == (other.restore(snapshot), play(other, actions))[1]


def test_the_frame_limit_is_counted_through_restores():
    env = AtariEnv("freeway", max_frames=400)
    env.reset()
    play(env, [0] * 60)
    snapshot = env.snapshot()
    for _ in range(3):
        env.restore(snapshot)
        steps, truncated = 0, False
        while not truncated:
            _, _, terminated, truncated, _ = env.step(0)
            assert not terminated
            steps += 1
        assert steps == 40


@pytest.mark.parametrize("game", ["solaris", "tennis", "venture", "qbert"])
def test_every_reset_is_the_reset_of_a_fresh_emulator(game):
    """ALE's `reset_game` alone does not see to that; if it did, this would pass with it."""
    fresh = AtariEnv(game)
    first, actions = fresh.reset().copy(), random_actions(fresh, 60)
    expected = play(fresh, actions)
    used = AtariEnv(game)
    for seed in range(4):
        assert np.array_equal(used.reset(), first)
        assert np.array_equal(used.render().shape, (210, 160, 3))
        assert play(used, actions) == expected
        play(used, random_actions(used, 40 + 7 * seed, seed=seed))


def test_end_on_life_loss_also_after_a_restore():
    env = AtariEnv("montezuma_revenge", end_on_life_loss=True)
    plain = AtariEnv("montezuma_revenge")
    env.reset()
    plain.reset()
    snapshot, actions = env.snapshot(), random_actions(env, 2000)
    lost_at = []
    for start in (lambda: None, lambda: env.restore(snapshot)):
        start()
        lost_at.append(next(step for step, action in enumerate(actions) if env.step(int(action))[2]))
        assert env.lives == 5
    assert lost_at[0] == lost_at[1]
    for action in actions[: lost_at[0] + 1]:
        assert not plain.step(int(action))[2]


def test_score_rollover_is_undone(monkeypatch):
    class Rolls:
        def __init__(self, ale):
            self._ale = ale

        def __getattr__(self, name):
            return getattr(self._ale, name)

        def act(self, action):
            self._ale.act(action)
            return -999_900

    for guard, expected in ((True, 100.0), (False, -999_900.0)):
        env = AtariEnv("montezuma_revenge", rollover_guard=guard)
        env.reset()
        env.emulator.ale = Rolls(env.emulator.ale)
        assert env.step(0)[1] == expected


def test_pooling_is_the_maximum_of_the_last_frames():
    actions = random_actions(AtariEnv("ms_pacman"), 80)
    single = AtariEnv("ms_pacman", frame_skip=1)
    single.reset()
    frames = [np.stack([play(single, [action]) and single.observation.copy() for _ in range(4)]) for action in actions]
    for pool in (2, 4):
        env = AtariEnv("ms_pacman", pool_frames=pool)
        env.reset()
        for action, four in zip(actions, frames, strict=True):
            env.step(int(action))
            assert np.array_equal(env.observation, four[-pool:].max(axis=0))


def test_action_sets_and_observations():
    assert int(AtariEnv("freeway").action_space.high) == 2
    assert int(AtariEnv("freeway", full_action_space=True).action_space.high) == 17
    assert AtariEnv("freeway", observation="rgb").reset().shape == (210, 160, 3)
    assert AtariEnv("freeway", observation="ram").reset().shape == (128,)


@pytest.mark.parametrize(
    "env_id", ["ALE/MontezumaRevenge-v5", "MontezumaRevengeNoFrameskip-v4", "MontezumaRevenge", "montezuma_revenge"]
)
def test_ids_people_bring_along(env_id):
    assert make_env(EnvSpec(env_id)).game == "montezuma_revenge"


@pytest.mark.parametrize(
    ("env_id", "kwargs", "message"),
    [
        ("ALE/Montezuma-v5", {}, "did you mean MontezumaRevenge"),
        ("ALE/Freeway-v5", {"frame_skip": 0}, "1 <= frame_skip"),
        ("ALE/Freeway-v5", {"pool_frames": 3}, "expected 1, 2 or 4"),
        ("ALE/Freeway-v5", {"sticky": 0.25}, "known settings: frame_skip"),
        ("ALE/Freeway-v5", {"observation": "lidar"}, "'gray', 'rgb', 'palette' or 'ram'"),
    ],
)
def test_bad_input_is_explained(env_id, kwargs, message):
    with pytest.raises(InputError, match=message):
        make_env(EnvSpec(env_id, kwargs))


def test_a_snapshot_of_another_game_is_refused():
    freeway, pong = AtariEnv("freeway", observation="ram"), AtariEnv("pong")
    freeway.reset()
    with pytest.raises(InputError, match="does not fit"):
        pong.restore(freeway.snapshot())
