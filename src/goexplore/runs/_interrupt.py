"""Ctrl-C and SIGTERM at a moment when nothing can be lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Impatient(KeyboardInterrupt):
    """Someone asked twice."""


class StopRequest:
    """Turns the first signal into a request, and interrupts only what may be interrupted.

        with StopRequest() as stop:
            while not stop.requested:
                with stop.interruptible():
                    results = executor.collect()     # waiting: may be cut short
                loop.tell(results)                   # merging: must not

    A second signal raises `Impatient` wherever the program is. It must not be saved from there, because it may be
    in the middle of a merge; the last checkpoint stands.
    """

    def __init__(self) -> None:
        self.requested = False
        self._interruptible = False
        self._former: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopRequest:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._former[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Lets a signal raise KeyboardInterrupt here."""
        self._interruptible = True
        try:
            if self.requested:
                raise KeyboardInterrupt
            yield
        finally:
            self._interruptible = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise Impatient
        self.requested = True
        if self._interruptible:
            raise KeyboardInterrupt
