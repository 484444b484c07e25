"""What is known of the robot and the shelf (Methods, "Domain knowledge representations")."""

from __future__ import annotations

import math
from typing import Any

from goexplore.cells._protocol import CellFunction
from goexplore.errors import InputError

VOXEL = 0.5
"""Side of the voxels in which the gripper is, in metres. Paper: 0.5."""
DOOR_OFFSET, DOOR_SIZE = 0.195, 0.2
"""Bins of doors and latches, in metres: 0 up to 5 mm, then one for every 20 cm."""
NO_DOOR = (0, 0)
ORIGIN = 128
"""Voxel 0 as a byte."""
SMALLEST_VOXEL = 0.02
"""The arm reaches less than 2 m in any direction, and a byte holds 127 voxels."""
AUTHORS_DOOR_SHARE = 0.2 / math.hypot(0.16, 0.35)
"""The authors measured a door 20 cm from its hinge, and we at its handle, which moves in proportion."""
AUTHORS_LATCH_SHARE = 0.5


class ShelvesCells(CellFunction):
    """Cells of FetchShelves.

    Door and latch (upper, then lower; those of the target only), touch and grasp, whether the block is in the target,
    and the gripper's voxel.

    Args:
        original: measure doors and latches as the authors' code did: the latch at half its distance, the door nearer
            to its hinge.
        lift: also tell whether the block is lifted off the table; not in the paper.
        voxel: side of the voxels in which the gripper is, in metres.
    """

    reads_observations = False

    def __init__(self, *, original: bool = False, lift: bool = False, voxel: float = VOXEL) -> None:
        if not SMALLEST_VOXEL <= voxel < math.inf:
            raise InputError(f"voxel {voxel}: expected at least {SMALLEST_VOXEL} m")
        self._door_share, self._latch_share = (AUTHORS_DOOR_SHARE, AUTHORS_LATCH_SHARE) if original else (1.0, 1.0)
        self._lift, self._voxel = lift, voxel

    def key(self, observation: Any, env: Any) -> bytes:
        """Looks at the simulation.

        Raises:
            InputError: the environment is another one.
        """
        look = getattr(env.unwrapped, "look", None)
        if look is None:
            raise InputError("the cells 'shelves' work with goexplore/FetchShelves-v0 only")
        doors = (
            int((self._door_share * look.door + DOOR_OFFSET) / DOOR_SIZE),
            int((self._latch_share * look.latch + DOOR_OFFSET) / DOOR_SIZE),
        )
        return bytes(
            (
                *(doors if look.upper else NO_DOOR),
                *(NO_DOOR if look.upper else doors),
                min(look.fingers, 2) + (self._lift and look.lifted),
                look.inside,
                *(ORIGIN + math.floor(place / self._voxel) for place in look.gripper),
            )
        )

    def describe(self, key: bytes) -> dict[str, Any]:
        """What a key says, in words."""
        upper_door, upper_latch, lower_door, lower_latch, hold, inside, *voxel = key
        x, y, z = (self._voxel * (place - ORIGIN) for place in voxel)
        return {
            "door": upper_door + lower_door,
            "latch": upper_latch + lower_latch,
            "block": ("free", "touched", "grasped", "lifted")[hold],
            "in_target": bool(inside),
            "x": x,
            "y": y,
            "z": z,
        }
