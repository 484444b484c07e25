"""The robot: joints, link offsets, masses and limits of a Fetch arm on a base that does not move, as plain shapes.

The robot's own meshes are not freely licensed; its dimensions are facts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import mujoco

from goexplore.envs.shelves._shapes import HINGE, SLIDE, Vector, X, Y, Z, add_box, add_joint

WHITE, BLUE, DARK = (0.92, 0.92, 0.94, 1.0), (0.1, 0.5, 0.77, 1.0), (0.36, 0.36, 0.38, 1.0)
BASE_POSITION = (0.30, 0.27, 0.0)  # it faces +y, the table
DAMPING, ARMATURE = 50.0, 1.0  # of every joint: torques move the arm slowly and without swinging
FINGER_HALF = (0.082, 0.008, 0.030)
FINGER_TIP = 0.032  # how far the fingers reach beyond the gripper's frame
FINGER_OPENING, FINGER_STIFFNESS, FINGER_MASS = 0.05, 1e4, 0.08
PALM_MASS = 1.5
GRIPPER_OFFSET = (0.1665, 0.0, 0.0)
FINGERS = ("r_gripper_finger_link", "l_gripper_finger_link")


@dataclass(frozen=True, slots=True)
class Link:
    """A link of the arm and the joint that turns it."""

    name: str
    offset: Vector
    """Of its joint from the one before, in metres, the arm stretched out."""
    axis: Vector
    limits: tuple[float, float]
    """Of the joint, in radians."""
    torque: float
    """The most that its motor gives, in N m."""
    mass: float
    start: Vector
    """Its shape: a capsule from here..."""
    end: Vector
    """...to here, in its own frame."""
    radius: float


LINKS = (
    Link("shoulder_pan", (0.033, 0, 0.726), Z, (-1.6056, 1.6056), 33.82, 2.56, (0, 0, 0), (0.117, 0, 0.06), 0.06),
    Link("shoulder_lift", (0.117, 0, 0.06), Y, (-1.221, 1.518), 131.76, 2.66, (0, 0, 0), (0.15, 0, 0), 0.06),
    Link("upperarm_roll", (0.219, 0, 0), X, (-3.14, 3.14), 76.94, 2.33, (-0.02, 0, 0), (0.133, 0, 0), 0.055),
    Link("elbow_flex", (0.133, 0, 0), Y, (-2.251, 2.251), 66.18, 2.13, (0, 0, 0), (0.13, 0, 0), 0.055),
    Link("forearm_roll", (0.197, 0, 0), X, (-3.14, 3.14), 29.35, 1.66, (-0.02, 0, 0), (0.1245, 0, 0), 0.05),
    Link("wrist_flex", (0.1245, 0, 0), Y, (-2.16, 2.16), 25.70, 1.73, (0, 0, 0), (0.09, 0, 0), 0.05),
    Link("wrist_roll", (0.1385, 0, 0), X, (-3.14, 3.14), 7.36, 0.14, (-0.02, 0, 0), (0.02, 0, 0), 0.035),
)


def add_arm(spec: Any) -> None:
    """Adds the robot: seven torque motors and two fingers that are told where to be, in the order of the actions."""
    base = spec.worldbody.add_body(name="base_link", pos=BASE_POSITION, quat=[math.sqrt(0.5), 0, 0, math.sqrt(0.5)])
    base.add_geom(name="base", type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[0.26, 0.18, 0], pos=[0, 0, 0.19], rgba=DARK)
    add_box(base, "torso", (-0.25, -0.14, 0.37), (-0.03, 0.14, 0.98), WHITE)
    _add_head(base)
    body, chain = base, ["base_link"]
    for number, link in enumerate(LINKS):
        body = body.add_body(name=f"{link.name}_link", pos=link.offset)
        chain.append(body.name)
        add_joint(body, link.name, HINGE, link.axis, link.limits, damping=DAMPING, armature=ARMATURE)
        body.add_geom(
            name=link.name,
            type=mujoco.mjtGeom.mjGEOM_CAPSULE,
            size=[link.radius, 0, 0],
            fromto=[*link.start, *link.end],
            mass=link.mass,
            rgba=BLUE if number % 2 else WHITE,
        )
        _add_actuator(spec, link.name, (-link.torque, link.torque))
    gripper = body.add_body(name="gripper_link", pos=GRIPPER_OFFSET)
    chain.append("gripper_link")
    add_box(gripper, "palm", (-0.145, -0.06, -0.035), (-0.045, 0.06, 0.035), WHITE, mass=PALM_MASS)
    for name, side in zip(FINGERS, (1, -1), strict=True):
        _add_finger(spec, gripper, name, side)
    _let_overlap(spec, chain)


def _add_head(base: Any) -> None:
    """It looks on: no joints, but parts that the observation names."""
    pan = base.add_body(name="head_pan_link", pos=[-0.034, 0, 0.98])
    add_box(pan, "head_pan", (-0.06, -0.14, 0.0), (0.14, 0.14, 0.03), DARK)
    tilt = pan.add_body(name="head_tilt_link", pos=[0.1425, 0, 0.058])
    add_box(tilt, "head_tilt", (-0.06, -0.14, -0.03), (0.06, 0.14, 0.05), DARK)
    tilt.add_body(name="head_camera_link", pos=[0.055, 0, 0.0225])


def _add_finger(spec: Any, gripper: Any, name: str, side: int) -> None:
    length, thickness, _ = FINGER_HALF
    joint = name.removesuffix("_link")
    finger = gripper.add_body(name=name)
    limits = (0.0, FINGER_OPENING)
    add_joint(finger, joint, SLIDE, (0.0, float(side), 0.0), limits, damping=DAMPING, armature=ARMATURE)
    finger.add_geom(
        name=joint,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=FINGER_HALF,
        pos=[FINGER_TIP - length, side * thickness, 0],
        mass=FINGER_MASS,
        condim=4,  # so that what is held does not spin between the fingers
        margin=0.001,
        rgba=DARK,
    )
    servo = _add_actuator(spec, joint, limits)
    servo.gainprm[0], servo.biasprm[1] = FINGER_STIFFNESS, -FINGER_STIFFNESS
    servo.biastype = mujoco.mjtBias.mjBIAS_AFFINE


def _add_actuator(spec: Any, joint: str, limits: tuple[float, float]) -> Any:
    """A motor: what it is told is its force."""
    return spec.add_actuator(
        name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT, ctrllimited=True, ctrlrange=limits
    )


def _let_overlap(spec: Any, chain: list[str]) -> None:
    """Plain shapes are thicker at the joints than the robot is: close links pass through each other."""
    pairs = [(chain[near], far) for near in range(len(chain)) for far in chain[near + 2 : near + 4]]
    pairs.append(("base_link", "shoulder_pan_link"))
    pairs.append(FINGERS)
    pairs += [(finger, link) for finger in FINGERS for link in ("wrist_roll_link", "wrist_flex_link")]
    for one, other in pairs:
        spec.add_exclude(bodyname1=one, bodyname2=other)
