from __future__ import annotations

import itertools
import os
import signal

import pytest

from goexplore.errors import GoExploreError, InputError
from goexplore.executors import ProcessExecutor, SerialExecutor
from goexplore.exploration import ExplorationLoop


def position(observation):
    return int(observation[0])


@pytest.mark.parametrize("env", ["goexplore/KeyDoorMaze-v0", "goexplore/Chain-v0"])
@pytest.mark.parametrize("pipelined", [False, True])
def test_one_seed_one_archive_on_any_number_of_workers(search, env, pipelined):
    digests = set()
    for executor in (SerialExecutor(), ProcessExecutor(1), ProcessExecutor(2), ProcessExecutor(4)):
        one = search(env, executor=executor, pipelined=pipelined)
        one.open()
        loop: ExplorationLoop = one.loop
        for _ in range(15):
            while len(loop.in_flight) < 1 + pipelined:
                executor.submit(loop.ask())
            loop.tell(executor.collect())
            executor.publish(loop.news())
        digests.add(loop.archive.digest())
    assert len(digests) == 1


def test_another_seed_gives_another_archive(search):
    assert search("goexplore/Chain-v0", seed=1).iterate(5).archive.digest() != (
        search("goexplore/Chain-v0", seed=2).iterate(5).archive.digest()
    )


def test_workers_killed_in_mid_batch_change_nothing(search):
    """All workers are killed when a batch is half done, so that at least one of them dies in the middle of a task."""
    reference = search("goexplore/KeyDoorMaze-v0", batch_size=400).iterate(6).archive.digest()
    executor = ProcessExecutor(2)
    one = search("goexplore/KeyDoorMaze-v0", batch_size=400, executor=executor)
    one.open()
    results = itertools.count(1)

    def kill_half_way(result):
        if next(results) % 400 == 200:
            for pid in executor.worker_pids():
                os.kill(pid, signal.SIGKILL)

    executor.on_result = kill_half_way
    one.iterate(6)
    assert executor.replaced_workers >= 6
    assert one.archive.digest() == reference


def test_an_environment_that_crashes_now_and_then_is_survived(search, tmp_path):
    reference = search("tests.lying_envs:CrashesTheProcess", position).iterate(4).archive.digest()
    executor = ProcessExecutor(2)
    one = search(
        "tests.lying_envs:CrashesTheProcess",
        position,
        executor=executor,
        env_kwargs={"marker": str(tmp_path / "crashes"), "times": 2},
    )
    assert one.iterate(4).archive.digest() == reference
    assert executor.replaced_workers >= 1


def test_a_task_that_always_kills_its_worker_ends_the_run(search, tmp_path):
    one = search(
        "tests.lying_envs:CrashesTheProcess",
        position,
        executor=ProcessExecutor(2),
        env_kwargs={"marker": str(tmp_path / "crashes"), "times": 10_000},
    )
    with pytest.raises(GoExploreError, match="crashes there"):
        one.iterate(10)


def test_errors_of_user_code_come_through(search):
    calls = []

    def fails_later(observation):
        calls.append(1)
        return 1 // (len(calls) < 30)

    one = search("goexplore/Chain-v0", fails_later, executor=ProcessExecutor(2))
    with pytest.raises(InputError, match="the cell function raised ZeroDivisionError"):
        one.iterate(5)


def test_workers_leave_when_the_parent_is_gone(search):
    executor = ProcessExecutor(2)
    one = search("goexplore/Chain-v0", executor=executor)
    one.iterate(1)
    workers = [worker.process for worker in executor._pool]
    for worker in executor._pool:
        worker.connection.close()
    for process in workers:
        assert process.wait(timeout=10) == 0
    executor._pool = []


def test_progress_is_told_of_every_rollout(search):
    for executor in (SerialExecutor(), ProcessExecutor(2)):
        steps = []
        executor.on_result = lambda result, steps=steps: steps.append(result.steps)
        loop = search("goexplore/Chain-v0", executor=executor).iterate(3)
        assert sum(steps) == loop.steps


def test_an_executor_can_be_used_again(search):
    executor = ProcessExecutor(2)
    first = search("goexplore/Chain-v0", executor=executor)
    first.open()
    executor.submit(first.loop.ask())
    executor.close()
    second = search("goexplore/Chain-v0", executor=executor)
    assert second.iterate(3).archive.digest() == search("goexplore/Chain-v0").iterate(3).archive.digest()


def test_a_pool_of_nothing_is_refused():
    with pytest.raises(InputError, match="at least 1"):
        ProcessExecutor(-1)


def test_workers_do_not_import_from_the_current_folder(search, tmp_path, monkeypatch):
    """A run folder from a stranger may hold files named like our dependencies."""
    (tmp_path / "zstandard.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nraise ImportError")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [path for path in __import__("sys").path if path not in ("", str(tmp_path))])
    search("goexplore/Chain-v0", executor=ProcessExecutor(2)).iterate(1)
    assert not (tmp_path / "ran").exists()
