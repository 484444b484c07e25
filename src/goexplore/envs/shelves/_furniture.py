"""Table, shelf, doors with latches, and what there is to grasp. Metres, in the world's frame."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import mujoco

from goexplore.envs.shelves._shapes import HINGE, SLIDE, Vector, Y, Z, add_box, add_joint

WOOD, GRAY, LIGHT = (0.72, 0.53, 0.33, 1.0), (0.6, 0.6, 0.62, 1.0), (0.85, 0.82, 0.78, 1.0)
DARK, PALE, VIOLET = (0.25, 0.25, 0.25, 1.0), (0.8, 0.9, 1.0, 1.0), (0.5, 0.35, 0.6, 1.0)

BOARD = 0.03  # half the thickness of a board
SHELF_BACK, SHELF_FACE = -0.70, -0.20  # x; it is open towards +x
BOARD_HEIGHTS, SIDE_PLACES = (0.53, 1.13, 1.73), (-0.17, 0.485, 1.14)  # z and y of their middles

DOOR_X, HINGE_Y = -0.125, 1.03
DOOR_HALF_HEIGHT, DOOR_HALF_THICKNESS = 0.28, 0.05
DOOR_EDGE, DOOR_FAR_EDGE = 0.63, 1.08  # y of the panel
DOOR_Y = (DOOR_EDGE + DOOR_FAR_EDGE) / 2


@dataclass(frozen=True, slots=True)
class Block:
    """What there is to grasp: a box."""

    half_size: Vector = (0.10, 0.03, 0.03)
    position: Vector = (0.9, 0.7, 0.6)
    """Of its middle at the start: a little above the table, onto which it falls."""
    yaw: float = -0.4
    """Turned about the vertical by this, in radians."""
    density: float = 1000.0
    """In kg/m3."""


@dataclass(frozen=True, slots=True)
class Door:
    """A door with a bolt. Names are the paper's: a 1 at the end means the lower door."""

    structure: str
    suffix: str
    height: float
    """z of its middle."""

    @property
    def door(self) -> str:
        """The part that swings."""
        return f"door{self.suffix}"

    @property
    def latch(self) -> str:
        """The bolt, which slides in the door."""
        return f"latch{self.suffix}"

    @property
    def handle(self) -> str:
        """A mark at the handle."""
        return f"handle{self.suffix}"

    @property
    def frames(self) -> tuple[str, str]:
        """The posts on either side."""
        return f"frameL{self.suffix}", f"frameR{self.suffix}"


UPPER_DOOR, LOWER_DOOR = Door("DoorUR", "", 1.427), Door("DoorLR", "1", 0.822)
DOORS = (LOWER_DOOR, UPPER_DOOR)


def add_table(world: Any) -> None:
    """Adds the table."""
    table = world.add_body(name="Table", pos=[0.3, 1.0, 0.475])
    add_box(table, "table_top", (-0.8, -0.5, -0.025), (0.8, 0.5, 0.025), LIGHT)
    for x in (-0.75, 0.75):
        for y in (-0.45, 0.45):  # to look at only: an arm never gets there
            add_box(
                table, "", (x - 0.03, y - 0.03, -0.475), (x + 0.03, y + 0.03, -0.025), LIGHT, contype=0, conaffinity=0
            )


def add_shelf(world: Any) -> None:
    """Adds the cabinet of two by two compartments."""
    shelf = world.add_body(name="Shelf")
    for number, z in enumerate(BOARD_HEIGHTS):
        add_box(shelf, f"board{number}", (SHELF_BACK, -0.14, z - BOARD), (SHELF_FACE, 1.11, z + BOARD), GRAY)
    for number, y in enumerate(SIDE_PLACES):
        add_box(shelf, f"side{number}", (SHELF_BACK, y - BOARD, 0.5), (SHELF_FACE, y + BOARD, 1.76), GRAY)
    add_box(shelf, "back", (SHELF_BACK - BOARD, -0.2, 0.5), (SHELF_BACK + BOARD, 1.17, 1.76), DARK)


def add_door(world: Any, door: Door) -> None:
    """Adds a door that its bolt keeps shut: the bolt must slide by more than 9 cm before the door can swing."""
    structure = world.add_body(name=door.structure, pos=[DOOR_X, DOOR_Y, door.height])
    _add_posts(structure, door)
    panel = structure.add_body(name=door.door)
    hinge = HINGE_Y - DOOR_Y
    add_joint(
        panel,
        f"hinge{door.suffix}",
        HINGE,
        Z,
        (0.0, 2.5),
        pos=[0, hinge, 0],
        damping=1.0,
        armature=0.01,
        frictionloss=2.0,
    )
    low, high = DOOR_EDGE - DOOR_Y, DOOR_FAR_EDGE - DOOR_Y
    thick, tall = DOOR_HALF_THICKNESS, DOOR_HALF_HEIGHT
    add_box(panel, f"panel{door.suffix}", (-thick, low, -tall), (thick, high, tall), WOOD, mass=2.4)
    _add_cage(panel, f"guide{door.suffix}", low, low + 0.10, front=0.079, mass=0.0)
    handle = 0.68 - DOOR_Y
    add_box(panel, f"pull{door.suffix}", (0.15, handle - 0.01, -0.05), (0.17, handle + 0.01, 0.05), PALE, mass=0.0)
    panel.add_site(name=door.handle, pos=[0.16, handle, 0])
    _add_bolt(panel, door)


def _add_posts(structure: Any, door: Door) -> None:
    """The post that the bolt reaches into, and one beside the hinge that is there to look at only."""
    left, right = (structure.add_body(name=name) for name in door.frames)
    thick, tall = DOOR_HALF_THICKNESS, DOOR_HALF_HEIGHT
    low, high = 0.51 - DOOR_Y, 0.61 - DOOR_Y
    add_box(left, f"post{door.suffix}", (-thick, low, -tall), (thick, high, tall), WOOD)
    _add_cage(left, f"keeper{door.suffix}", low, high, front=0.08, condim=1)
    low, high = DOOR_FAR_EDGE - DOOR_Y, 1.14 - DOOR_Y
    add_box(right, "", (-thick, low, -tall), (thick, high, tall), WOOD, contype=0, conaffinity=0)


def _add_cage(body: Any, name: str, low: float, high: float, *, front: float, **settings: Any) -> None:
    """Plates below, above and in front of the bolt, between `low` and `high` along y."""
    for where, z in (("below", -0.051), ("above", 0.051)):
        add_box(body, f"{name}_{where}", (0.05, low, z - 0.01), (0.08, high, z + 0.01), WOOD, **settings)
    add_box(body, f"{name}_front", (front, low, -0.06), (front + 0.022, high, 0.06), WOOD, **settings)


def _add_bolt(panel: Any, door: Door) -> None:
    """Nothing moves it but a push along y: it has no weight to speak of and a lot of friction."""
    bolt = panel.add_body(name=door.latch, pos=[0.065, 0.67 - DOOR_Y, 0])
    add_joint(bolt, f"bolt{door.suffix}", SLIDE, Y, (0.0, 0.15), frictionloss=10.0)
    add_box(bolt, f"bar{door.suffix}", (-0.01, -0.15, -0.0375), (0.01, 0.15, 0.0375), VIOLET, condim=1, mass=0.42)
    add_box(bolt, f"knob{door.suffix}", (0.0, 0.115, -0.035), (0.04, 0.135, 0.035), PALE, mass=0.04)


def add_block(world: Any, block: Block) -> None:
    """Adds what there is to grasp."""
    body = world.add_body(
        name="obj0", pos=block.position, quat=[math.cos(block.yaw / 2), 0, 0, math.sin(block.yaw / 2)]
    )
    body.add_freejoint(name="obj0")
    body.add_geom(
        name="obj0",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=block.half_size,
        density=block.density,
        rgba=[0.15, 0.5, 0.85, 1],
    )
