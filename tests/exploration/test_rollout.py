from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from goexplore.archive import START, make_selector
from goexplore.cells import CellFunction
from goexplore.envs import ActionSpace, env_spec, make_env
from goexplore.errors import InputError
from goexplore.exploration import RandomExplorer, Roller, Task
from goexplore.exploration._explorers import make_explorer


class Scripted:
    """An explorer that plays a list."""

    def __init__(self, actions):
        self._script = actions

    def begin(self, rng, action_space, observation, steps):
        self._left = list(self._script)

    def act(self, observation):
        return self._left.pop(0)


class SpyEnv:
    """Counts the snapshots that a rollout takes."""

    def __init__(self, env):
        self._env, self.snapshots = env, 0

    def __getattr__(self, name):
        return getattr(self._env, name)

    def snapshot(self):
        self.snapshots += 1
        return self._env.snapshot()


def roller_for(search) -> Roller:
    roller = Roller(search.config.worker_spec(search.loop, search.codec))
    roller.learn(search.loop.everything())
    return roller


def start_task(search, **changes) -> Task:
    fields = {"iteration": 0, "index": 0, "row": 0, "score": 0.0, "length": 0, "trajectory": START}
    more = {"snapshot": search.archive.snapshots[0], "steps": search.loop.config.explore_steps}
    return Task(**fields | more | changes)


def test_a_rollout_is_a_pure_function(search):
    one = search("goexplore/PointRooms-v0", "observation:0.1")
    one.iterate(3)
    tasks = one.loop.ask()
    first, second = roller_for(one), roller_for(one)
    for task in reversed(tasks):  # another order, after other tasks: nothing may leak from one to the next
        second.run(task)
    for task in tasks:
        a, b = first.run(task), second.run(task)
        assert np.array_equal(a.known, b.known)
        assert np.array_equal(a.actions, b.actions)
        assert a.candidates == b.candidates
        assert (a.steps, a.end) == (b.steps, b.end)


def test_tasks_of_a_run_have_generators_of_their_own(search):
    one = search("goexplore/Chain-v0")
    draws = {
        start_task(one, iteration=iteration, index=index).rng(seed).integers(2**62)
        for iteration in range(4)
        for index in range(4)
        for seed in range(4)
    }
    assert len(draws) == 64


def test_one_snapshot_for_each_distinct_cell_worth_keeping(search):
    east, west = 1, 3
    one = search(
        "goexplore/KeyDoorMaze-v0", explorer=Scripted([east, east, west, east, west, west, 0, 0]), explore_steps=8
    )
    roller = roller_for(one)
    roller._env = SpyEnv(roller._env)
    result = roller.run(start_task(one))
    # Squares 2 and 3 are new; the start square is known and no better.
    assert [candidate.step for candidate in result.candidates] == [1, 2]
    assert [candidate.steps for candidate in result.candidates] == [3, 2]
    assert result.known.tolist() == [[0, 3]]
    assert roller._env.snapshots == 2
    assert result.actions.tolist() == [east, east]


def test_a_better_visit_in_the_same_rollout_replaces_the_first(search):
    class Room(CellFunction):
        def key(self, observation, env) -> bytes:
            return b"everywhere"

    one = search("goexplore/KeyDoorMaze-v0", Room(), explore_steps=400, explorer="random")
    roller = roller_for(one)
    keyed = next(
        result for index in range(400) if (result := roller.run(start_task(one, index=index, snapshot=None))).candidates
    )
    (candidate,) = keyed.candidates
    assert candidate.score == 1.0
    assert candidate.step > 10


def test_the_terminal_state_is_the_end_cell_and_no_other(search):
    one = search("goexplore/Chain-v0", explorer=Scripted([1] * 60), explore_steps=60)
    result = roller_for(one).run(start_task(one))
    assert (result.end.score, result.end.step) == (1.0, 49)
    assert len(result.end.state) == 16
    assert result.steps == 49
    assert len(result.candidates) == 48
    assert len(result.actions) == 49


def test_returning_by_replay_equals_restoring(search):
    one = search("goexplore/KeyDoorMaze-v0")
    one.iterate(5)
    roller = roller_for(one)
    for task in one.loop.ask():
        restored = roller.run(task)
        actions = one.archive.forest.actions(task.trajectory)
        task.snapshot, task.actions = None, actions
        replayed = roller.run(task)
        assert replayed.candidates == restored.candidates
        assert np.array_equal(replayed.known, restored.known)
        assert replayed.return_steps == task.length
        assert (replayed.start_snapshot is None) == (task.length == 0)


class CountsSteps(CellFunction):
    """Tracks something the environment does not show; its key is right only if its state travels."""

    def __init__(self):
        self.steps = 0

    def reset(self):
        self.steps = -1

    def key(self, observation, env) -> bytes:
        self.steps += 1
        return b"after %d" % self.steps

    def save(self) -> bytes:
        return str(self.steps).encode()

    def load(self, state: bytes) -> None:
        self.steps = int(state)


@pytest.mark.parametrize("method", ["auto", "replay"])
def test_the_state_of_a_cell_function_travels_in_the_snapshot(search, method):
    one = search("goexplore/Chain-v0", CountsSteps)
    if method == "replay":
        one = search("tests.exploration.test_rollout:unsavable_chain", CountsSteps)
    one.iterate(6)
    for row, key in enumerate(one.archive.keys):
        assert key == b"after %d" % one.archive.table["length"][row]


def unsavable_chain():
    from goexplore.envs.toys import Chain

    class Unsavable(Chain):
        def __reduce__(self):
            raise TypeError("no")

    return Unsavable(length=200)


def test_failures_of_user_code_are_one_sentence(search):
    def raises(observation):
        return {}["no such key"]

    for cells, message in (
        (raises, r"the cell function raised KeyError: 'no such key' \(line \d+ of .*test_rollout"),
        (lambda observation: 1.5, "returned the float 1.5"),
        (type("Bad", (CellFunction,), {"key": lambda self, o, e: "text"}), "returned a str; expected bytes"),
    ):
        with pytest.raises(InputError, match=message):
            search("goexplore/Chain-v0", cells)


def test_nan_rewards_stop_the_run(search):
    one = search("tests.lying_envs:NanReward", lambda observation: int(observation[0]))
    with pytest.raises(InputError, match="the reward nan"):
        one.iterate(20)


def test_repetition_has_the_right_probability(rng):
    space = ActionSpace.of_choices(18)
    explorer = RandomExplorer(0.95)
    explorer.begin(rng, space, None, 200_000)
    actions = np.array([explorer.act(None) for _ in range(200_000)])
    assert (actions[1:] == actions[:-1]).mean() == pytest.approx(0.95 + 0.05 / 18, abs=0.002)
    assert np.bincount(actions, minlength=18).min() > 0.7 * 200_000 / 18


def test_continuous_actions_repeat_whole_vectors(rng):
    import gymnasium as gym

    space = ActionSpace.from_gymnasium(gym.spaces.Box(-1, 1, (9,), np.float32))
    explorer = RandomExplorer(0.9)
    explorer.begin(rng, space, None, 20_000)
    actions = np.stack([explorer.act(None) for _ in range(20_000)])
    same = (actions[1:] == actions[:-1]).all(axis=1)
    assert same.mean() == pytest.approx(0.9, abs=0.01)
    assert not (actions[1:] == actions[:-1])[~same].any()
    assert actions.min() < -0.99
    assert actions.max() > 0.99


@pytest.mark.parametrize("reuse_buffer", [False, True])
def test_what_is_played_is_what_is_stored(search, reuse_buffer):
    """Explorers may return other dtypes, or the same array again and again."""
    from goexplore.demos import Replayer

    class Careless:
        def begin(self, rng, action_space, observation, steps):
            self.rng, self.buffer = rng, np.zeros(2, np.float64)

        def act(self, observation):
            self.buffer = self.buffer if reuse_buffer else np.zeros(2, np.float64)
            self.buffer[:] = self.rng.uniform(-1, 1, 2)
            return self.buffer

    one = search("goexplore/PointRooms-v0", "observation:0.1", explorer=Careless)
    archive = one.iterate(3).archive
    replayer = Replayer(archive, one.codec, one.config)
    for row in range(0, len(archive), 20):
        assert replayer.differences(archive.cell(row), replayer.replay(archive.cell(row))) == []


@pytest.mark.parametrize(
    ("env", "action"), [("goexplore/Chain-v0", 2), ("goexplore/Chain-v0", -1), ("goexplore/PointRooms-v0", [0.0, 1.5])]
)
def test_actions_outside_the_space_are_refused(search, env, action):
    one = search(env, lambda observation: 0, explorer=Scripted([action] * 20))
    with pytest.raises(InputError, match="the explorer returned"):
        one.iterate(1)


def test_a_replay_that_goes_elsewhere_is_noticed(search):
    """An environment that changes after some resets: returning by replay must not believe it."""
    from goexplore.envs.toys import Chain

    class Tires(Chain):
        resets = 0

        def __reduce__(self):
            raise TypeError("no")

        def reset(self, *, seed=None, options=None):
            Tires.resets += 1
            return super().reset(seed=seed)

        def step(self, action):
            observation, reward, done, truncated, info = super().step(action)
            return observation, reward, done or (Tires.resets > 150 and self.position > 5), truncated, info

    one = search(Tires)
    with pytest.raises(InputError, match="not deterministic"):
        one.iterate(50)


def test_mixed_rollouts_repeat_in_half_of_all_cases():
    explorer, rng = make_explorer("mixed", repeat_probability=0.95), np.random.default_rng(0)
    space = make_env(env_spec("ALE/Freeway-v5")).action_space
    held = 0
    for _ in range(200):
        explorer.begin(rng, space, None, 60)
        actions = [explorer.act(None) for _ in range(60)]
        held += sum(one == other for one, other in pairwise(actions)) > 40
    assert 80 < held < 120


def test_something_that_is_no_explorer_or_selector_is_refused():
    with pytest.raises(InputError, match=r"^explorer .*: expected a class or an object with begin and act$"):
        make_explorer(make_env, repeat_probability=0.95)
    with pytest.raises(InputError, match=r"^selector .*: expected a class or an object with weights$"):
        make_selector("goexplore.envs:make_env")
