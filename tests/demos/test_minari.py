"""Demonstrations to Minari and back: nothing is lost, and what does not replay is refused."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

import goexplore
from goexplore.demos import Choice, Demonstration, demonstrations_of, from_minari, to_minari
from goexplore.errors import InputError

minari = pytest.importorskip("minari")
pytest.importorskip("h5py")

MAZE = "goexplore/KeyDoorMaze-v0"


@pytest.fixture
def found(tmp_path, monkeypatch) -> list[Demonstration]:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    run = goexplore.explore(MAZE, frames=20_000, preset="tiny", workers=1, progress=False, out=tmp_path / "run").run
    return [*demonstrations_of(run, Choice()), *demonstrations_of(run, Choice(until_score=1))]


def same(first: Demonstration, second: Demonstration) -> None:
    np.testing.assert_array_equal(first.actions, second.actions)
    np.testing.assert_array_equal(first.rewards, second.rewards)
    for name in ("env", "ends_episode", "state", "frames_per_step", "facts", "source"):
        assert getattr(first, name) == getattr(second, name)


def test_there_and_back(found):
    to_minari(found, "maze/ways-v0")
    for before, after in zip(found, from_minari("maze/ways-v0"), strict=True):
        same(before, after)
    dataset = minari.load_dataset("maze/ways-v0")
    whole, cut = dataset.iterate_episodes()
    assert len(whole.observations) == len(found[0]) + 1
    assert whole.terminations[-1]
    assert cut.truncations[-1]
    assert not cut.terminations.any()


@pytest.mark.atari
def test_pictures_are_not_compressed_away(tmp_path, monkeypatch):
    from tests.robustification.test_backward import atari_demonstration

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    demonstration = atari_demonstration("freeway", steps=12)
    to_minari([demonstration], "freeway/walk-v0")
    (episode,) = minari.load_dataset("freeway/walk-v0").iterate_episodes()
    from goexplore.envs import make_env

    env = make_env(demonstration.env)
    np.testing.assert_array_equal(episode.observations[0], env.reset())
    for step, action in enumerate(demonstration.actions):
        np.testing.assert_array_equal(episode.observations[step + 1], env.step(int(action))[0])
    same(demonstration, from_minari("freeway/walk-v0")[0])


def test_a_dataset_of_others_is_replayed_first(found, tmp_path):
    env = gym.make(MAZE)

    def recorded(name, rewards_off=0.0):
        observations, rewards, ends = [np.array(env.reset(seed=0)[0])], [], []
        for action in found[0].actions:
            observation, reward, terminated, truncated, _ = env.step(int(action))
            observations.append(np.array(observation))
            rewards.append(float(reward) + rewards_off)
            ends.append((terminated, truncated))
        buffer = minari.data_collector.EpisodeBuffer(
            id=0,
            seed=0,
            observations=np.stack(observations),
            actions=np.array(found[0].actions),
            rewards=rewards,
            terminations=[end for end, _ in ends],
            truncations=[cut for _, cut in ends],
        )
        minari.create_dataset_from_buffers(
            name, [buffer], action_space=env.action_space, observation_space=env.observation_space, data_format="hdf5"
        )

    recorded("maze/others-v0")
    with pytest.raises(InputError, match="does not say which environment"):
        from_minari("maze/others-v0")
    (taken,) = from_minari("maze/others-v0", env_id=MAZE)
    assert taken.score == 11
    assert taken.state == found[0].state
    with pytest.raises(InputError, match="code that reading it would run"):
        from_minari("maze/others-v0", env_id="subprocess:Popen")
    recorded("maze/wrong-v0", rewards_off=1.0)
    with pytest.raises(InputError, match="does not replay"):
        from_minari("maze/wrong-v0", env_id=MAZE)


def test_what_is_not_there_is_said(found):
    with pytest.raises(InputError, match="there is no Minari dataset"):
        from_minari("maze/nothing-v0")
    to_minari(found, "maze/ways-v0")
    with pytest.raises(InputError, match="Minari does not take the dataset"):
        to_minari(found, "maze/ways-v0")
