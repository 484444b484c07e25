"""The task: which compartment counts, and what is touched, grasped, lifted, inside and open."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goexplore.envs.shelves._arm import FINGERS
from goexplore.envs.shelves._furniture import LOWER_DOOR, UPPER_DOOR, Door
from goexplore.envs.shelves._shapes import Vector
from goexplore.errors import InputError
from goexplore.plugins import nearest

INSIDE_SHARE = 0.9
"""The middle of the block must lie in this share of a compartment's extent."""


@dataclass(frozen=True, slots=True)
class Zone:
    """A box in space."""

    middle: Vector
    half_size: Vector

    @property
    def low(self) -> NDArray[np.float64]:
        """The lowest corner."""
        return np.subtract(self.middle, self.half_size)

    @property
    def high(self) -> NDArray[np.float64]:
        """The highest corner."""
        return np.add(self.middle, self.half_size)

    def scaled(self, share: float) -> Zone:
        """The same middle, another size."""
        x, y, z = self.half_size
        return Zone(self.middle, (share * x, share * y, share * z))


@dataclass(frozen=True, slots=True)
class Compartment:
    """A place to put the block."""

    zone: Zone
    door: Door | None = None


ROOM = (0.25, 0.2975, 0.27)
COMPARTMENTS: dict[str, Compartment] = {
    "bottom-left": Compartment(Zone((-0.45, 0.1575, 0.83), ROOM)),
    "top-left": Compartment(Zone((-0.45, 0.1575, 1.43), ROOM)),
    "bottom-right": Compartment(Zone((-0.45, 0.8125, 0.83), ROOM), LOWER_DOOR),
    "top-right": Compartment(Zone((-0.45, 0.8125, 1.43), ROOM), UPPER_DOOR),
}
"""Left and right as one sees them from the table. In the authors' code: 1000, 0100, 0010, 0001."""


def compartment(name: str) -> Compartment:
    """Returns the compartment of that name.

    Raises:
        InputError: there is none.
    """
    if name not in COMPARTMENTS:
        hint = nearest(str(name), COMPARTMENTS)
        raise InputError(f"target {name!r}: expected one of {', '.join(COMPARTMENTS)}{hint}")
    return COMPARTMENTS[name]


class Look(NamedTuple):
    """What matters of a state, for rewards and cells."""

    gripper: Vector
    """Where the gripper is, in metres."""
    fingers: int
    """How many fingers touch the block: 1 is a touch, 2 are a grasp."""
    lifted: bool
    """Grasped, and not on the table."""
    fallen: bool
    """The block lies on the floor, out of reach."""
    inside: bool
    """The block is in the target."""
    door: float
    """How far the handle of the target's door is from where it was, in metres; 0 without a door."""
    latch: float
    """The same for its latch."""
    upper: bool
    """Whether the target's door is the upper one."""


class Looker:
    """Reads `Look` from the simulation, as it was when the last substep began: MuJoCo computes it then.

    Args:
        model: the scene.
        data: its state before anything has moved, computed.
        target: where the block should go.
    """

    def __init__(self, model: Any, data: Any, target: Compartment) -> None:
        self._geom_body = np.array(model.geom_bodyid)
        self._block, self._table = (model.body(name).id for name in ("obj0", "Table"))
        self._fingers = {model.body(name).id for name in FINGERS}
        self._gripper = model.body("gripper_link").id
        zone = target.zone.scaled(INSIDE_SHARE)
        self._low, self._high = zone.low.tolist(), zone.high.tolist()
        self._door, self._upper = target.door, target.door is UPPER_DOOR
        if target.door is not None:
            self._handle, self._latch = model.site(target.door.handle).id, model.body(target.door.latch).id
            self._handle_start = data.site_xpos[self._handle].tolist()
            self._latch_start = data.xpos[self._latch].tolist()

    def look(self, data: Any) -> Look:
        """Reads it."""
        touched = self._touched_by_block(data)
        fingers = len(touched & self._fingers)
        x, y, z = data.xpos[self._block].tolist()
        (low_x, low_y, low_z), (high_x, high_y, high_z) = self._low, self._high
        door = latch = 0.0
        if self._door is not None:
            door = math.dist(data.site_xpos[self._handle].tolist(), self._handle_start)
            latch = math.dist(data.xpos[self._latch].tolist(), self._latch_start)
        return Look(
            gripper=tuple(data.xpos[self._gripper].tolist()),
            fingers=fingers,
            lifted=fingers == len(FINGERS) and self._table not in touched,
            fallen=0 in touched,
            inside=low_x <= x <= high_x and low_y <= y <= high_y and low_z <= z <= high_z,
            door=door,
            latch=latch,
            upper=self._upper,
        )

    def _touched_by_block(self, data: Any) -> set[int]:
        """The bodies that touch the block; 0 is the world, that is the floor."""
        touched: set[int] = set()
        if data.ncon:  # there are a dozen: a loop is faster here than arrays
            for one, other in self._geom_body[data.contact.geom].tolist():
                if one == self._block:
                    touched.add(other)
                elif other == self._block:
                    touched.add(one)
        return touched
