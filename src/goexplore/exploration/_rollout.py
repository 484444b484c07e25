"""First return, then explore: one task, as a pure function of what it is given.

Paper, "The Go-Explore family of algorithms", steps b to d.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import FrameCodec, SnapshotCodec, Way
from goexplore.cells import AdaptiveCells, CellFunction, cell_key, make_cells
from goexplore.envs import EnvSpec, RestorableEnv, events_of, make_env
from goexplore.errors import InputError
from goexplore.exploration._config import ExplorationConfig
from goexplore.exploration._explorers import Explorer, RandomExplorer, make_explorer
from goexplore.exploration._tasks import Candidate, End, KnownCells, RolloutResult, Task, Update
from goexplore.exploration._trials import Trials

NONE: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """Everything a worker needs to run rollouts; crosses processes."""

    env: EnvSpec
    cells: Any
    """Name or object, for `make_cells`."""
    config: ExplorationConfig
    seed: int
    snapshot_reference: bytes
    """Reference of the snapshot codec."""
    frame_reference: NDArray[np.uint8] | None = None
    """Reference of the frame codec, where cells adapt themselves."""


class Roller:
    """Runs tasks on one environment. Every worker has one."""

    def __init__(self, spec: WorkerSpec) -> None:
        self._env: RestorableEnv = make_env(spec.env)
        self._cells: CellFunction = make_cells(spec.cells)
        self._explorer: Explorer = make_explorer(
            spec.config.explorer, repeat_probability=spec.config.repeat_probability
        )
        if isinstance(self._explorer, RandomExplorer) and not self._cells.reads_observations:
            getattr(self._env, "leave_observations_out", lambda: None)()
        self._codec = SnapshotCodec(spec.snapshot_reference)
        self._seed = spec.seed
        self._known = KnownCells()
        self._adaptive = self._cells if isinstance(self._cells, AdaptiveCells) else None
        self._frames = FrameCodec(spec.frame_reference) if spec.frame_reference is not None else None
        self._sample_probability = spec.config.fitting.sample_probability
        self._trials = Trials(self._env, self._cells, self._codec, spec.config) if spec.config.trials else None

    def learn(self, update: Update) -> None:
        """Takes up what changed in the archive, and what its keys mean."""
        self._known.apply(update)
        if self._adaptive is not None and update.representation != self._adaptive.representation:
            self._adaptive.use(update.representation)

    def run(self, task: Task) -> RolloutResult:
        """Returns to the task's cell, explores, and reports the distinct cells it went through."""
        env, cells, explorer, known = self._env, self._cells, self._explorer, self._known
        observation = self._return_to(task)
        start_snapshot = self._snapshot() if task.snapshot is None and task.length else None
        explorer.begin(task.rng(self._seed), env.action_space, observation, task.steps)
        space = env.action_space
        score, step, end = task.score, 0, None
        actions: list[Any] = []
        visits: dict[bytes, _Visit] = {}
        sampled: list[bytes] = []
        events: set[str] = set()
        sample_at = self._sample_at(task)
        while step < task.steps:
            action = space.row(explorer.act(observation) if task.plan is None else task.plan[step])
            observation, reward, terminated, truncated, info = env.step(action)
            step += 1
            if info:
                events.update(events_of(info))
            actions.append(action)
            if not math.isfinite(reward):
                raise InputError(
                    f"the environment returned the reward {reward} (at step {task.length + step}, action {action});"
                    " expected a finite number"
                )
            score += reward
            if terminated or truncated:
                best = known.end_could_improve(score, task.length + step)
                end = End(score, step, state_digest(env) if best else b"")
                break
            key = cell_key(cells, observation, env)
            visit = visits.get(key)
            if visit is None:
                visit = visits[key] = _Visit(known.rows.get(key))
            visit.steps += 1
            if score > visit.score:  # within a rollout only a higher score can beat an earlier visit
                visit.score = score
                if known.could_improve(visit.row, Way.of(score, task.length + step, task.reliability)):
                    visit.candidate = Candidate(key, score, step, self._snapshot(), self._frame(observation))
            if step in sample_at:
                sampled.append(self._frame(observation) or b"")
        trial_steps = 0 if self._trials is None else self._try(self._trials, task, visits, actions)
        result = self._reduced(task, visits, end, actions, start_snapshot)
        result.sampled, result.events, result.steps = sampled, frozenset(events), result.steps + trial_steps
        return result

    def _try(self, trials: Trials, task: Task, visits: dict[bytes, _Visit], actions: list[Any]) -> int:
        """Drops the candidates whose way turns out to be less reliable than the known one; returns steps taken."""
        steps = 0
        for key, visit in visits.items():
            if visit.candidate is None:
                continue
            known = None if visit.row is None else self._known.way(visit.row)
            outcome = trials.rate(task, visit.candidate, actions, known, task.trial_rng(self._seed, key))
            steps += outcome.steps
            if not outcome.accepted:
                visit.candidate = None
        return steps

    def _return_to(self, task: Task) -> Any:
        if task.snapshot is not None:
            env_snapshot, cell_state = self._codec.decode(task.snapshot)
            self._cells.load(cell_state)
            return self._env.restore(env_snapshot)
        (observation, _), score, ended = start_episode(self._env, self._cells), 0.0, False
        for row in () if task.actions is None else task.actions:
            observation, reward, terminated, truncated, _ = self._env.step(self._env.action_space.to_env(row))
            score, ended = score + reward, ended or terminated or truncated
            cell_key(self._cells, observation, self._env)
        if ended or score != task.score:
            raise InputError(
                f"replaying {task.length:,} actions from reset came to score {score:g}{' and an end' * ended}"
                f" instead of {task.score:g}: the environment is not deterministic; see goexplore check-env"
            )
        return observation

    def _snapshot(self) -> bytes | None:
        return self._codec.encode(self._env.snapshot(), self._cells.save())

    def _frame(self, observation: Any) -> bytes | None:
        if self._adaptive is None or self._frames is None:
            return None
        return self._frames.encode(self._adaptive.frame(observation, self._env))

    def _sample_at(self, task: Task) -> frozenset[int]:
        """The steps whose frames go into the sample."""
        if self._adaptive is None:
            return NONE
        drawn = task.sampling_rng(self._seed).random(task.steps) < self._sample_probability
        return frozenset((np.flatnonzero(drawn) + 1).tolist())

    def _reduced(
        self,
        task: Task,
        visits: dict[bytes, _Visit],
        end: End | None,
        actions: list[Any],
        start_snapshot: bytes | None,
    ) -> RolloutResult:
        known, candidates = [], []
        for visit in visits.values():
            if visit.candidate is None:
                if visit.row is not None:
                    known.append((visit.row, visit.steps))
            else:
                visit.candidate.steps = visit.steps
                candidates.append(visit.candidate)
        useful = max((candidate.step for candidate in candidates), default=0)
        if end is not None and end.state:
            useful = end.step
        space = self._env.action_space
        return RolloutResult(
            steps=len(actions),
            return_steps=task.length if task.snapshot is None else 0,
            known=np.array(known, np.int64).reshape(-1, 2),
            candidates=candidates,
            end=end,
            actions=np.array(actions[:useful], space.dtype).reshape(useful, *space.shape),
            start_snapshot=start_snapshot,
        )


class _Visit:
    """A cell's visits in one rollout."""

    __slots__ = ("candidate", "row", "score", "steps")

    def __init__(self, row: int | None) -> None:
        self.row = row
        self.steps = 0
        self.score = -math.inf
        self.candidate: Candidate | None = None


def state_digest(env: RestorableEnv) -> bytes:
    """Sixteen bytes that are equal for equal simulator states."""
    return hashlib.blake2b(env.fingerprint(), digest_size=16).digest()


def start_episode(env: RestorableEnv, cells: CellFunction) -> tuple[Any, bytes]:
    """Resets both; returns the first observation and its key."""
    cells.reset()
    observation = env.reset()
    return observation, cell_key(cells, observation, env)
