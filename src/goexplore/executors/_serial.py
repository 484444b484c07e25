"""Rollouts in this process, one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from goexplore.exploration import Roller, RolloutResult, Task, Update, WorkerSpec


class SerialExecutor:
    """Runs every task where it is collected: for notebooks, debugging and one core."""

    workers = 1

    def __init__(self) -> None:
        self.on_result: Callable[[RolloutResult], None] | None = None
        self._roller: Roller | None = None
        self._batches: deque[list[Task]] = deque()

    def open(self, spec: WorkerSpec, everything: Callable[[], Update]) -> None:
        """Builds the environment."""
        self._batches.clear()
        self._roller = Roller(spec)
        self._roller.learn(everything())

    def publish(self, update: Update) -> None:
        """Takes effect at once."""
        self._opened().learn(update)

    def submit(self, tasks: Sequence[Task]) -> None:
        """Queues a batch."""
        self._batches.append(list(tasks))

    def collect(self) -> list[RolloutResult]:
        """Runs the oldest batch."""
        results = []
        for task in self._batches.popleft():
            results.append(self._opened().run(task))
            if self.on_result is not None:
                self.on_result(results[-1])
        return results

    def close(self) -> None:
        """Forgets the environment."""
        self._roller = None

    def _opened(self) -> Roller:
        if self._roller is None:
            raise RuntimeError("the executor is not open: call open(spec) first")
        return self._roller
