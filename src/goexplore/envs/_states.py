"""Four ways to save and restore a Gymnasium environment, best first.

`native` uses the environment's own hooks, `mujoco` the simulator's integration state, `copy` a deep
copy, and `replay` nothing at all: the engine then returns by replaying actions from a seeded reset.
Each is a small object that reads and writes the state of one wrapped environment.
"""

from __future__ import annotations

import pickle
from typing import Any, Protocol

import cloudpickle
import gymnasium as gym
import numpy as np

from goexplore.envs._protocol import SnapshotKind
from goexplore.errors import InputError
from goexplore.packing import pack, unpack

NATIVE_HOOKS = (
    ("get_state", "set_state"),
    ("snapshot", "restore"),
    ("clone_state", "restore_state"),
    ("save_state", "load_state"),
)
# Wrappers that remember nothing between steps, so that saving the inner environment is enough.
STATELESS_WRAPPERS = frozenset(
    {
        "OrderEnforcing",
        "PassiveEnvChecker",
        "ClipAction",
        "ClipReward",
        "DiscretizeAction",
        "DiscretizeObservation",
        "DtypeObservation",
        "FilterObservation",
        "FlattenObservation",
        "GrayscaleObservation",
        "RescaleAction",
        "RescaleObservation",
        "ReshapeObservation",
        "ResizeObservation",
        "TransformAction",
        "TransformObservation",
        "TransformReward",
    }
)
# What MuJoCo derives from the state and environments read *before* the next step (an ant's torso
# position, say). After a step these lag the state by one substep, so recomputing them would change them.
MUJOCO_DERIVED = [
    "xpos",
    "xquat",
    "xmat",
    "xipos",
    "ximat",
    "xanchor",
    "xaxis",
    "geom_xpos",
    "geom_xmat",
    "site_xpos",
    "site_xmat",
    "subtree_com",
    "cinert",
    "cvel",
    "cfrc_ext",
    "cfrc_int",
    "cacc",
    "sensordata",
    "qfrc_actuator",
    "qfrc_constraint",
    "actuator_force",
    "actuator_length",
    "actuator_velocity",
    "ten_length",
]


class StateMethod(Protocol):
    """Saves and restores the state of one Gymnasium environment."""

    kind: SnapshotKind
    description: str

    def save(self, env: gym.Env[Any, Any]) -> Any:
        """Returns the state: packable for `PLAIN`, bytes for `MEMORY`."""

    def load(self, env: gym.Env[Any, Any], state: Any) -> gym.Env[Any, Any]:
        """Puts the state back and returns the environment to use from now on."""


class NativeState:
    """The environment's own `get_state`/`set_state` (or a pair of like names)."""

    kind = SnapshotKind.PLAIN

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        inner = env.unwrapped
        for getter, setter in NATIVE_HOOKS:
            if callable(getattr(inner, getter, None)) and callable(getattr(inner, setter, None)):
                self._getter, self._setter = getter, setter
                self.description = f"{type(inner).__name__}.{getter}() and .{setter}()"
                break
        else:
            names = ", ".join("/".join(pair) for pair in NATIVE_HOOKS)
            raise InputError(f"{type(inner).__name__} has no state hooks; looked for {names}")
        _require_known_wrappers(env)

    def save(self, env: gym.Env[Any, Any]) -> Any:
        """Asks the environment, and saves its random generator and time limit beside the answer."""
        state = getattr(env.unwrapped, self._getter)()
        return {"state": state, "around": _save_around(env)}

    def load(self, env: gym.Env[Any, Any], state: Any) -> gym.Env[Any, Any]:
        """Hands the state back."""
        getattr(env.unwrapped, self._setter)(state["state"])
        _load_around(env, state["around"])
        return env


class MujocoState:
    """MuJoCo's `mjSTATE_INTEGRATION`, the only state it promises to continue from bit for bit."""

    kind = SnapshotKind.PLAIN

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        inner: Any = env.unwrapped
        if type(getattr(inner, "model", None)).__name__ != "MjModel" or not hasattr(inner, "data"):
            raise InputError(f"{type(inner).__name__} is not a MuJoCo environment (no MjModel and MjData)")
        import mujoco

        _require_known_wrappers(env)
        self._mujoco = mujoco
        self._spec = int(mujoco.mjtState.mjSTATE_INTEGRATION)
        self._size = mujoco.mj_stateSize(inner.model, self._spec)
        self._derived = [name for name in MUJOCO_DERIVED if hasattr(inner.data, name)]
        self.description = "MuJoCo integration state (mjSTATE_INTEGRATION)"

    def save(self, env: gym.Env[Any, Any]) -> Any:
        """Reads the integration state and the derived quantities."""
        inner: Any = env.unwrapped
        state = np.empty(self._size)
        self._mujoco.mj_getState(inner.model, inner.data, state, self._spec)
        derived = {name: np.array(getattr(inner.data, name)) for name in self._derived}
        return {"state": state, "derived": derived, "around": _save_around(env)}

    def load(self, env: gym.Env[Any, Any], state: Any) -> gym.Env[Any, Any]:
        """Writes both back."""
        inner: Any = env.unwrapped
        self._mujoco.mj_setState(inner.model, inner.data, state["state"], self._spec)
        for name, values in state["derived"].items():
            getattr(inner.data, name)[...] = values
        _load_around(env, state["around"])
        return env


class CopyState:
    """A deep copy of the environment and all its wrappers, as bytes that stay in our own processes."""

    kind = SnapshotKind.MEMORY
    description = "a deep copy of the environment (kept in memory, not in checkpoints)"

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        try:
            pickle.loads(cloudpickle.dumps(env))  # noqa: S301 - our own bytes, never from a file
        except Exception as error:
            raise InputError(f"{type(env.unwrapped).__name__} cannot be copied: {error}") from error

    def save(self, env: gym.Env[Any, Any]) -> bytes:
        """Copies the environment."""
        copied: bytes = cloudpickle.dumps(env)
        return copied

    def load(self, env: gym.Env[Any, Any], state: bytes) -> gym.Env[Any, Any]:
        """Returns a new environment; the old one is dropped."""
        copied: gym.Env[Any, Any] = pickle.loads(state)  # noqa: S301 - made by `save`, never from a file
        return copied


class ReplayState:
    """No state at all."""

    kind = SnapshotKind.NONE
    description = "nothing can be saved: returns by replaying the actions from a seeded reset"

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        del env

    def save(self, env: gym.Env[Any, Any]) -> None:
        """Saves nothing."""

    def load(self, env: gym.Env[Any, Any], state: Any) -> gym.Env[Any, Any]:
        """Cannot be called: there is no snapshot to load."""
        raise InputError("this environment returns by replay; it has no snapshots to restore")


STATE_METHODS: dict[str, type[Any]] = {
    "native": NativeState,
    "mujoco": MujocoState,
    "copy": CopyState,
    "replay": ReplayState,
}


def encode_state(method: StateMethod, state: Any, observation: Any) -> bytes | None:
    """Joins a state and the observation that goes with it into one snapshot."""
    if method.kind is SnapshotKind.NONE:
        return None
    if method.kind is SnapshotKind.MEMORY:
        return pickle.dumps((state, observation), protocol=pickle.HIGHEST_PROTOCOL)
    return pack({"state": state, "observation": observation})


def decode_state(method: StateMethod, snapshot: bytes) -> tuple[Any, Any]:
    """The inverse of `encode_state`."""
    if method.kind is SnapshotKind.MEMORY:
        state, observation = pickle.loads(snapshot)  # noqa: S301 - in memory only, never from a file
        return state, observation
    packed = unpack(snapshot)
    return packed["state"], packed["observation"]


def _require_known_wrappers(env: gym.Env[Any, Any]) -> None:
    for wrapper in _wrappers(env):
        name = type(wrapper).__name__
        if name not in STATELESS_WRAPPERS and name != "TimeLimit":
            raise InputError(f"the wrapper {name} may hold state of its own, which this method would miss")


def _wrappers(env: gym.Env[Any, Any]) -> list[gym.Wrapper[Any, Any, Any, Any]]:
    found = []
    while isinstance(env, gym.Wrapper):
        found.append(env)
        env = env.env
    return found


def _save_around(env: gym.Env[Any, Any]) -> dict[str, Any]:
    """What lives outside the simulator state: elapsed steps and the random generator."""
    elapsed = [wrapper._elapsed_steps for wrapper in _wrappers(env) if hasattr(wrapper, "_elapsed_steps")]
    generator = getattr(env.unwrapped, "_np_random", None)
    return {"elapsed": elapsed, "random": None if generator is None else generator.bit_generator.state}


def _load_around(env: gym.Env[Any, Any], around: dict[str, Any]) -> None:
    limits = [wrapper for wrapper in _wrappers(env) if hasattr(wrapper, "_elapsed_steps")]
    for wrapper, elapsed in zip(limits, around["elapsed"], strict=True):
        wrapper._elapsed_steps = elapsed
    if around["random"] is not None:
        env.unwrapped.np_random.bit_generator.state = around["random"]
