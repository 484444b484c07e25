"""A robot arm that puts a block into a shelf, with a reward only when it is there."""

from __future__ import annotations

import math
import warnings
from typing import Any

import gymnasium as gym
import mujoco
import numpy as np
from numpy.typing import NDArray

from goexplore.envs.shelves._furniture import Block
from goexplore.envs.shelves._observation import Observer, names
from goexplore.envs.shelves._scene import build_scene
from goexplore.envs.shelves._task import Look, Looker, compartment
from goexplore.errors import InputError

ACTION_SECONDS = 0.08
INTEGRATION = int(mujoco.mjtState.mjSTATE_INTEGRATION)
DIVERGED = [int(getattr(mujoco.mjtWarning, f"mjWARN_BAD{what}")) for what in ("QPOS", "QVEL", "QACC")]


class FetchShelves(gym.Env[NDArray[np.float32], NDArray[np.float32]]):
    """Nine actuators, a block on a table, and a shelf of four compartments, two of them behind latched doors.

    Reward: 1 when the block enters the target, -1 when it leaves it. The episode ends when the block falls to the
    floor, or when the simulation diverges. Nothing is random.

    Args:
        target: bottom-left, top-left, bottom-right (door) or top-right (door).
        time_step: of the simulation, in seconds; the paper's is 0.001.
        block: what there is to grasp.
        render_mode: None or "rgb_array".
        width: of pictures.
        height: of pictures.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 12}  # noqa: RUF012 - Gymnasium's own convention

    def __init__(
        self,
        target: str = "bottom-left",
        *,
        time_step: float = 0.002,
        block: Block | None = None,
        render_mode: str | None = None,
        width: int = 640,
        height: int = 480,
    ) -> None:
        _keep_quiet_about_divergence()
        self.target = compartment(target)
        self.substeps = _substeps(time_step)
        self.model = build_scene(time_step=time_step, block=block)
        self.data = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, self.data)
        self._looker = Looker(self.model, self.data, self.target)
        self._observer = Observer(self.model, target, ACTION_SECONDS)
        self.observing = True
        """Whether steps compute the observation. A search whose cells do not need it does without; see `observe`."""
        self.look: Look = self._looker.look(self.data)
        """What matters of the state, after the last action."""
        self._unobserved = np.zeros(self._observer.size, np.float32)
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, self._unobserved.shape, np.float32)
        limits = self.model.actuator_ctrlrange
        self._middle, self._half = limits.mean(axis=1), (limits[:, 1] - limits[:, 0]) / 2
        self.action_space = gym.spaces.Box(-1.0, 1.0, (self.model.nu,), np.float32)
        self.render_mode = render_mode
        self._picture_size = height, width
        self._renderer: Any = None

    @property
    def observation_names(self) -> list[str]:
        """What each number of the observation is."""
        return names()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Stretches the arm out and puts the block just above the table; always the same."""
        super().reset(seed=seed)
        mujoco.mj_resetData(self.model, self.data)
        mujoco.mj_forward(self.model, self.data)
        self.look = self._looker.look(self.data)
        return self._observation(), self._info()

    def step(self, action: NDArray[np.float32]) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Applies torques and moves the fingers for 0.08 s.

        Args:
            action: nine numbers from -1 to 1, spread over each actuator's range; 0 is no torque, fingers half open.

        Raises:
            InputError: the action has another shape, or is not finite.
        """
        was_inside = self.look.inside
        self.data.ctrl[:] = self.controls(action)
        mujoco.mj_step(self.model, self.data, self.substeps)
        diverged = self._has_diverged()
        self.look = self._looker.look(self.data)
        reward = 0.0 if diverged else float(self.look.inside) - float(was_inside)
        return self._observation(), reward, diverged or self.look.fallen, False, self._info(diverged=diverged)

    def controls(self, action: NDArray[np.float32]) -> NDArray[np.float64]:
        """What the actuators are told: an action spread over their ranges.

        Raises:
            InputError: the action has another shape, or is not finite.
        """
        wanted = np.asarray(action, np.float64)
        if wanted.shape != self._half.shape or not math.isfinite(wanted.sum()):
            raise InputError(
                f"action {action!r}: expected {self.model.nu} finite numbers from -1 to 1 (seven torques, two fingers)"
            )
        told: NDArray[np.float64] = np.minimum(np.maximum(wanted, -1.0), 1.0)  # `clip` takes three times as long
        told *= self._half
        told += self._middle
        return told

    def _has_diverged(self) -> bool:
        """MuJoCo starts anew without a word when numbers get out of hand; only a counter tells."""
        counts = self.data.warning.number
        if not any(counts.tolist()):
            return False
        diverged = bool(counts[DIVERGED].any())
        counts[:] = 0
        return diverged

    def observe(self) -> NDArray[np.float32]:
        """Computes the observation, which steps leave out while `observing` is off."""
        return self._observer.observe(self.data)

    def _observation(self) -> NDArray[np.float32]:
        return self.observe() if self.observing else self._unobserved

    def _info(self, *, diverged: bool = False) -> dict[str, Any]:
        look = self.look
        return {
            "touch": look.fingers > 0,
            "grasp": look.fingers > 1,
            "lift": look.lifted,
            "is_success": look.inside,
            "diverged": diverged,
        }

    def get_state(self) -> dict[str, Any]:
        """Saves what the simulation continues from bit for bit, and what was seen last."""
        physics = np.empty(mujoco.mj_stateSize(self.model, INTEGRATION))
        mujoco.mj_getState(self.model, self.data, physics, INTEGRATION)
        return {"physics": physics, "look": tuple(self.look)}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restores what `get_state` saved."""
        mujoco.mj_setState(self.model, self.data, state["physics"], INTEGRATION)
        mujoco.mj_forward(self.model, self.data)  # positions and contacts, for whoever looks before the next action
        gripper, *rest = state["look"]
        self.look = Look(tuple(gripper), *rest)

    def render(self) -> NDArray[np.uint8] | None:
        """Draws the scene.

        Raises:
            InputError: there is no OpenGL to draw with.
        """
        if self.render_mode is None:
            return None
        if self._renderer is None:
            self._renderer, self._drawn = _make_renderer(self.model, *self._picture_size), mujoco.MjData(self.model)
            self._camera = _camera()
        # On a copy: drawing computes positions anew, which would change what the next observation is based on.
        self._drawn.qpos[:] = self.data.qpos
        mujoco.mj_forward(self.model, self._drawn)
        self._renderer.update_scene(self._drawn, self._camera)
        picture: NDArray[np.uint8] = self._renderer.render()
        return picture

    def close(self) -> None:
        """Gives the drawing context back."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None


def _keep_quiet_about_divergence() -> None:
    """MuJoCo would print it and write a file into the current folder, for what is an end of episode here."""

    def warn(message: str | bytes) -> None:
        text = message.decode() if isinstance(message, bytes) else message
        if "simulation is unstable" not in text:
            warnings.warn(text, stacklevel=2)

    mujoco.set_mju_user_warning(warn)


def _substeps(time_step: float) -> int:
    substeps = round(ACTION_SECONDS / time_step) if time_step > 0 else 0
    if substeps < 1 or abs(substeps * time_step - ACTION_SECONDS) > 1e-9:
        raise InputError(f"time_step {time_step}: expected a part of {ACTION_SECONDS} s, for example 0.001 or 0.002")
    return substeps


def _make_renderer(model: Any, height: int, width: int) -> Any:
    try:
        return mujoco.Renderer(model, height, width)
    except Exception as error:  # whatever the machine lacks
        raise InputError(
            f"there is no OpenGL to draw with ({type(error).__name__}: {error}); install EGL or OSMesa and set the"
            " environment variable MUJOCO_GL to egl or osmesa before Python starts"
        ) from error


def _camera() -> Any:
    camera = mujoco.MjvCamera()
    camera.lookat[:] = (0.15, 0.62, 0.95)
    camera.distance, camera.azimuth, camera.elevation = 2.9, 150.0, -24.0
    return camera
