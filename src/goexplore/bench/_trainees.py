"""Programs that train when it is their turn, each in processes of its own."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from goexplore.errors import GoExploreError, InputError
from goexplore.executors import available_cores
from goexplore.learn import Ranks
from goexplore.training import Trainable


def check_seconds(seconds: float) -> None:
    """Whether one measurement is of a length that the others can wait for.

    Raises:
        InputError: it is not.
    """
    if not 0 <= seconds <= 120:
        raise InputError(f"seconds {seconds:g}: expected at most 120")


class Trainee:
    """A program in processes of its own that trains when asked to, and waits otherwise."""

    def __init__(self, name: str, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        context = multiprocessing.get_context("spawn")
        self._name = name
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_begin, args=(work, theirs, arguments))
        self._process.start()
        theirs.close()

    def ready(self) -> int:
        """Waits until it is set up; returns the threads it computes with."""
        return int(self._answer())

    def steps_per_second(self, seconds: float) -> float:
        """Lets it train for some seconds, at least one iteration."""
        self._connection.send(seconds)
        return self._answer()

    def _answer(self) -> float:
        try:
            answer: float = self._connection.recv()
        except (EOFError, OSError) as error:
            raise GoExploreError(f"{self._name} has ended; its own message is above") from error
        return answer

    def close(self) -> None:
        """Ends it."""
        self._connection.close()
        self._process.join(timeout=20)
        if self._process.is_alive():
            self._process.terminate()


class _Orders:
    """In the process of a trainee: its connection. Not an argument, because `launch` would send it to all ranks."""

    connection: Connection

    @classmethod
    def next(cls) -> float | None:
        """For how many seconds to train; None when there are no more orders."""
        try:
            seconds: float = cls.connection.recv()
        except EOFError:
            return None
        return seconds

    @classmethod
    def answer(cls, number: float) -> None:
        """How fast it was, or with how many threads it is ready."""
        cls.connection.send(number)


def _begin(work: Callable[..., None], connection: Connection, arguments: tuple[Any, ...]) -> None:
    _Orders.connection = connection
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # all of them compute on the same processors
    work(*arguments)


def serve(iterate: Callable[[], int]) -> None:
    """The life of a program in one process, with the number of threads that suits it best."""
    _Orders.answer(_better_threads(iterate))
    while (seconds := _Orders.next()) is not None:
        begin, steps = time.perf_counter(), 0
        while not steps or time.perf_counter() - begin < seconds:
            steps += iterate()
        _Orders.answer(steps / (time.perf_counter() - begin))


def _better_threads(iterate: Callable[[], int]) -> int:
    """Sets the number of threads with which an iteration is faster: one, or one for each core."""
    import torch

    took = {}
    for threads in {1, available_cores()}:
        torch.set_num_threads(threads)
        iterate()
        begin = time.perf_counter()
        iterate()
        took[threads] = time.perf_counter() - begin
    best = min(took, key=lambda threads: took[threads])
    torch.set_num_threads(best)
    return best


def serve_ranks(training: Trainable, ranks: Ranks) -> None:
    """The life of a training of ours, in every one of its ranks."""
    if ranks.leads:
        _Orders.answer(1)
    while (seconds := ranks.agree(_Orders.next() if ranks.leads else None)) is not None:
        begin, steps, going = time.perf_counter(), training.steps, True
        while going:
            training.iterate(done=0.0)
            going = ranks.agree(time.perf_counter() - begin < seconds)
        if ranks.leads:
            _Orders.answer((training.steps - steps) / (time.perf_counter() - begin))
