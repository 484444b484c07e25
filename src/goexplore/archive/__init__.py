"""The archive of cells, their trajectories and snapshots, and how cells are selected from it."""

from goexplore.archive._archive import (
    FIELDS,
    NEVER,
    AddStatus,
    Archive,
    Best,
    Way,
    better,
)
from goexplore.archive._columns import Columns
from goexplore.archive._forest import START, Forest, Trajectory
from goexplore.archive._frames import FrameCodec, identity
from goexplore.archive._joined import join_bytes, split_bytes
from goexplore.archive._montezuma_selector import MontezumaSelector
from goexplore.archive._room_selector import RoomSelector
from goexplore.archive._selectors import (
    InverseSelector,
    SeenSelector,
    Selector,
    StepsSelector,
    UniformSelector,
    draw,
    make_selector,
    names_own_selector,
)
from goexplore.archive._snapshots import SnapshotCodec

__all__ = [
    "FIELDS",
    "NEVER",
    "START",
    "AddStatus",
    "Archive",
    "Best",
    "Columns",
    "Forest",
    "FrameCodec",
    "InverseSelector",
    "MontezumaSelector",
    "RoomSelector",
    "SeenSelector",
    "Selector",
    "SnapshotCodec",
    "StepsSelector",
    "Trajectory",
    "UniformSelector",
    "Way",
    "better",
    "draw",
    "identity",
    "join_bytes",
    "make_selector",
    "names_own_selector",
    "split_bytes",
]
