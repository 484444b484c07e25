"""Where rollouts run. One small interface, so that a cluster is one more file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from goexplore.exploration import RolloutResult, Task, Update, WorkerSpec


class Executor(Protocol):
    """Runs batches of tasks.

        executor.open(spec, loop.everything)
        executor.submit(loop.ask())
        results = executor.collect()         # oldest batch, in task order
        executor.close()

    A rollout is a pure function, so an executor may run a task anywhere, and again if a worker dies. It
    owes the loop two things: results in task order, and every update in the order published.
    """

    workers: int
    """Rollouts that run at the same time."""
    on_result: Callable[[RolloutResult], None] | None
    """Called as each rollout arrives, in any order: for progress only."""

    def open(self, spec: WorkerSpec, everything: Callable[[], Update]) -> None:
        """Starts the workers.

        Args:
            spec: what they need to run rollouts.
            everything: the whole archive as news, for workers that start now or replace one later.
        """

    def publish(self, update: Update) -> None:
        """Tells all workers what the last merge changed. May take effect late, never out of order."""

    def submit(self, tasks: Sequence[Task]) -> None:
        """Queues a batch."""

    def collect(self) -> list[RolloutResult]:
        """Waits for the oldest batch and returns its results in task order."""

    def close(self) -> None:
        """Stops the workers. May be called twice."""
