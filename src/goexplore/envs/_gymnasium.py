"""Any Gymnasium environment as a restorable one."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from goexplore.envs._actions import ActionSpace
from goexplore.envs._protocol import Action, Observation, StepResult
from goexplore.envs._states import STATE_METHODS, StateMethod, decode_state, encode_state
from goexplore.errors import InputError
from goexplore.packing import pack

AUTO = "auto"


class GymnasiumEnv:
    """A Gymnasium environment, reset with one seed, that can be saved and put back.

    Args:
        env: the environment, with its wrappers.
        reset_seed: the seed of every reset; it names the one episode that is searched.
        return_method: "native", "mujoco", "copy" or "replay"; "auto" takes the first of these that
            survives a short test (see `goexplore check-env` for a long one).
    """

    frames_per_step = 1

    def __init__(self, env: gym.Env[Any, Any], *, reset_seed: int = 0, return_method: str = AUTO) -> None:
        self._env = env
        self._reset_seed = reset_seed
        self._observes = True
        self.observation: Observation = None
        self.info: dict[str, Any] = {}
        """What the last reset or step returned as `info`."""
        self.action_space = ActionSpace.from_gymnasium(env.action_space)
        self.reset()
        if return_method == AUTO:
            return_method = self._first_method_that_works()
        if return_method not in STATE_METHODS:
            raise InputError(f"return method {return_method!r}: expected one of {', '.join(STATE_METHODS)} or auto")
        self.return_method = return_method
        self._method: StateMethod = STATE_METHODS[return_method](env)

    @property
    def snapshot_kind(self) -> Any:
        """How far this environment's snapshots can travel."""
        return self._method.kind

    @property
    def how_it_returns(self) -> str:
        """What `snapshot` and `restore` use, for people."""
        return self._method.description

    @property
    def unwrapped(self) -> Any:
        """The inner Gymnasium environment, for cell functions that read its state."""
        return self._env.unwrapped

    def reseed(self, seed: int) -> None:
        """Names another episode, for who does not search but plays in a changing world."""
        self._reset_seed = seed

    def reset(self) -> Observation:
        """Starts the episode that `reset_seed` names."""
        self.observation, self.info = self._env.reset(seed=self._reset_seed)
        return self.observation

    def step(self, action: Action) -> StepResult:
        """Takes one step."""
        self.observation, reward, terminated, truncated, self.info = self._env.step(action)
        return self.observation, float(reward), bool(terminated), bool(truncated), self.info

    def leave_observations_out(self) -> None:
        """Lets steps do without observations, if the environment has `observing` and `observe()`.

        Where nobody looks at them, computing them may cost more than the rest of the search. Snapshots carry them all
        the same.
        """
        inner = self._env.unwrapped
        if hasattr(inner, "observing") and callable(getattr(inner, "observe", None)):
            inner.observing = self._observes = False

    def _catch_up(self) -> None:
        if not self._observes:
            self.observation = self.unwrapped.observe()

    def snapshot(self) -> bytes | None:
        """Saves the state and the observation."""
        self._catch_up()
        return encode_state(self._method, self._method.save(self._env), self.observation)

    def restore(self, snapshot: bytes) -> Observation:
        """Puts a snapshot back and returns the observation it carries."""
        state, self.observation = decode_state(self._method, snapshot)
        self._env = self._method.load(self._env, state)
        self.info = {}
        return self.observation

    def fingerprint(self) -> bytes:
        """The state where it is plain data, and the observation."""
        self._catch_up()
        if self.return_method in ("native", "mujoco"):
            return pack([self._method.save(self._env), self.observation])
        return pack(self.observation)

    def render(self) -> NDArray[np.uint8]:
        """Returns the picture of `render_mode="rgb_array"`."""
        try:
            picture = self._env.render()
        except Exception as error:  # whatever a third party's drawing needs
            raise InputError(
                f"this environment cannot draw here ({type(error).__name__}: {error}); MuJoCo on a machine without a"
                " screen needs the environment variable MUJOCO_GL=egl"
            ) from error
        if not isinstance(picture, np.ndarray):
            raise InputError("this environment draws no RGB pictures: make it with render_mode='rgb_array'")
        return picture.astype(np.uint8, copy=False)

    def close(self) -> None:
        """Closes the environment."""
        self._env.close()

    def _first_method_that_works(self) -> str:
        for name, method in STATE_METHODS.items():
            if name == "replay":
                break
            try:
                if self._survives_round_trip(method(self._env)):
                    return name
            except Exception:
                continue
        return "replay"

    def _survives_round_trip(self, method: StateMethod, *, steps: int = 20) -> bool:
        """Steps, saves, goes on, restores, goes on again: both futures must agree."""
        rng = np.random.default_rng(0)
        before, after = self.action_space.sample(rng, steps), self.action_space.sample(rng, steps)
        self.reset()
        for row in before:
            if _ends(self.step(self.action_space.to_env(row))):
                self.reset()
        snapshot = encode_state(method, method.save(self._env), self.observation)
        first = self._future(after)
        if snapshot is None:
            return False
        state, self.observation = decode_state(method, snapshot)
        self._env = method.load(self._env, state)
        agrees = first == self._future(after)
        self.reset()
        return agrees

    def _future(self, actions: NDArray[Any]) -> list[bytes]:
        trace = []
        for row in actions:
            result = self.step(self.action_space.to_env(row))
            trace.append(pack([result[0], result[1], result[2], result[3]]))
            if _ends(result):
                break
        return trace


def _ends(result: StepResult) -> bool:
    return result[2] or result[3]
