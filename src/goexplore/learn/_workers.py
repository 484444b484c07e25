"""Environments in other processes, through shared memory: for ranks whose network computes on a GPU.

    rank        | act 0 | act 1 | act 0 | act 1 |
    worker 0            | step  ........| step  ........
    worker 1                    | step  ........| step

Each worker is a group: while it steps, the network thinks about another.
"""

from __future__ import annotations

import itertools
import math
import multiprocessing
import signal
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from goexplore.errors import GoExploreError, InputError
from goexplore.learn._rollout import Environments, Imitation, Transitions
from goexplore.learn._spaces import Spaces

STEP = "step"


class Workable(Environments, Protocol):
    """What can live in a worker: environments of a single group that can be saved."""

    def save(self) -> dict[str, NDArray[Any]]:
        """Everything, as arrays."""

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Takes over what `save` returned."""

    def episodes(self) -> list[Any]:
        """What was over since the last call."""


class WorkerEnvironments:
    """Environments that step in processes of their own.

    Args:
        spaces: what all of them are like.
        makers: one for each worker; crosses processes.
        sizes: actors of each worker.
    """

    def __init__(self, spaces: Spaces, makers: Sequence[Callable[[], Workable]], sizes: Sequence[int]) -> None:
        self.spaces = spaces
        bounds = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        self.groups: Sequence[slice] = [slice(first, last) for first, last in itertools.pairwise(bounds)]
        context = multiprocessing.get_context("spawn")
        memory = context.RawArray("B", _Board.bytes_for(spaces, bounds[-1]))
        self._board = _Board(memory, spaces, bounds[-1])
        self.observations, self.first = self._board.observations, self._board.first
        self.temperature = self._board.temperature
        self._connections: list[Connection] = []
        self._processes = []
        for maker, actors in zip(makers, self.groups, strict=True):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=_work, args=(maker, spaces, bounds[-1], actors, memory, theirs), daemon=True
            )
            process.start()
            theirs.close()
            self._connections.append(ours)
            self._processes.append(process)
        for group in range(len(self.groups)):
            self._answer(group)

    def begin(self, group: int, actions: NDArray[Any]) -> None:
        """Starts a step of a worker."""
        self._board.actions[self.groups[group]] = actions
        self._order(group, STEP)

    def finish(self, group: int) -> Transitions:
        """Waits for that step."""
        has_imitation = self._answer(group)
        board, actors = self._board, self.groups[group]
        imitation = None
        if has_imitation:
            imitation = Imitation(
                board.imitated_actions[actors], board.imitated_returns[actors], board.imitation[actors]
            )
        return Transitions(board.rewards[actors], board.ends[actors], board.cuts[actors], board.own[actors], imitation)

    def call(self, name: str, *arguments: Any) -> list[Any]:
        """Calls a method in every worker, and returns what each returned."""
        for group in range(len(self.groups)):
            self._order(group, name, *arguments)
        return [self._answer(group) for group in range(len(self.groups))]

    def episodes(self) -> list[Any]:
        """What was over since the last call, in all workers."""
        return [episode for part in self.call("episodes") for episode in part]

    def save(self) -> dict[str, NDArray[Any]]:
        """Everything, as arrays."""
        parts = self.call("save")
        return {f"worker-{index}.{name}": value for index, part in enumerate(parts) for name, value in part.items()}

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Takes over what `save` returned."""
        for group in range(len(self.groups)):
            prefix = f"worker-{group}."
            mine = {name[len(prefix) :]: value for name, value in saved.items() if name.startswith(prefix)}
            self._order(group, "restore", mine)
        for group in range(len(self.groups)):
            self._answer(group)

    def close(self) -> None:
        """Ends the workers."""
        for connection in self._connections:
            connection.close()
        for process in self._processes:
            process.join(timeout=5)
            if process.is_alive():
                process.kill()

    def _order(self, group: int, name: str, *arguments: Any) -> None:
        try:
            self._connections[group].send((name, arguments))
        except OSError as error:
            raise self._gone(group) from error

    def _gone(self, group: int) -> GoExploreError:
        process = self._processes[group]
        process.join(timeout=1)
        return GoExploreError(f"a process that steps environments ended by itself (exit code {process.exitcode})")

    def _answer(self, group: int) -> Any:
        try:
            failure, answer = self._connections[group].recv()
        except (EOFError, OSError) as error:
            raise self._gone(group) from error
        if failure is not None:
            raise (InputError if failure == "input" else GoExploreError)(answer)
        return answer


class _Board:
    """Arrays side by side in one piece of shared memory."""

    def __init__(self, memory: Any, spaces: Spaces, actors: int) -> None:
        self._memory, self._offset = memory, 0

        def array(dtype: Any, *shape: int) -> NDArray[Any]:
            made = np.frombuffer(memory, dtype, math.prod((actors, *shape)), self._offset).reshape(actors, *shape)
            self._offset += -(-made.nbytes // 64) * 64
            return made

        self.observations = array(spaces.observation_dtype, *spaces.observation_shape)
        self.actions = array(spaces.action_dtype, *spaces.action_shape)
        self.imitated_actions = array(spaces.action_dtype, *spaces.action_shape)
        self.temperature, self.rewards = array(np.float32), array(np.float32)
        self.imitated_returns, self.imitation = array(np.float32), array(np.float32)
        self.first, self.ends = array(np.bool_), array(np.bool_)
        self.cuts, self.own = array(np.bool_), array(np.bool_)

    @staticmethod
    def bytes_for(spaces: Spaces, actors: int) -> int:
        """Enough for all arrays."""
        picture = math.prod(spaces.observation_shape) * np.dtype(spaces.observation_dtype).itemsize
        action = math.prod(spaces.action_shape) * np.dtype(spaces.action_dtype).itemsize
        return actors * (picture + 2 * action + 4 * 4 + 4) + 64 * 12


def _work(
    maker: Callable[[], Workable], spaces: Spaces, actors: int, group: slice, memory: Any, connection: Connection
) -> None:
    """The life of a worker."""
    for each in (signal.SIGINT, signal.SIGTERM):  # they reach all processes; rank 0 decides for all
        signal.signal(each, signal.SIG_IGN)
    try:
        environments, board = maker(), _Board(memory, spaces, actors)
        _show(environments, board, group)
        connection.send((None, None))
        while True:
            name, arguments = connection.recv()
            if name == STEP:
                answer: Any = _step(environments, board, group)
            else:
                answer = getattr(environments, name)(*arguments)
            _show(environments, board, group)
            connection.send((None, answer))
    except (EOFError, BrokenPipeError):
        return  # the rank is gone, or has no more work
    except GoExploreError as error:
        connection.send(("input" if isinstance(error, InputError) else "failure", str(error)))
    except Exception:
        connection.send(("failure", f"a process that steps environments failed:\n{traceback.format_exc()}"))


def _step(environments: Workable, board: _Board, group: slice) -> bool:
    environments.begin(0, board.actions[group].copy())
    brought = environments.finish(0)
    board.rewards[group], board.ends[group] = brought.rewards, brought.ends
    board.cuts[group], board.own[group] = brought.cuts, brought.own
    if brought.imitation is None:
        return False
    board.imitated_actions[group] = brought.imitation.actions
    board.imitated_returns[group] = brought.imitation.returns
    board.imitation[group] = brought.imitation.weights
    return True


def _show(environments: Workable, board: _Board, group: slice) -> None:
    board.observations[group] = environments.observations
    board.first[group], board.temperature[group] = environments.first, environments.temperature
