from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from goexplore.envs import ActionSpace, EnvSpec, GymnasiumEnv, SnapshotKind, env_spec, make_env
from goexplore.errors import InputError
from goexplore.packing import pack
from tests.lying_envs import Honest


def futures_agree(env, other, *, before: int = 30, after: int = 60) -> bool:
    """Plays, saves, goes on; restores in another instance and goes on there."""
    rng = np.random.default_rng(0)
    env.reset()
    other.reset()
    for row in env.action_space.sample(rng, before):
        if any(env.step(env.action_space.to_env(row))[2:4]):
            env.reset()
    snapshot, actions = env.snapshot(), env.action_space.sample(rng, after)
    seen = pack(env.observation)

    def play(one):
        trace = []
        for row in actions:
            result = one.step(one.action_space.to_env(row))
            trace.append(pack(list(result[:4])))
            if result[2] or result[3]:
                break
        return trace

    first = play(env)
    assert pack(other.restore(snapshot)) == seen
    return play(other) == first


@pytest.mark.parametrize(
    ("env_id", "method", "kind"),
    [
        ("goexplore/KeyDoorMaze-v0", "native", SnapshotKind.PLAIN),
        ("goexplore/PointRooms-v0", "native", SnapshotKind.PLAIN),
        ("goexplore/Chain-v0", "copy", SnapshotKind.MEMORY),
        ("MiniGrid-MultiRoom-N6-v0", "copy", SnapshotKind.MEMORY),
        ("CartPole-v1", "copy", SnapshotKind.MEMORY),
        ("FrozenLake-v1", "copy", SnapshotKind.MEMORY),
    ],
)
def test_the_best_method_is_found_and_works(env_id, method, kind):
    env, other = make_env(EnvSpec(env_id)), make_env(EnvSpec(env_id))
    assert (env.return_method, env.snapshot_kind) == (method, kind)
    assert futures_agree(env, other)


@pytest.mark.mujoco
@pytest.mark.parametrize("env_id", ["Ant-v5", "Hopper-v5", "HalfCheetah-v5"])
def test_mujoco_integration_state(env_id):
    env, other = make_env(EnvSpec(env_id)), make_env(EnvSpec(env_id))
    assert env.return_method == "mujoco"
    assert env.snapshot_kind is SnapshotKind.PLAIN
    assert futures_agree(env, other)


def test_the_time_limit_is_counted_through_restores():
    env = GymnasiumEnv(gym.wrappers.TimeLimit(Honest(), 20))
    assert env.return_method == "native"
    env.reset()
    for _ in range(15):
        env.step(1)
    snapshot = env.snapshot()
    for _ in range(2):
        env.restore(snapshot)
        assert [env.step(1)[3] for _ in range(5)] == [False] * 4 + [True]


def test_a_wrapper_with_state_is_not_trusted_to_the_inner_hooks():
    class Counting(gym.Wrapper):
        calls = 0

        def step(self, action):
            self.calls += 1
            observation, _, terminated, truncated, info = self.env.step(action)
            return observation, float(self.calls), terminated, truncated, info

    env = GymnasiumEnv(Counting(Honest()))
    assert env.return_method == "copy"


def test_what_cannot_be_saved_returns_by_replay():
    class Unsavable(Honest):
        get_state = set_state = None

        def __reduce__(self):
            raise TypeError("no")

    env = GymnasiumEnv(Unsavable())
    assert env.return_method == "replay"
    assert env.snapshot() is None
    assert "replaying" in env.how_it_returns


def test_random_generator_travels_with_native_state():
    class Stochastic(Honest):
        def step(self, action):
            self.x += int(self.np_random.integers(0, 2))
            return super().step(action)

    env, other = GymnasiumEnv(Stochastic(), reset_seed=3), GymnasiumEnv(Stochastic(), reset_seed=3)
    assert env.return_method == "native"
    assert futures_agree(env, other)


@pytest.mark.parametrize(
    ("space", "shape", "discrete"),
    [
        (gym.spaces.Discrete(5), (), True),
        (gym.spaces.Discrete(5, start=-2), (), True),
        (gym.spaces.MultiDiscrete([3, 4]), (2,), True),
        (gym.spaces.MultiBinary(4), (4,), True),
        (gym.spaces.Box(-2, 3, (9,), np.float32), (9,), False),
    ],
)
def test_action_spaces(space, shape, discrete, rng):
    ours = ActionSpace.from_gymnasium(space)
    drawn = ours.sample(rng, 500)
    assert drawn.shape == (500, *shape)
    assert ours.discrete is discrete
    assert all(space.contains(ours.to_env(row)) for row in drawn)
    if discrete:
        assert (drawn.min(axis=0) == ours.low).all()
        assert (drawn.max(axis=0) == ours.high).all()


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (gym.spaces.Box(-np.inf, np.inf, (2,)), "unbounded"),
        (gym.spaces.Dict({"a": gym.spaces.Discrete(2)}), "not supported"),
    ],
)
def test_action_spaces_that_cannot_be_searched(space, message):
    with pytest.raises(InputError, match=message):
        ActionSpace.from_gymnasium(space)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ("CartPool-v1", "did you mean CartPole"),
        ("no_such_module:Env", "cannot be imported"),
        ("tests.lying_envs:Honesty", "Honest"),
        ("tests.lying_envs:random", "could not be made|expected a gymnasium.Env"),
        (Honest(), "function that makes a new"),
    ],
)
def test_unknown_environments(env, message):
    with pytest.raises(InputError, match=message):
        make_env(env_spec(env))


def test_a_registered_id_behind_a_module_name():
    gym.register("tests/Honest-v0", entry_point="tests.lying_envs:Honest")
    assert make_env(EnvSpec("tests.lying_envs:tests/Honest-v0")).unwrapped.x == 0


def test_the_maze_can_be_solved_only_with_the_key():
    from goexplore.envs.toys import KeyDoorMaze

    env = KeyDoorMaze()
    env.reset()
    start = env.get_state()
    distance, frontier, goal = {start: 0}, [start], None
    while frontier:
        state = frontier.pop(0)
        for action in range(4):
            env.set_state(state)
            _, _, terminated, _, _ = env.step(action)
            if terminated:
                goal = goal or (distance[state] + 1, state[2])
            elif env.get_state() not in distance:
                distance[env.get_state()] = distance[state] + 1
                frontier.append(env.get_state())
    assert goal is not None
    assert goal[1] is True
    assert goal[0] == 60
