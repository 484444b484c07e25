"""Small helpers around MjSpec."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

Vector = tuple[float, float, float]
Colour = tuple[float, float, float, float]

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
HINGE, SLIDE = mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE
_DAMPING_IS_A_POLYNOMIAL = int(mujoco.__version__.split(".", maxsplit=1)[0]) >= 4


def add_box(body: Any, name: str, low: Vector, high: Vector, colour: Colour, **settings: Any) -> None:
    """Adds a box that reaches from one corner to the opposite one, in the body's frame."""
    lowest, highest = np.array(low), np.array(high)
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=(highest - lowest) / 2,
        pos=(highest + lowest) / 2,
        rgba=colour,
        **settings,
    )


def add_joint(
    body: Any, name: str, kind: Any, axis: Vector, limits: tuple[float, float], *, damping: float = 0.0, **settings: Any
) -> None:
    """Adds a joint with limits."""
    body.add_joint(
        name=name,
        type=kind,
        axis=axis,
        range=limits,
        limited=True,
        damping=[damping, 0.0, 0.0] if _DAMPING_IS_A_POLYNOMIAL else damping,
        **settings,
    )
