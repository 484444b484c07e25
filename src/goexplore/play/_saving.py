"""Games under way, in checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from goexplore.envs import SnapshotKind
from goexplore.play._protocol import Play


def save_game(play: Play) -> tuple[list[Any] | None, bytes]:
    """What leads back to where a game is: its snapshot; or what was done since the last reset or restore.

    A snapshot that is not plain data stays in memory: reading it back from a file could run code.
    """
    if play.snapshot_kind is SnapshotKind.PLAIN:
        return None, play.snapshot()
    return play.taken().tolist(), b""


def restore_game(play: Play, begin: Callable[[], None], taken: list[Any] | None, snapshot: bytes) -> None:
    """Takes over what `save_game` returned.

    Args:
        play: the game.
        begin: puts it where it was before anything was done.
        taken: actions since then.
        snapshot: where it was.
    """
    if play.snapshot_kind is SnapshotKind.PLAIN:
        play.restore(snapshot)
        return
    begin()
    for row in taken or []:
        play.replay(row)
