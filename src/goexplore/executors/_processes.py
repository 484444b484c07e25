"""Rollouts in worker processes on this machine (Linux and macOS)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import wait

import cloudpickle

from goexplore.errors import GoExploreError, InputError
from goexplore.exploration import RolloutResult, Task, Update, WorkerSpec
from goexplore.plugins import import_paths

MESSAGE_SECONDS = 0.25
"""Work sent in one message: long enough to hide the round trip, short enough to show progress."""
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""One process for each core is the parallelism; a BLAS with threads of its own would only slow it down."""
CRASHES_ALLOWED = 3
"""Times a task may take its worker down before the run gives up."""


class ProcessExecutor:
    """A pool of worker processes that take tasks as they become free.

    A worker that dies is replaced, and its tasks run again with the same result.

    Args:
        workers: processes; None takes one for each core.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = available_cores() if workers is None else workers
        if self.workers < 1:
            raise InputError(f"workers {self.workers}: expected at least 1")
        self.on_result: Callable[[RolloutResult], None] | None = None
        self.replaced_workers = 0
        """Workers that died and were replaced."""
        self._spec = b""
        self._everything: Callable[[], Update] = Update
        self._pool: list[_Worker] = []
        self._queue: deque[tuple[_Batch, Task]] = deque()
        self._batches: deque[_Batch] = deque()
        self._task_seconds = 0.0
        self._failed_starts = 0

    def open(self, spec: WorkerSpec, everything: Callable[[], Update]) -> None:
        """Starts the workers and waits until they have built their environments."""
        self._spec, self._everything = cloudpickle.dumps(spec), everything
        self._queue.clear()
        self._batches.clear()
        self._failed_starts = 0
        self._pool = [_Worker(self._spec) for _ in range(self.workers)]
        while not all(worker.ready for worker in self._pool):
            self._receive_from_some()

    def publish(self, update: Update) -> None:
        """Hands the update to each worker with its next message."""
        for worker in self._pool:
            worker.updates.append(update)

    def submit(self, tasks: Sequence[Task]) -> None:
        """Queues a batch and sets idle workers to work."""
        batch = _Batch(len(tasks))
        self._batches.append(batch)
        self._queue.extend((batch, task) for task in tasks)
        self._feed()

    def collect(self) -> list[RolloutResult]:
        """Waits for the oldest batch, feeding workers meanwhile."""
        batch = self._batches[0]
        while batch.missing:
            self._receive_from_some()
            self._feed()
        self._batches.popleft()
        return [result for result in batch.results if result is not None]

    def close(self) -> None:
        """Stops the workers."""
        for worker in self._pool:
            worker.stop()
        self._pool = []

    def worker_pids(self) -> list[int]:
        """Process ids of the workers that are up."""
        return [worker.process.pid for worker in self._pool if worker.ready]

    def _feed(self) -> None:
        """Gives idle workers a share of the queue: large shares first, single tasks at the end."""
        for worker in [worker for worker in self._pool if worker.ready and not worker.tasks]:
            if not self._queue:
                return
            worker.tasks = [self._queue.popleft() for _ in range(self._share())]
            try:
                worker.send()
            except OSError:  # it died while idle
                self._replace(worker)

    def _share(self) -> int:
        """How many tasks to send in one message; a task that may have killed a worker goes alone."""
        batch, task = self._queue[0]
        if task.index in batch.suspects or not self._task_seconds:
            return 1
        fair = len(self._queue) // (2 * self.workers)
        return max(1, min(fair, int(MESSAGE_SECONDS / self._task_seconds)))

    def _receive_from_some(self) -> None:
        """Waits until at least one worker has something to say."""
        speaking = wait([worker.connection for worker in self._pool])
        for worker in [worker for worker in self._pool if worker.connection in speaking]:
            self._receive(worker)

    def _receive(self, worker: _Worker) -> None:
        try:
            kind, content = worker.connection.recv()
        except (EOFError, OSError):
            self._replace(worker)
            return
        if kind == "error":
            raise content
        if kind == "crash":
            raise GoExploreError(f"a worker failed:\n{content}")
        if kind == "ready":
            worker.ready, worker.updates = True, [self._everything()]
            return
        self._failed_starts = 0
        seconds = (time.perf_counter() - worker.sent_at) / len(worker.tasks)
        self._task_seconds = 0.9 * self._task_seconds + 0.1 * seconds if self._task_seconds else seconds
        for (batch, task), result in zip(worker.tasks, content, strict=True):
            batch.results[task.index] = result
            batch.missing -= 1
            if self.on_result is not None:
                self.on_result(result)
        worker.tasks = []

    def _replace(self, dead: _Worker) -> None:
        """Puts a dead worker's tasks back in front and starts another worker in its place."""
        dead.stop()
        self._failed_starts += not dead.ready
        if self._failed_starts > CRASHES_ALLOWED:
            raise GoExploreError(f"worker processes die while starting (exit code {dead.process.returncode})")
        alone = len(dead.tasks) == 1
        for batch, task in dead.tasks:
            crashes = batch.suspects[task.index] = batch.suspects.get(task.index, 0) + alone
            if crashes > CRASHES_ALLOWED:
                raise GoExploreError(
                    f"workers died {crashes} times on the same task (iteration {task.iteration}, task {task.index},"
                    f" exit code {dead.process.returncode}): the environment crashes there"
                )
        self._queue.extendleft(reversed(dead.tasks))
        self.replaced_workers += 1
        self._pool[self._pool.index(dead)] = _Worker(self._spec)


class _Worker:
    """A worker process and what it is busy with.

    It is only ever sent to while it waits for us, so that neither side can block the other.
    """

    def __init__(self, spec: bytes) -> None:
        self.connection, theirs = Pipe()
        # -P: the current folder is no place to import from, unless this process imports from there too.
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "goexplore.executors._worker", str(theirs.fileno())],
            env=ONE_THREAD | os.environ | {"PYTHONPATH": import_paths()},
            pass_fds=[theirs.fileno()],
            process_group=0,  # Ctrl-C is ours to handle
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # a cell function that prints must not disturb --json
        )
        theirs.close()
        self.connection.send_bytes(spec)
        self.tasks: list[tuple[_Batch, Task]] = []
        self.updates: list[Update] = []
        self.sent_at = 0.0
        self.ready = False
        """Whether it has built its environment."""

    def send(self) -> None:
        updates, self.updates = self.updates, []
        self.sent_at = time.perf_counter()
        self.connection.send((updates, [task for _, task in self.tasks]))

    def stop(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.wait()


class _Batch:
    """Results of one batch, as they come in."""

    def __init__(self, size: int) -> None:
        self.results: list[RolloutResult | None] = [None] * size
        self.missing = size
        self.suspects: dict[int, int] = {}
        """Tasks that a worker died with, and how often it died with nothing else to do."""


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
