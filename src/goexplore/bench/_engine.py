"""The engine as the benchmarks drive it: without folders, checkpoints or a display."""

from __future__ import annotations

import time
from typing import Any

from goexplore.archive import SnapshotCodec
from goexplore.envs import RestorableEnv
from goexplore.executors import ProcessExecutor
from goexplore.exploration import ExplorationLoop
from goexplore.runs import RunConfig, start


class Engine:
    """A loop and its worker processes, with a stopwatch on what the main process does.

    Args:
        config: the run to measure.
        env: an environment of that configuration.
        workers: processes.
        saved: a loop's state to go on from.
        padded_to: cells to bring that state's archive to.
    """

    def __init__(
        self,
        config: RunConfig,
        env: RestorableEnv,
        workers: int,
        *,
        saved: dict[str, Any] | None = None,
        padded_to: int = 0,
    ) -> None:
        self.config, self.env = config, env
        self.loop, self.codec = start(config, env)
        if saved is not None:
            self.loop.restore(saved)
            _pad(self.loop, self.codec, padded_to)
        self.spec = config.worker_spec(self.loop, self.codec)
        self.executor = ProcessExecutor(workers)
        self.executor.open(self.spec, self.loop.everything)
        self.forget_timings()

    def forget_timings(self) -> None:
        """Sets the stopwatch to zero."""
        self.select_seconds = self.merge_seconds = self.process_seconds = 0.0
        self.timed_steps = 0

    def iterate(self) -> int:
        """Explores one batch and returns its steps."""
        started, processor = time.perf_counter(), time.process_time()
        tasks = self.loop.ask()
        self.select_seconds += time.perf_counter() - started
        self.executor.submit(tasks)
        results = self.executor.collect()
        started = time.perf_counter()
        summary = self.loop.tell(results)
        self.merge_seconds += time.perf_counter() - started
        self.executor.publish(self.loop.news())
        self.process_seconds += time.process_time() - processor
        self.timed_steps += summary.steps
        return summary.steps

    def copied_loop(self) -> ExplorationLoop:
        """A second loop in the same state: what it is asked leaves the measured one as it is."""
        loop, _ = start(self.config, self.env)
        loop.restore(self.loop.save())
        return loop

    def starts(self) -> list[bytes]:
        """Snapshots of the environment that a batch would begin at."""
        tasks = self.copied_loop().ask()
        return [self.codec.decode(task.snapshot)[0] for task in tasks if task.snapshot is not None]

    def steps_per_second(self, seconds: float) -> float:
        """Explores for some time."""
        started, steps = time.perf_counter(), 0
        while time.perf_counter() - started < seconds:
            steps += self.iterate()
        return steps / (time.perf_counter() - started)

    def close(self) -> None:
        """Ends the workers."""
        self.executor.close()


def _pad(loop: ExplorationLoop, codec: SnapshotCodec, size: int) -> None:
    """Copies real cells under longer keys until there are `size`.

    Selection then returns to the same states as before, and rollouts from there are as likely to find
    something: the size of the archive is all that differs.
    """
    archive, real = loop.archive, len(loop.archive)
    for row in range(real, size):
        source = row % real
        snapshot, frame = archive.snapshots[source], archive.frames[source]
        archive.add(
            archive.keys[source] + row.to_bytes(4, "little"),
            score=float(archive.table["score"][source]),
            length=int(archive.table["length"][source]),
            trajectory=archive.trajectory(source),
            snapshot=None if snapshot is None else codec.encode(*codec.decode(snapshot)),
            iteration=0,
            frame=None if frame is None else bytes(bytearray(frame)),
        )
        for counter in ("chosen", "seen", "steps"):
            archive.table[counter][row] = archive.table[counter][source]
