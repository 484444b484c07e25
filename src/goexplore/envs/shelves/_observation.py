"""What a policy sees: positions and velocities, contacts and places of the paper's entities (Extended Data, Table 2).

In this order, as `names` spells out:

| values | what |
|---|---|
| 12 for each of 18 bodies | angles about x, y and z; position; linear and angular velocity for each action |
| 1 for each pair of 17 entities | whether they touch |
| 4 | the target |
| 6 for each of the 17 entities | whether its middle is inside each compartment, the shelf, or above the table |

An entity that stands for a whole structure (DoorUR, DoorLR) touches what its parts touch.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.envs.shelves._furniture import DOORS
from goexplore.envs.shelves._task import COMPARTMENTS, INSIDE_SHARE, Zone

MOVING = (
    "door1",
    "door",
    "elbow_flex_link",
    "forearm_roll_link",
    "gripper_link",
    "head_camera_link",
    "head_pan_link",
    "head_tilt_link",
    "l_gripper_finger_link",
    "latch1",
    "latch",
    "obj0",
    "r_gripper_finger_link",
    "shoulder_lift_link",
    "shoulder_pan_link",
    "upperarm_roll_link",
    "wrist_flex_link",
    "wrist_roll_link",
)
TOUCHING = (
    "DoorLR",
    "DoorUR",
    "Shelf",
    "Table",
    "door1",
    "door",
    "frameL1",
    "frameL",
    "frameR1",
    "frameR",
    "gripper_link",
    "l_gripper_finger_link",
    "latch1",
    "latch",
    "obj0",
    "r_gripper_finger_link",
    "world",
)
QUANTITIES = ("angle", "position", "velocity", "spin")
ZONES = {
    **{name: each.zone.scaled(INSIDE_SHARE) for name, each in COMPARTMENTS.items()},
    # A little more than their own extent, as the authors had it; above the table there is no end.
    "shelf": Zone((-0.45, 0.485, 1.13), (0.3, 0.822, 0.756)),
    "table": Zone((0.3, 1.0, 50.235), (0.96, 0.6, 49.79)),
}
PAIRS = tuple(itertools.combinations(TOUCHING, 2))


def names() -> list[str]:
    """What each number of the observation is."""
    return [
        *(f"{body} {quantity} {axis}" for body in MOVING for quantity in QUANTITIES for axis in "xyz"),
        *(f"{one} touches {other}" for one, other in PAIRS),
        *(f"target is {name}" for name in COMPARTMENTS),
        *(f"{entity} in {zone}" for entity in TOUCHING for zone in ZONES),
    ]


class Observer:
    """Computes the observation.

    Args:
        model: the scene.
        target: name of the compartment.
        seconds: what an action lasts; velocities are for this long.
    """

    def __init__(self, model: Any, target: str, seconds: float) -> None:
        self.size = len(names())
        self._moving = np.array([model.body(name).id for name in MOVING])
        self._roots = np.array(model.body_rootid)[self._moving]
        self._entities = np.array([model.body(name).id for name in TOUCHING])
        self._seconds = seconds
        self._target = np.array([name == target for name in COMPARTMENTS], np.float32)
        self._low = np.array([zone.low for zone in ZONES.values()])
        self._high = np.array([zone.high for zone in ZONES.values()])
        self._pairs = np.triu_indices(len(TOUCHING), 1)
        self._belongs = self._membership(model)

    def _membership(self, model: Any) -> NDArray[np.bool_]:
        """Which entities a geom is part of: one, or a door's part and the whole door."""
        belongs = np.zeros((model.ngeom, len(TOUCHING)), bool)
        whole = {part: door.structure for door in DOORS for part in (door.door, door.latch, *door.frames)}
        for geom, body in enumerate(model.geom_bodyid):
            name = model.body(body).name
            for entity in (name, whole.get(name)):
                if entity in TOUCHING:
                    belongs[geom, TOUCHING.index(entity)] = True
        return belongs

    def observe(self, data: Any) -> NDArray[np.float32]:
        """Computes it for a state whose positions and contacts are known."""
        motion = np.empty((len(QUANTITIES) * 3, len(MOVING)))  # number by number: faster here than body by body
        position = data.xpos[self._moving]
        motion[:3], motion[3:6] = self._angles(data), position.T
        motion[6:] = self._velocities(data, position)
        return np.concatenate(
            [motion.T.ravel(), self._contacts(data), self._target, self._places(data)],
            dtype=np.float32,
            casting="unsafe",
        )

    def _angles(self, data: Any) -> NDArray[np.float64]:
        """Turns about the fixed axes x, y and z, in this order."""
        turns = data.xmat[self._moving].T
        rise, flat = turns[[7, 6, 3]], turns[[8, 0, 0]]
        rise[1], flat[1] = -rise[1], np.hypot(turns[0], turns[3])
        angles: NDArray[np.float64] = np.arctan2(rise, flat)
        return angles

    def _velocities(self, data: Any, position: NDArray[np.float64]) -> NDArray[np.float64]:
        """MuJoCo has them at the centre of mass of the whole tree of bodies; moved to each body's own place."""
        moves = data.cvel[self._moving].T * self._seconds
        (x, y, z), (turn_x, turn_y, turn_z) = (position - data.subtree_com[self._roots]).T, moves[:3]
        moves[3] += turn_y * z - turn_z * y
        moves[4] += turn_z * x - turn_x * z
        moves[5] += turn_x * y - turn_y * x
        reordered: NDArray[np.float64] = moves[[3, 4, 5, 0, 1, 2]]
        return reordered

    def _contacts(self, data: Any) -> NDArray[np.bool_]:
        one, other = self._belongs[data.contact.geom].swapaxes(0, 1) if data.ncon else (self._belongs[:0],) * 2
        touch = one.T.astype(np.float32) @ other.astype(np.float32)
        return (touch + touch.T)[self._pairs] > 0

    def _places(self, data: Any) -> NDArray[np.bool_]:
        places = data.xpos[self._entities][:, None]
        inside: NDArray[np.bool_] = ((places >= self._low) & (places <= self._high)).all(axis=2)
        return inside.ravel()
