"""`check-env`: does an environment keep the promises that the engine builds on?

Plays a reference walk with a snapshot before every step, and then tries to catch the environment
lying: by playing again, by restoring in another order, in another process, with other global seeds.
"""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

import cloudpickle
import numpy as np
from numpy.typing import NDArray

from goexplore.envs._atari import AtariEnv
from goexplore.envs._emulator import KNOWN_BROKEN_ROUND_TRIPS
from goexplore.envs._make import EnvSpec, make_env, resolved
from goexplore.envs._protocol import RestorableEnv, SnapshotKind
from goexplore.errors import InputError
from goexplore.packing import pack, unpack
from goexplore.plugins import import_paths

CONTINUE_STEPS = 3
"""Steps played after each restore: divergence shows at once or (as in long continuations) not at all."""
REPEAT_PROBABILITY = 0.7
ANOTHER = "a second instance, under other global seeds"
SAME = "the same instance, after a reset"
LONG_CONTINUATIONS = 8
LONG_CONTINUE_STEPS = 60


@dataclass(frozen=True, slots=True)
class Check:
    """One question about an environment, and the answer."""

    name: str
    passed: bool
    detail: str


@dataclass(slots=True)
class Walk:
    """A reference walk: what happened at each step, and how to return to just before it."""

    actions: NDArray[Any]
    traces: list[bytes] = field(default_factory=list)
    """Observation, reward, end and fingerprint after each step."""
    ends: list[bool] = field(default_factory=list)
    snapshots: list[bytes | None] = field(default_factory=list)
    observations: list[bytes] = field(default_factory=list)
    """Observation before each step, when the snapshot was taken."""


def check_env(env: EnvSpec | str, *, steps: int = 2000, seed: int = 0) -> Iterator[Check]:
    """Yields one answer after the other; the environment passes if all do.

    Args:
        env: the environment.
        steps: length of the reference walk. More finds rarer faults.
        seed: seed of the walk.

    Raises:
        InputError: the environment cannot be made at all.
    """
    if steps < 1:
        raise InputError(f"steps {steps}: expected at least 1")
    spec = EnvSpec(env) if isinstance(env, str) else env
    made = make_env(spec)
    spec = resolved(spec, made)
    yield Check("returns by", True, made.how_it_returns)
    try:
        walk = _walk(made, _actions(made, steps, seed), with_snapshots=True)
    except Exception as error:
        yield Check("can be played", False, f"{type(error).__name__}: {error}")
        return
    yield _rewards_finite(walk)
    yield _answer("deterministic", lambda name: _same_again(name, make_env(spec), walk, ANOTHER))
    yield _answer("reset forgets everything", lambda name: _same_again(name, made, walk, SAME))
    if made.snapshot_kind is SnapshotKind.NONE:
        yield Check("round trip", True, "not applicable: returns by replaying the actions from reset")
    else:
        yield _answer("observation after a restore", lambda name: _stale_observations(name, make_env(spec), walk))
        yield _answer("round trip", lambda name: _round_trip(name, continuations(make_env(spec), walk), walk))
        yield _answer(
            "round trip across processes", lambda name: _round_trip(name, _in_another_process(spec, walk), walk)
        )
    yield from _known_issues(made)


def _answer(name: str, ask: Callable[[str], Check]) -> Check:
    """Asks one question; an environment that raises has failed it."""
    try:
        return ask(name)
    except Exception as error:
        return Check(name, False, f"raised {type(error).__name__}: {error}")


def _actions(env: RestorableEnv, steps: int, seed: int) -> NDArray[Any]:
    return env.action_space.sample_repeating(np.random.default_rng(seed), steps, REPEAT_PROBABILITY)


def _walk(env: RestorableEnv, actions: NDArray[Any], *, with_snapshots: bool) -> Walk:
    walk = Walk(actions)
    observation = env.reset()
    for row in actions:
        if with_snapshots:
            walk.snapshots.append(env.snapshot())
            walk.observations.append(pack(observation))
        observation, trace, ended = _step(env, row)
        walk.traces.append(trace)
        walk.ends.append(ended)
        if ended:
            observation = env.reset()
    return walk


def _step(env: RestorableEnv, row: Any) -> tuple[Any, bytes, bool]:
    observation, reward, terminated, truncated, _ = env.step(env.action_space.to_env(row))
    trace = pack([observation, float(reward), terminated, truncated, env.fingerprint()])
    return observation, trace, terminated or truncated


def _rewards_finite(walk: Walk) -> Check:
    rewards = [unpack(trace)[1] for trace in walk.traces]
    bad = [step for step, reward in enumerate(rewards) if not np.isfinite(reward)]
    if bad:
        return Check("rewards are numbers", False, f"the reward at step {bad[0]} is {rewards[bad[0]]}")
    return Check("rewards are numbers", True, f"{len(rewards):,} steps, {sum(walk.ends)} episodes ended")


def _same_again(name: str, env: RestorableEnv, walk: Walk, how: str) -> Check:
    states = random.getstate(), np.random.get_state()  # noqa: NPY002 - the global generators are the suspects
    try:
        random.seed(12345)
        np.random.seed(12345)  # noqa: NPY002
        again = _walk(env, walk.actions, with_snapshots=False)
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
    for step, (first, second) in enumerate(zip(walk.traces, again.traces, strict=True)):
        if first != second:
            return Check(
                name,
                False,
                f"{how}, differs at step {step}: something hidden is random, or survives a reset",
            )
    return Check(name, True, f"{how}: {len(walk.traces):,} equal steps")


def _stale_observations(name: str, env: RestorableEnv, walk: Walk) -> Check:
    env.reset()
    for step in _order(len(walk.snapshots)):
        snapshot = walk.snapshots[step]
        if snapshot is not None and pack(env.restore(snapshot)) != walk.observations[step]:
            return Check(
                name,
                False,
                f"restoring the state before step {step} returns another observation than was seen there",
            )
    return Check(name, True, "is the one seen when the snapshot was taken")


def continuations(env: RestorableEnv, walk: Walk) -> dict[int, int]:
    """Restores every snapshot, in a scrambled order, and plays on.

    Returns:
        For every snapshot that diverged, the number of steps after which it did.
    """
    env.reset()
    diverged = {}
    order = _order(len(walk.snapshots))
    for place, start in enumerate(order):
        snapshot = walk.snapshots[start]
        if snapshot is None:
            continue
        env.restore(snapshot)
        steps = LONG_CONTINUE_STEPS if place < LONG_CONTINUATIONS else CONTINUE_STEPS
        for step in range(start, min(start + steps, len(walk.traces))):
            _, trace, ended = _step(env, walk.actions[step])
            if trace != walk.traces[step]:
                diverged[start] = step - start + 1
                break
            if ended:
                break
    return diverged


def _order(count: int) -> list[int]:
    return [int(place) for place in np.random.default_rng(0).permutation(count)]


def _round_trip(name: str, diverged: dict[int, int], walk: Walk) -> Check:
    total = len(walk.snapshots)
    if not diverged:
        return Check(name, True, f"{total:,} snapshots restored and continued alike")
    first = min(diverged)
    return Check(
        name,
        False,
        f"{len(diverged)} of {total:,} snapshots lead elsewhere when restored (the one before step {first} after"
        f" {diverged[first]} step{'s' if diverged[first] > 1 else ''}): the snapshot misses part of the state",
    )


def _in_another_process(spec: EnvSpec, walk: Walk) -> dict[int, int]:
    """Asks a child process; its answer comes through a pipe of its own, because environments may print."""
    reading, writing = os.pipe()
    command = f"from goexplore.envs._check import child; child({writing})"
    with subprocess.Popen(
        [sys.executable, "-P", "-c", command],
        env=os.environ | {"PYTHONPATH": import_paths()},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        pass_fds=[writing],
    ) as process:
        os.close(writing)
        assert process.stdin is not None
        with process.stdin as stdin:
            stdin.write(cloudpickle.dumps((spec, walk)))
        with open(reading, "rb") as answer:
            found = answer.read()
    if not found:
        raise InputError("the other process could not restore it")
    diverged = pickle.loads(found)  # noqa: S301 - from our own child process
    if isinstance(diverged, str):
        raise InputError(diverged)
    return dict(diverged)


def child(writing: int) -> None:
    """The other process: restores and continues what the parent sends on standard input."""
    spec, walk = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our own parent process
    try:
        answer: dict[int, int] | str = continuations(make_env(spec), walk)
    except Exception as error:
        answer = f"{type(error).__name__}: {error}"
    with open(writing, "wb") as file:
        file.write(pickle.dumps(answer))


def _known_issues(env: RestorableEnv) -> Iterator[Check]:
    if isinstance(env, AtariEnv) and env.game in KNOWN_BROKEN_ROUND_TRIPS:
        version = tuple(int(part) for part in metadata.version("ale-py").split(".")[:3] if part.isdigit())
        if version <= (0, 12, 1):
            yield Check("known issues", False, KNOWN_BROKEN_ROUND_TRIPS[env.game])
