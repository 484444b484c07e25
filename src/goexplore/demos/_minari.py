"""To and from Minari, the offline reinforcement learning format of the Farama Foundation, losing nothing.

Demonstrations become episodes with the observations of the search's environment, for people who train with other
libraries. What identifies the environment goes along in the dataset's description.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from goexplore.demos._demonstration import Demonstration, digest_of, identifying_facts
from goexplore.envs import EnvSpec, RestorableEnv, make_env
from goexplore.errors import InputError
from goexplore.plugins import missing_extra

KIND = "goexplore-demonstrations"


def to_minari(demonstrations: Sequence[Demonstration], dataset_id: str) -> None:
    """Writes demonstrations as a local Minari dataset.

    Args:
        demonstrations: of one environment.
        dataset_id: its name, for example "montezuma/first-key-v0".

    Raises:
        InputError: Minari is missing, the name is taken, or a demonstration does not replay.
    """
    minari = _minari()
    env = make_env(demonstrations[0].env)
    buffers = [_episode(minari, env, index, each) for index, each in enumerate(demonstrations)]
    about = {
        "kind": KIND,
        "demonstrations": [
            {name: value for name, value in dataclasses.asdict(each).items() if name not in ("actions", "rewards")}
            for each in demonstrations
        ],
    }
    first = buffers[0].observations[0]
    try:
        minari.create_dataset_from_buffers(
            dataset_id,
            buffers,
            action_space=_action_space(env),
            observation_space=gym.spaces.Box(*_limits(first), first.shape, first.dtype),
            algorithm_name="Go-Explore, exploration phase",
            description=json.dumps(about),
            data_format="hdf5",
            jpeg_encoding=False,  # which would lose something
        )
    except (ValueError, AssertionError) as error:
        raise InputError(f"Minari does not take the dataset {dataset_id!r}: {error}") from error


def from_minari(dataset_id: str, *, env_id: str | None = None, trust: bool = False) -> list[Demonstration]:
    """Reads demonstrations from a local Minari dataset; episodes of others are replayed to see that they mean the same.

    Args:
        dataset_id: its name.
        env_id: the environment, where the dataset does not say which.
        trust: allow it to name code of third parties.

    Raises:
        InputError: there is no such dataset, or an episode does not replay.
    """
    minari = _minari()
    try:
        dataset = minari.load_dataset(dataset_id)
        description = str(dataset.storage.metadata.get("description", ""))
        episodes = list(dataset.iterate_episodes())
    except (FileNotFoundError, ValueError, KeyError, OSError) as error:
        raise InputError(f"there is no Minari dataset {dataset_id!r} here ({error})") from error
    about = _about(description)
    if about is not None and len(about) != len(episodes):
        raise InputError(f"the Minari dataset {dataset_id!r} describes {len(about)} episodes and has {len(episodes)}")
    found = []
    for index, episode in enumerate(episodes):
        actions, rewards = np.asarray(episode.actions), np.asarray(episode.rewards, np.float64)
        if about is not None:
            try:
                saved = dict(about[index])
                spec = EnvSpec(**{name: value for name, value in saved.pop("env").items() if name != "factory"})
                found.append(Demonstration(env=spec, actions=actions, rewards=rewards, **saved))
            except (KeyError, TypeError, AttributeError) as error:
                raise InputError(f"the description of {dataset_id!r} is damaged ({error})") from error
        else:
            spec = EnvSpec(_env_id(dataset, env_id))
            found.append(_foreign(dataset.id, index, spec, actions, rewards, trust=trust))
        spec.require_trust("the dataset is of", by="reading it", trust=trust)
    return found


def _env_id(dataset: Any, given: str | None) -> str:
    chosen = given or (dataset.env_spec.id if dataset.env_spec is not None else None)
    if chosen is None:
        raise InputError("the dataset does not say which environment it is of: give it with --env-id")
    return str(chosen)


def _episode(minari: Any, env: RestorableEnv, index: int, demonstration: Demonstration) -> Any:
    observations, ends = [np.array(env.reset())], []
    for step, row in enumerate(demonstration.actions):
        observation, reward, terminated, truncated, _ = env.step(env.action_space.to_env(row))
        if reward != demonstration.rewards[step]:
            raise InputError(f"demonstration {index} does not replay here: step {step} brings {reward:g} points")
        observations.append(np.array(observation))
        ends.append((terminated, truncated))
    last = len(ends) - 1
    return minari.data_collector.EpisodeBuffer(
        id=index,
        seed=demonstration.env.reset_seed,
        observations=np.stack(observations),
        actions=demonstration.actions,
        rewards=demonstration.rewards.tolist(),
        terminations=[bool(terminated) for terminated, _ in ends],
        # An episode that is cut short by us is a truncated one.
        truncations=[bool(cut) or (at == last and not done) for at, (done, cut) in enumerate(ends)],
    )


def _foreign(
    name: str, index: int, spec: EnvSpec, actions: NDArray[Any], rewards: NDArray[np.float64], *, trust: bool
) -> Demonstration:
    spec.require_trust("the dataset is of", by="reading it", trust=trust)  # before it is made, which would import it
    env = make_env(spec)
    env.reset()
    over = False
    for step, row in enumerate(actions):
        _, reward, terminated, truncated, _ = env.step(env.action_space.to_env(row))
        over = terminated or truncated
        if not np.isclose(reward, rewards[step]) or (over and step < len(actions) - 1):
            raise InputError(
                f"episode {index} does not replay in {spec.id} (step {step} brings {reward:g} points instead of"
                f" {rewards[step]:g}): it was recorded from another start, or with noise"
            )
    return Demonstration(
        env=spec,
        actions=actions.astype(env.action_space.dtype),
        rewards=rewards,
        ends_episode=over,
        state=digest_of(env.fingerprint()),
        frames_per_step=env.frames_per_step,
        facts=identifying_facts(env),
        source={"minari": name, "episode": index},
    )


def _about(description: str) -> list[dict[str, Any]] | None:
    try:
        about = json.loads(description)
        return list(about["demonstrations"]) if about["kind"] == KIND else None
    except (ValueError, KeyError, TypeError):
        return None


def _action_space(env: RestorableEnv) -> gym.Space[Any]:
    space = env.action_space
    if space.discrete and not space.shape:
        return gym.spaces.Discrete(int(space.high) - int(space.low) + 1, start=int(space.low))
    return gym.spaces.Box(space.low, space.high, space.shape, space.dtype)


def _limits(observation: NDArray[Any]) -> tuple[Any, Any]:
    if observation.dtype.kind == "f":
        return -np.inf, np.inf
    limits = np.iinfo(observation.dtype)
    return limits.min, limits.max


def _minari() -> Any:
    try:
        import h5py  # noqa: F401
        import minari
        import minari.data_collector
    except ImportError as error:
        raise missing_extra("Minari with HDF5", "minari") from error
    return minari
