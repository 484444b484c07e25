"""metrics.jsonl, and the same numbers for TensorBoard."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from goexplore.runs._files import write_atomically

TENSORBOARD_SECONDS = 2.0

EXPLORATION_TAGS = {
    "cells": "archive/cells",
    "best_score": "archive/best_score",
    "best_steps": "archive/best_steps",
    "end_score": "archive/end_score",
    "new_cells": "archive/new_cells",
    "improved_cells": "archive/improved_cells",
    "frames_per_second": "explore/frames_per_second",
    "steps": "explore/steps",
    "return_steps": "explore/return_steps",
}


class MetricsLog:
    """Appends one line an iteration.

    Args:
        folder: the run folder.
        resume_at: iteration and frames of the checkpoint the run goes on from; what was written after
            it is dropped, because it happens again.
        tags: what TensorBoard calls the numbers; those without one are not shown there.
    """

    def __init__(
        self, folder: Path, *, resume_at: tuple[int, int] = (0, 0), tags: Mapping[str, str] = EXPLORATION_TAGS
    ) -> None:
        self._tags = tags
        self._path = folder / "metrics.jsonl"
        iteration, frames = resume_at
        if self._path.exists():
            self._drop_after(iteration)
        self._file = self._path.open("a", buffering=1)
        self._board = _board(folder, purge_after_frames=frames if iteration else None)
        self._last_board = 0.0
        self._unwritten: dict[str, Any] = {}

    def write(self, **values: Any) -> None:
        """Writes the numbers of an iteration; None and infinities are left out."""
        present = {name: value for name, value in values.items() if value is not None}
        now = time.monotonic()
        self._file.write(json.dumps(present) + "\n")
        self._unwritten = present
        if now - self._last_board > TENSORBOARD_SECONDS:
            self._last_board = now
            self._to_board()

    def close(self) -> None:
        """Flushes and closes both."""
        with contextlib.suppress(OSError):  # a full disk was reported where it was first met
            self._file.close()
            self._to_board()
            if self._board is not None:
                self._board.close()

    def _to_board(self) -> None:
        values, self._unwritten = self._unwritten, {}
        if self._board is not None and values:
            self._board.add({tag: values[name] for name, tag in self._tags.items() if name in values}, values["frames"])

    def _drop_after(self, iteration: int) -> None:
        kept = []
        for line in self._path.read_bytes().splitlines(keepends=True):
            try:
                if line.endswith(b"\n") and json.loads(line)["iteration"] <= iteration:
                    kept.append(line)
            except (ValueError, KeyError, TypeError):
                continue  # a line cut short by a kill
        write_atomically(self._path, lambda file: file.writelines(kept))


def _board(folder: Path, *, purge_after_frames: int | None) -> _TensorBoard | None:
    try:
        import tensorboard.summary.writer.event_file_writer  # noqa: F401
    except ImportError:
        return None  # an optional extra; metrics.jsonl has the same numbers
    return _TensorBoard(folder, purge_after_frames)


class _TensorBoard:
    """Scalars with TensorBoard's own writer; the x axis is raw frames."""

    def __init__(self, folder: Path, purge_after_frames: int | None) -> None:
        from tensorboard.compat.proto import event_pb2, summary_pb2
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._event, self._summary = event_pb2, summary_pb2
        self._writer = EventFileWriter(str(folder))
        if purge_after_frames is not None:
            start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
            self._writer.add_event(
                event_pb2.Event(wall_time=time.time(), step=purge_after_frames + 1, session_log=start)
            )

    def add(self, scalars: dict[str, float], frames: int) -> None:
        values = [self._summary.Summary.Value(tag=tag, simple_value=value) for tag, value in scalars.items()]
        summary = self._summary.Summary(value=values)
        self._writer.add_event(self._event.Event(wall_time=time.time(), step=frames, summary=summary))

    def close(self) -> None:
        self._writer.close()
