"""The baseline: the simulator stepping alone on all cores, with nothing of ours around it."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from goexplore.envs import AtariEnv, EnvSpec, RestorableEnv, make_env
from goexplore.exploration import RandomExplorer

WALK_STEPS = 4096


class RawSimulators:
    """One process for each core, each stepping a bare simulator on request.

    Args:
        spec: the environment.
        workers: processes.
        starts: snapshots to begin at in turn, where a step's cost depends on the state: those of the engine.
        stretch: steps from each of them.
    """

    def __init__(self, spec: EnvSpec, workers: int, starts: Sequence[bytes] = (), stretch: int = 1) -> None:
        context = multiprocessing.get_context("spawn")
        self._connections: list[Connection[Any, Any]] = []
        self._processes = []
        for seed in range(workers):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, spec, seed, starts, stretch), daemon=True)
            process.start()
            self._connections.append(ours)
            self._processes.append(process)
        for connection in self._connections:
            connection.recv()  # built

    def steps_per_second(self, seconds: float) -> float:
        """Steps all of them for some seconds, together."""
        for connection in self._connections:
            connection.send(seconds)
        return float(sum(connection.recv() for connection in self._connections))

    def close(self) -> None:
        """Stops the processes."""
        for connection, process in zip(self._connections, self._processes, strict=True):
            connection.close()
            process.join(timeout=10)


def _serve(connection: Connection[Any, Any], spec: EnvSpec, seed: int, starts: Sequence[bytes], stretch: int) -> None:
    env = make_env(spec)
    explorer = RandomExplorer()
    explorer.begin(np.random.default_rng(seed), env.action_space, env.reset(), WALK_STEPS)
    actions = [explorer.act(None) for _ in range(WALK_STEPS)]
    if isinstance(env, AtariEnv):
        walk = _bare_atari(env, actions)
    elif steps_bare_mujoco(env) and starts:
        walk = _bare_mujoco(env, actions, starts, stretch)
    else:
        walk = _bare_steps(env, actions)
    connection.send("built")
    while True:
        try:
            seconds = connection.recv()
        except EOFError:
            return
        started, steps = time.perf_counter(), 0
        while time.perf_counter() - started < seconds:
            for _ in range(32):
                next(walk)
            steps += 32
        connection.send(steps / (time.perf_counter() - started))


def _bare_atari(env: AtariEnv, actions: list[int]) -> Any:
    """`ALEInterface.act` and nothing else: no observation is read.

    A game that is over goes on from a saved state, because ALE's own reset emulates dozens of frames that nobody
    counts, and would make the baseline look slower than the emulator is.
    """
    ale, meanings = env.emulator.ale, env.emulator.actions
    ale.reset_game()
    start = ale.cloneState()
    while True:
        for action in actions:
            ale.act(meanings[action])
            if ale.game_over():
                ale.restoreState(start)
            yield


def steps_bare_mujoco(env: RestorableEnv) -> bool:
    """Whether the environment is a MuJoCo model whose controls and substeps for each action are known."""
    return all(hasattr(getattr(env, "unwrapped", None), name) for name in ("model", "data", "controls", "substeps"))


def _bare_mujoco(env: Any, actions: list[Any], starts: Sequence[bytes], stretch: int) -> Any:
    """`mj_step` and nothing else, from states of a search: an arm on the table costs more than one in the air."""
    import mujoco

    inner = env.unwrapped
    physics = []
    for start in starts:
        env.restore(start)
        physics.append(inner.get_state()["physics"])
    controls = [inner.controls(action) for action in actions]
    model, data, substeps = inner.model, inner.data, inner.substeps
    taken = 0
    while True:
        for start in physics:
            mujoco.mj_setState(model, data, start, int(mujoco.mjtState.mjSTATE_INTEGRATION))
            for _ in range(stretch):
                data.ctrl[:] = controls[taken % len(controls)]
                mujoco.mj_step(model, data, substeps)
                taken += 1
                yield


def _bare_steps(env: RestorableEnv, actions: list[Any]) -> Any:
    env.reset()
    while True:
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
            yield
