"""The whole scene as a MuJoCo model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mujoco

from goexplore.envs.shelves._arm import add_arm
from goexplore.envs.shelves._furniture import DOORS, Block, Door, add_block, add_door, add_shelf, add_table

LARGEST_PICTURE = 1920, 1080


def build_scene(*, time_step: float, block: Block | None = None, doors: Sequence[Door] = DOORS) -> Any:
    """Builds the robot, the table, the shelf with its doors, and the block.

    Args:
        time_step: of the simulation, in seconds.
        block: what to grasp.
        doors: those that are there.
    """
    spec = mujoco.MjSpec()
    spec.modelname = "shelves"
    spec.compiler.degree = False
    spec.option.timestep = time_step
    world = spec.worldbody
    world.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1], rgba=[0.25, 0.27, 0.3, 1])
    world.add_light(pos=[1, -0.2, 3.5], dir=[-0.3, 0.3, -1], **_directional())
    add_arm(spec)
    add_table(world)
    add_shelf(world)
    for door in doors:
        add_door(world, door)
    add_block(world, block or Block())
    model = spec.compile()
    model.vis.global_.offwidth, model.vis.global_.offheight = LARGEST_PICTURE
    return model


def _directional() -> dict[str, Any]:
    """A light from far away, as MuJoCo's version has it."""
    kinds = getattr(mujoco, "mjtLightType", None)
    return {"directional": True} if kinds is None else {"type": kinds.mjLIGHT_DIRECTIONAL}
