"""Symmetric ranks: each steps its own environments and holds its own copy of the network.

Only gradients, a few statistics and what people want to see cross between processes. Two cores, eight GPUs and
several machines under `torchrun` are one code path: gloo on CPUs, NCCL on GPUs.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from torch import Tensor, nn

from goexplore.errors import GoExploreError, InputError

PATIENCE = datetime.timedelta(minutes=10)
"""How long a rank waits for another that hangs; one that dies is noticed at once."""


class Ranks:
    """This process among those that train together.

    Args:
        rank: 0 to `size` - 1; 0 speaks and writes.
        size: how many there are.
    """

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size

    @property
    def leads(self) -> bool:
        """Whether this is the one that speaks and writes."""
        return self.rank == 0

    def share(self, total: int) -> int:
        """How many of some things this rank has; the first ranks take what is left over."""
        return total // self.size + (self.rank < total % self.size)

    def split(self, total: int, parts: int) -> list[int]:
        """This rank's share of some things, dealt out among its workers."""
        mine = self.share(total)
        return [mine // parts + (part < mine % parts) for part in range(parts)]

    def share_parameters(self, network: nn.Module) -> None:
        """Gives every rank the parameters of rank 0."""
        if self.size > 1:
            for parameter in network.parameters():
                dist.broadcast(parameter.data, src=0)

    def average(self, tensor: Tensor) -> Tensor:
        """Averages a tensor over ranks, in place."""
        if self.size > 1:
            dist.all_reduce(tensor)
            tensor /= self.size
        return tensor

    def sum(self, tensor: Tensor) -> Tensor:
        """Adds a tensor up over ranks, in place."""
        if self.size > 1:
            dist.all_reduce(tensor)
        return tensor

    def gather(self, item: Any) -> list[Any]:
        """Returns every rank's plain Python object, in the order of ranks, to all of them."""
        if self.size == 1:
            return [item]
        items: list[Any] = [None] * self.size
        dist.all_gather_object(items, item)
        return items

    def agree(self, item: Any) -> Any:
        """Returns rank 0's object to all ranks."""
        return self.gather(item if self.leads else None)[0]


def launch(work: Callable[..., Any], arguments: tuple[Any, ...] = (), *, ranks: int | None = None) -> Any:
    """Runs `work(ranks, *arguments)` in every rank and returns what it returned in this one, rank 0 here.

    Under `torchrun` the ranks are already there. Otherwise this process is rank 0 and starts the others.

    Args:
        work: importable by name; its arguments are pickled for the other processes.
        arguments: passed on.
        ranks: how many; None takes one for each core, or for each GPU. Ignored under `torchrun`.
    """
    if (given := torchrun_rank()) is not None:
        dist.init_process_group(_backend(), timeout=PATIENCE)
        return _work(work, given, dist.get_world_size(), arguments)
    size = ranks or default_ranks()
    torch.set_num_threads(1)  # with a rank on every core, more threads only wait for each other
    if size == 1:
        return work(Ranks(), *arguments)
    with tempfile.TemporaryDirectory() as folder:
        others = processes.start_processes(  # type: ignore[attr-defined, no-untyped-call]
            _join, args=(folder, size, work, arguments), nprocs=size - 1, join=False, start_method="spawn"
        )
        try:
            _await(folder, others.processes)
            _meet(folder, 0, size)
            result = _work(work, 0, size, arguments)
            while not others.join():  # returns False for each that has ended while others work
                pass
            return result
        except Exception as error:
            raise _reason(folder, others) or error from error
        finally:
            for process in others.processes:
                if process.is_alive():
                    process.kill()  # they ignore the politer signals, which reach whole groups of processes


def torchrun_rank() -> int | None:
    """This process's rank where `torchrun` has started it; None elsewhere."""
    return int(os.environ["RANK"]) if "RANK" in os.environ and "WORLD_SIZE" in os.environ else None


def default_ranks() -> int:
    """Those of `torchrun`; or one for each GPU, or for each core where there is none."""
    if torchrun_rank() is not None:
        return int(os.environ["WORLD_SIZE"])
    return torch.cuda.device_count() or len(os.sched_getaffinity(0))


def default_workers() -> int:
    """Processes that step environments beside each rank: none on CPUs, where ranks do so themselves."""
    if not torch.cuda.is_available():
        return 0
    return max(1, len(os.sched_getaffinity(0)) // torch.cuda.device_count() - 1)


def device_of(rank: int) -> torch.device:
    """Where a rank computes."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", rank)) % torch.cuda.device_count())


def _await(folder: str, others: Sequence[Any]) -> None:
    """Waits until all other ranks have come up; meeting one that never does would take minutes to fail."""
    while len(list(Path(folder).glob("up-*"))) < len(others):
        for process in others:
            if process.exitcode is not None:
                raise GoExploreError(
                    f"a process that was to train along ended at once (exit code {process.exitcode}); its message is"
                    ' above. A script that trains needs its calls under: if __name__ == "__main__":'
                )
        time.sleep(0.02)


def _meet(folder: str, rank: int, size: int) -> None:
    store = Path(folder, "ranks").as_uri()
    dist.init_process_group(_backend(), init_method=store, rank=rank, world_size=size, timeout=PATIENCE)


def _reason(folder: str, others: Any) -> Exception | None:
    """What another rank said before it ended, which is why this one failed; None if it said nothing."""
    with contextlib.suppress(Exception):
        others.join(timeout=5)
    for file in sorted(Path(folder).glob("error-*")):
        return GoExploreError(file.read_text()) if file.name.endswith("-1") else InputError(file.read_text())
    return None


def _join(index: int, folder: str, size: int, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    for each in (signal.SIGINT, signal.SIGTERM):  # they reach all processes; rank 0 decides for all
        signal.signal(each, signal.SIG_IGN)
    torch.set_num_threads(1)
    Path(folder, f"up-{index}").touch()
    try:
        _meet(folder, index + 1, size)
        _work(work, index + 1, size, arguments)
    except GoExploreError as error:
        Path(folder, f"error-{index}-{error.exit_code}").write_text(str(error))
        raise
    _leave()


def _leave() -> None:
    """Ends this process, whose work is done, without taking Python and the libraries down first.

    Threads that PyTorch leaves to themselves may abort meanwhile, and good work would look like a failure
    (https://github.com/pytorch/pytorch/issues/190489).
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _work(work: Callable[..., Any], rank: int, size: int, arguments: tuple[Any, ...]) -> Any:
    if torch.cuda.is_available():
        torch.cuda.set_device(device_of(rank))
    try:
        return work(Ranks(rank, size), *arguments)
    finally:
        dist.destroy_process_group()


def _backend() -> str:
    return "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
