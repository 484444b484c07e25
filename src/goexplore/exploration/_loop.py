"""The exploration loop: select, return, explore, update (paper, "The Go-Explore family of algorithms").

    loop = ExplorationLoop(archive, config=config, seed=0)
    executor.open(worker_spec, loop.everything)
    while loop.frames < budget:
        if loop.adapt():                     # only for cells that adapt themselves
            executor.publish(loop.news())
        executor.submit(loop.ask())          # select cells; workers return to them and explore
        loop.tell(executor.collect())        # merge what they found, in task order
        executor.publish(loop.news())        # so that workers know what is worth a snapshot

Results merge in task order and every task has its own random generator, so that one seed gives one
archive, however many workers there are and however often the run is stopped.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import (
    START,
    AddStatus,
    Archive,
    Trajectory,
    draw,
    join_bytes,
    make_selector,
    split_bytes,
)
from goexplore.errors import InputError
from goexplore.exploration._adaptation import Adaptation, Refit
from goexplore.exploration._config import ExplorationConfig
from goexplore.exploration._tasks import RolloutResult, Task, Update

FITTING_STREAM = 1 << 31
BEST_PARTS = 10
"""One in so many cells counts as one of the best."""


@dataclass(frozen=True, slots=True)
class BatchSummary:
    """What one iteration brought."""

    iteration: int
    steps: int
    return_steps: int
    new_cells: int
    improved_cells: int
    ends: int
    events: Counter[str] = field(default_factory=Counter)
    """In how many rollouts the environment said at some step that this was so."""


class ExplorationLoop:
    """Asks for rollouts and merges what they found.

    Args:
        archive: holds at least the start cell.
        config: the settings.
        seed: the run's seed.
        frames_per_step: raw frames for each agent step.
        adaptation: for cells whose representation follows the search.
    """

    def __init__(
        self,
        archive: Archive,
        *,
        config: ExplorationConfig,
        seed: int = 0,
        frames_per_step: int = 1,
        adaptation: Adaptation | None = None,
    ) -> None:
        self.archive, self.config, self.seed, self.frames_per_step = archive, config, seed, frames_per_step
        self.iteration = 0
        """Batches merged."""
        self.steps = 0
        """Agent steps explored."""
        self.return_steps = 0
        """Agent steps replayed to return to cells; not part of `steps`."""
        self.adaptation = adaptation
        self._selector = make_selector(config.selector)
        self._pending: deque[list[Task]] = deque()
        self._asked = 0
        self._news = Update()

    @property
    def frames(self) -> int:
        """Raw simulator frames explored: the paper's unit."""
        return self.steps * self.frames_per_step

    @property
    def in_flight(self) -> list[list[Task]]:
        """Batches asked for and not yet told about, oldest first."""
        return list(self._pending)

    @property
    def frame_reference(self) -> NDArray[np.uint8] | None:
        """What workers need to encode frames, where cells adapt themselves."""
        return None if self.adaptation is None else self.adaptation.codec.reference

    @property
    def adaptation_due(self) -> bool:
        """Whether `adapt` waits for the batches in flight, which were asked for under the old representation."""
        return self.adaptation is not None and self.adaptation.due(self.archive, self.steps)

    def adapt(self) -> Refit | None:
        """Gives the cells a new representation, if that is due and no batch is in flight."""
        if self.adaptation is None or self._pending or not self.adaptation_due:
            return None
        # The stream after those of the batch's tasks: asking and exploring draw from others.
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(self._asked, FITTING_STREAM)))
        refit = self.adaptation.refit(self.archive, self.steps, rng)
        self._news = self.everything()
        return refit

    def ask(self) -> list[Task]:
        """Selects a batch of cells, and notes of each what it is now."""
        seed = np.random.SeedSequence(self.seed, spawn_key=(self._asked, 0))
        weights = np.asarray(self._selector.weights(self.archive), np.float64)
        if weights.shape != (len(self.archive),):
            raise InputError(f"the selector returned weights of shape {weights.shape}; expected ({len(self.archive)},)")
        rng = np.random.default_rng(seed)
        rows = draw(weights, rng, self.config.batch_size).tolist()
        tasks = [self._task(index, row) for index, row in enumerate(rows)]
        if self.config.play_on_probability:
            self._let_some_play_on(tasks, rng)
        self._asked += 1
        self._pending.append(tasks)
        return tasks

    def ask_to_follow(self, actions: NDArray[Any]) -> list[Task]:
        """Asks for a trajectory to be played from reset, as a batch of its own; for searches that begin with some.

        Raises:
            InputError: it has no actions, or such as are none of this environment's.
        """
        shape = self.archive.forest.actions(START).shape[1:]
        if len(actions) == 0 or actions.shape[1:] != shape:
            raise InputError(
                f"a trajectory to begin with has actions of shape {actions.shape}; expected (steps, *{shape}), with at"
                " least one step"
            )
        task = self._task(0, 0)
        task.steps, task.plan = len(actions), actions
        self._asked += 1
        self._pending.append([task])
        return [task]

    def _let_some_play_on(self, tasks: list[Task], rng: np.random.Generator) -> None:
        chosen = np.flatnonzero(rng.random(len(tasks)) < self.config.play_on_probability).tolist()
        if not chosen:
            return
        scores = self.archive.table["score"]
        # Among equal scores the newest first: there is no better hint which of them leads on.
        highest = np.lexsort((np.arange(len(scores)), scores))[-max(1, len(scores) // BEST_PARTS) :]
        for index in chosen:
            tasks[index] = self._task(index, int(rng.choice(highest)))
            tasks[index].steps = self.config.play_on_steps

    def tell(self, results: Sequence[RolloutResult]) -> BatchSummary:
        """Merges the results of the oldest batch asked for, in task order."""
        tasks = self._pending.popleft()
        archive, first_new_row = self.archive, len(self.archive)
        changed: list[int] = []
        chosen, seen, steps = [], [], []
        for task, result in zip(tasks, results, strict=True):
            rows = self._merge(task, result, changed)
            visited = np.concatenate([result.known, np.array(rows, np.int64).reshape(-1, 2)])
            chosen.append(task.row)
            seen.append(visited[visited[:, 0] != task.row, 0])  # the start cell counts once, below
            steps.append(visited)
        chosen_rows = np.array(chosen, np.int64)
        archive.count(chosen=chosen_rows, seen=np.concatenate([chosen_rows, *seen]), steps=np.concatenate(steps))
        if self.config.reset_counters_on_improvement:
            archive.reset_counters(changed)
        if self.adaptation is not None:
            self.adaptation.observe(frame for result in results for frame in result.sampled)
        explored = sum(result.steps for result in results)
        replayed = sum(result.return_steps for result in results)
        ends = sum(result.end is not None for result in results)
        archive.ends_seen += ends
        self.iteration += 1
        self.steps += explored
        self.return_steps += replayed
        self._news = Update.since(archive, first_new_row, changed)
        new_cells = len(archive) - first_new_row
        if archive.forest.wants_collection():
            self._collect()
        return BatchSummary(
            iteration=self.iteration,
            steps=explored,
            return_steps=replayed,
            new_cells=new_cells,
            improved_cells=len(self._news.rows) - new_cells,
            ends=ends,
            events=Counter(name for result in results for name in result.events),
        )

    def news(self) -> Update:
        """What the last `tell` changed."""
        return self._news

    def everything(self) -> Update:
        """The whole archive as news, for workers that know nothing yet, or nothing that still holds."""
        return Update.since(self.archive, 0, [], from_scratch=True)

    def _task(self, index: int, row: int) -> Task:
        table = self.archive.table
        return self._with_return(
            Task(
                iteration=self._asked,
                index=index,
                row=row,
                score=float(table["score"][row]),
                length=int(table["length"][row]),
                trajectory=self.archive.trajectory(row),
                snapshot=self.archive.snapshots[row],
                steps=self.config.explore_steps,
                reliability=float(self.archive.reliabilities[row]),
                arrivals=self.archive.arrivals[row],
            )
        )

    def _with_return(self, task: Task) -> Task:
        """Adds the actions to replay where there is no snapshot to restore."""
        if task.snapshot is None and task.length:
            task.actions = self.archive.forest.actions(task.trajectory)
        return task

    def _merge(self, task: Task, result: RolloutResult, changed: list[int]) -> list[tuple[int, int]]:
        """Offers a rollout's candidates to the archive; returns (row, steps) of each."""
        archive, visited = self.archive, []
        chunk = archive.forest.add(task.trajectory, result.actions) if len(result.actions) else -1
        for candidate in result.candidates:
            status, row = archive.add(
                candidate.key,
                score=candidate.score,
                length=task.length + candidate.step,
                trajectory=Trajectory(chunk, candidate.step),
                snapshot=candidate.snapshot,
                iteration=self.iteration,
                frame=candidate.frame,
                reliability=candidate.reliability,
                arrivals=candidate.arrivals,
            )
            if status is not AddStatus.REJECTED:
                changed.append(row)
            visited.append((row, candidate.steps))
        if result.end is not None:
            end = result.end
            archive.add_end(end.score, task.length + end.step, Trajectory(chunk, end.step), end.state)
        if result.start_snapshot is not None and archive.trajectory(task.row) == task.trajectory:
            archive.snapshots[task.row] = result.start_snapshot
        return visited

    def _collect(self) -> None:
        """Drops trajectories that nothing needs any more; tasks in flight still need theirs."""
        renamed = self.archive.collect(task.trajectory for tasks in self._pending for task in tasks)
        for tasks in self._pending:
            for task in tasks:
                task.trajectory = renamed[task.trajectory]

    def save(self, *, with_snapshots: bool = True) -> dict[str, NDArray[Any]]:
        """Returns everything the rest of the run depends on, as arrays.

        Args:
            with_snapshots: leave them out where they must not be written to a file; their cells are then
                reached by replay.
        """
        pending = [task for tasks in self._pending for task in tasks]
        counters = [self.iteration, self.steps, self.return_steps, self._asked, len(self._pending)]
        snapshots = [(task.snapshot if with_snapshots else None) or b"" for task in pending]
        return {
            **self.archive.save(with_snapshots=with_snapshots),
            "loop.counters": np.array(counters, np.int64),
            "loop.pending": np.array(
                [(t.iteration, t.index, t.row, t.length, *t.trajectory) for t in pending], np.int64
            ).reshape(-1, 6),
            "loop.pending_scores": np.array([task.score for task in pending], np.float64),
            "loop.pending_steps": np.array([task.steps for task in pending], np.int64),
            **join_bytes("loop.pending_snapshots", snapshots),
            "loop.pending_reliabilities": np.array([task.reliability for task in pending], np.float64),
            **join_bytes("loop.pending_arrivals", [task.arrivals if with_snapshots else b"" for task in pending]),
            **({} if self.adaptation is None else self.adaptation.save()),
        }

    def restore(self, saved: dict[str, NDArray[Any]], *, with_snapshots: bool = True) -> None:
        """Takes over what `save` returned; the batches that were in flight must be submitted again."""
        self.archive.restore(saved, with_snapshots=with_snapshots)
        self.iteration, self.steps, self.return_steps, self._asked, batches = saved["loop.counters"].tolist()
        tasks = []
        usual = np.full(len(saved["loop.pending"]), self.config.explore_steps)  # of runs from before tasks had lengths
        tried = "loop.pending_reliabilities" in saved  # not in runs from before there were trials
        for numbers, score, steps, snapshot, reliability, arrived in zip(
            saved["loop.pending"].tolist(),
            saved["loop.pending_scores"].tolist(),
            saved.get("loop.pending_steps", usual).tolist(),
            split_bytes("loop.pending_snapshots", saved),
            saved["loop.pending_reliabilities"].tolist() if tried else [1.0] * len(usual),
            split_bytes("loop.pending_arrivals", saved) if tried else [b""] * len(usual),
            strict=True,
        ):
            iteration, index, row, length, chunk, offset = numbers
            trajectory, usable = Trajectory(chunk, offset), snapshot if with_snapshots and snapshot else None
            task = Task(iteration, index, row, score, length, trajectory, usable, steps, None, reliability, arrived)
            tasks.append(self._with_return(task))
        if self.adaptation is not None:
            self.adaptation.restore(saved, self.archive.representation)
        size = len(tasks) // batches if batches else 1
        self._pending = deque(tasks[at : at + size] for at in range(0, len(tasks), size))
        self._news = Update()
