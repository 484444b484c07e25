from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import goexplore
from goexplore.cells import Fitting
from goexplore.envs import EnvSpec
from goexplore.errors import GoExploreError, InputError
from goexplore.exploration import ExplorationConfig
from goexplore.runs import Budget, RunConfig, RunFolder, read_newest_checkpoint
from tests.conftest import last_json

MAZE = "goexplore/KeyDoorMaze-v0"


def run(path: Path, **settings) -> goexplore.RunResult:
    defaults = {"frames": 4000, "preset": "tiny", "workers": 1, "progress": False, "out": path}
    return goexplore.explore(settings.pop("env", MAZE), **defaults | settings)


def test_a_run_leaves_a_folder_that_tells_everything(tmp_path):
    result = run(tmp_path / "run")
    names = {path.name.split(".out")[0] for path in result.run.iterdir()}
    assert {"config.json", "provenance.json", "metrics.jsonl", "checkpoints", "videos", "events"} <= names
    lines = [json.loads(line) for line in (result.run / "metrics.jsonl").read_text().splitlines()]
    assert [line["iteration"] for line in lines] == list(range(1, len(lines) + 1))
    assert lines[-1]["frames"] == result.frames
    assert lines[-1]["cells"] == result.cells
    (session,) = json.loads((result.run / "provenance.json").read_text())
    assert session["packages"]["numpy"] == np.__version__


def test_tensorboard_can_read_it(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    result = run(tmp_path / "run")
    events = EventAccumulator(str(result.run))
    events.Reload()
    assert "archive/cells" in events.Tags()["scalars"]
    assert events.Scalars("archive/cells")[-1].value == result.cells
    assert events.Scalars("archive/cells")[-1].step == result.frames


@pytest.mark.parametrize("env", [MAZE, "goexplore/Chain-v0", "goexplore/PointRooms-v0"])
@pytest.mark.parametrize("pipelined", [False, True])
def test_resuming_equals_not_stopping(tmp_path, env, pipelined):
    """Also where snapshots cannot be saved (Chain): its cells are then reached by replay."""
    cells = "observation:0.1" if "Point" in env else None
    whole = run(tmp_path / "whole", env=env, cells=cells, pipelined=pipelined)
    run(tmp_path / "parts", env=env, cells=cells, pipelined=pipelined, frames=900)
    goexplore.resume(tmp_path / "parts", frames=2500, workers=2, progress=False)
    parts = goexplore.resume(tmp_path / "parts", frames=4000, workers=1, progress=False)
    assert parts.archive_digest == whole.archive_digest
    metrics = [(tmp_path / name / "metrics.jsonl").read_text().splitlines() for name in ("whole", "parts")]
    keys = ("iteration", "frames", "cells", "new_cells", "improved_cells", "best_score", "ends")
    assert [[json.loads(line)[key] for key in keys] for line in metrics[0]] == [
        [json.loads(line)[key] for key in keys] for line in metrics[1]
    ]


def test_snapshots_that_hold_pickles_never_reach_the_disk(tmp_path):
    result = run(tmp_path / "run", env="goexplore/Chain-v0")
    saved = read_newest_checkpoint(result.run / "checkpoints", warn=print)
    assert saved["snapshots.bytes"].size == 0
    assert saved["run.snapshot_reference"].size == 0


def test_a_finished_run_has_nothing_left_to_do(tmp_path):
    first = run(tmp_path / "run")
    again = goexplore.resume(tmp_path / "run", workers=1, progress=False)
    assert again.frames == first.frames
    assert again.archive_digest == first.archive_digest


def test_budgets(tmp_path):
    assert run(tmp_path / "score", until_score=1, frames=None, minutes=1).stopped_by == "score"
    started = time.monotonic()
    assert run(tmp_path / "time", frames=None, minutes=0.02).stopped_by == "minutes"
    assert time.monotonic() - started < 20


def test_damaged_checkpoints_are_passed_over_and_the_run_comes_out_the_same(tmp_path):
    whole = run(tmp_path / "whole")
    run(tmp_path / "run", frames=2000)
    goexplore.resume(tmp_path / "run", frames=3000, workers=1, progress=False)
    newest = max((tmp_path / "run" / "checkpoints").iterdir())
    newest.write_bytes(newest.read_bytes()[:-100])
    assert goexplore.resume(tmp_path / "run", frames=4000, workers=1, progress=False).archive_digest == (
        whole.archive_digest
    )


def test_a_goal_that_ends_the_episode_counts_as_reached(tmp_path):
    result = run(tmp_path / "run", until_score=11, frames=200_000)
    assert (result.stopped_by, result.best_score, result.end_score) == ("score", 11.0, 11.0)


def test_a_run_without_a_checkpoint_starts_from_the_beginning(tmp_path):
    whole = run(tmp_path / "run")
    for path in (whole.run / "checkpoints").iterdir():
        path.unlink()
    assert goexplore.resume(whole.run, workers=1, progress=False).archive_digest == whole.archive_digest


def test_bad_arguments_leave_no_folder_behind(tmp_path):
    for wrong in ({"workers": 0}, {"seed": -1}, {"batch_size": 0}, {"cells": "pixels"}):
        with pytest.raises(InputError):
            run(tmp_path / "run", **wrong)
    assert not (tmp_path / "run").exists()


def test_after_an_error_the_folder_is_free(tmp_path):
    calls = []

    def fails_once(observation):
        calls.append(1)
        if len(calls) == 500:
            raise RuntimeError("once")
        return int(observation[0]), int(observation[1])

    with pytest.raises(InputError, match="once") as kept:
        run(tmp_path / "run", cells=fails_once)
    assert goexplore.resume(tmp_path / "run", workers=1, progress=False, cells=fails_once).frames >= 4000
    assert kept.value is not None


def test_named_functions_may_be_given_again(tmp_path):
    from tests.executors.test_executors import position

    run(tmp_path / "run", cells=position, frames=1000)
    assert goexplore.resume(tmp_path / "run", frames=2000, workers=1, progress=False, cells=position).frames >= 2000
    with pytest.raises(TypeError, match="preset"):
        goexplore.resume(tmp_path / "run", preset="paper")


def test_two_runs_in_one_second_get_two_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folders = {run(None, frames=200).run for _ in range(3)}
    assert len(folders) == 3


def test_another_simulator_version_is_mentioned(tmp_path, capfd):
    result = run(tmp_path / "run", frames=1000)
    sessions = json.loads((result.run / "provenance.json").read_text())
    sessions[0]["packages"]["gymnasium"] = "0.26.3"
    (result.run / "provenance.json").write_text(json.dumps(sessions))
    goexplore.resume(result.run, frames=2000, workers=1)
    assert "made with gymnasium 0.26.3, and now it is" in capfd.readouterr().err


@pytest.mark.parametrize("signals", [1, 2])
@pytest.mark.parametrize("moment", ["_merge", "ask", "publish"])
def test_a_signal_at_the_worst_moment_loses_nothing(tmp_path, monkeypatch, signals, moment):
    """One signal in the middle of a merge waits for its end; two end the program, and nothing half merged is saved."""
    from goexplore.executors import SerialExecutor
    from goexplore.exploration import ExplorationLoop

    owner = SerialExecutor if moment == "publish" else ExplorationLoop
    original, calls = getattr(owner, moment), []

    def interrupted(self, *arguments):
        calls.append(1)
        if len(calls) == 7:
            for _ in range(signals):
                os.kill(os.getpid(), signal.SIGINT)
        return original(self, *arguments)

    monkeypatch.setattr(owner, moment, interrupted)
    try:
        assert run(tmp_path / "run", checkpoint_seconds=0).stopped_by == "interrupt"
        assert signals == 1
    except KeyboardInterrupt:
        assert signals == 2
    monkeypatch.undo()
    resumed = goexplore.resume(tmp_path / "run", workers=1, progress=False)
    assert resumed.archive_digest == run(tmp_path / "whole").archive_digest


def test_functions_without_a_name_are_asked_for_again(tmp_path):
    def cells(observation):
        return int(observation[0]) // 2, int(observation[1]) // 2

    whole = run(tmp_path / "whole", cells=cells)
    run(tmp_path / "run", cells=cells, frames=2000)
    with pytest.raises(InputError, match=r"resume\(path, cells=...\)"):
        goexplore.resume(tmp_path / "run", frames=4000, progress=False)
    with pytest.raises(InputError, match=r"cells was .*cells', and got .*lambda"):
        goexplore.resume(tmp_path / "run", frames=4000, progress=False, cells=lambda observation: 0)
    assert goexplore.inspect_run(tmp_path / "run")["cells"] > 1
    resumed = goexplore.resume(tmp_path / "run", frames=4000, workers=2, progress=False, cells=cells)
    assert resumed.archive_digest == whole.archive_digest


def test_a_folder_in_use_is_refused(tmp_path):
    run(tmp_path / "run")
    with pytest.raises(InputError, match=r"already holds a run.*resume"):
        run(tmp_path / "run")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(InputError, match="not empty"):
        run(tmp_path / "other")
    folder = RunFolder.open(tmp_path / "run")
    folder.lock()
    with pytest.raises(InputError, match="in use by another process"):
        goexplore.resume(tmp_path / "run", frames=9000, progress=False)
    folder.unlock()


@pytest.mark.parametrize("wrong", [{"explorer": "clever"}, {"selector": "best"}, {"cells": "pixels"}])
def test_a_misspelt_name_leaves_no_folder_behind(tmp_path, wrong):
    with pytest.raises(InputError, match="expected"):
        run(tmp_path / "run", **wrong)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not readable JSON"),
        ("[]", "does not describe a goexplore run"),
        ('{"format": "goexplore-robustification"}', "not describe a goexplore run, but a goexplore robustification"),
        ('{"format": "goexplore-run", "format_version": 99}', "format version 99"),
        ('{"format": "goexplore-run", "format_version": 2}', "damaged or not ours"),
        ('{"format": "goexplore-run", "format_version": 2, "env": [], "exploration": []}', "damaged or not ours"),
        ('{"format": "goexplore-run", "format_version": 2, "env": {"id": 3, "bomb": 1}}', "damaged or not ours"),
    ],
)
def test_foreign_run_folders_are_explained(tmp_path, content, message):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(InputError, match=message):
        goexplore.resume(tmp_path, progress=False)


def test_a_checkpoint_of_another_run_is_explained(tmp_path):
    run(tmp_path / "a")
    run(tmp_path / "b", env="goexplore/PointRooms-v0", cells="observation:0.1")
    for path in (tmp_path / "a" / "checkpoints").iterdir():
        path.unlink()
    for path in (tmp_path / "b" / "checkpoints").iterdir():
        path.rename(tmp_path / "a" / "checkpoints" / path.name)
    with pytest.raises(InputError, match="does not fit this run"):
        goexplore.resume(tmp_path / "a", frames=9000, progress=False)


def test_a_full_disk_stops_the_run_and_leaves_it_resumable(tmp_path, monkeypatch):
    whole = run(tmp_path / "whole")
    real, calls = os.fsync, []

    def fills_up(descriptor):
        calls.append(1)
        if len(calls) > 12:
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fills_up)
    monkeypatch.setattr("goexplore.runs._session.CHECKPOINT_COST", 1e9)
    with pytest.raises(GoExploreError, match=r"No space left.*last checkpoint is intact.*goexplore resume"):
        run(tmp_path / "run", checkpoint_seconds=0)
    monkeypatch.undo()
    assert goexplore.resume(tmp_path / "run", workers=1, progress=False).archive_digest == whole.archive_digest


def start_process(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "goexplore", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("env", "settings", "kills"),
    [
        (MAZE, ["--preset", "tiny", "--frames", "60000", "--batch-size", "50"], 12),
        pytest.param("ALE/Freeway-v5", ["--frames", "100000", "--batch-size", "20"], 5, marks=pytest.mark.atari),
    ],
)
def test_killed_at_random_moments_and_resumed_gives_the_same_archive(tmp_path, cli, env, settings, kills):
    """SIGKILL to the main process; the full measurement with 20 kills on both is `scripts/kill_and_resume.py`."""
    reference = last_json(cli("explore", env, *settings, "--out", "whole", "--workers", "2", "--json"))
    out, generator = str(tmp_path / "killed"), random.Random(0)
    resumed = ["explore", env, *settings, "--out", out, "--workers", "2", "--checkpoint-seconds", "0"]
    for _ in range(kills):
        process = start_process(*resumed)
        deadline = time.monotonic() + 60  # however busy the machine is, there is something to resume
        while not (tmp_path / "killed" / "config.json").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5 + generator.random() * 1.3)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        resumed = ["resume", out, "--workers", generator.choice("124"), "--checkpoint-seconds", "0"]
    final = last_json(cli("resume", out, "--json"))
    assert final["archive_digest"] == reference["archive_digest"]
    assert last_json(cli("inspect", out, "--json"))["archive_digest"] == reference["archive_digest"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path, number):
    out = str(tmp_path / "run")
    process = start_process("explore", MAZE, "--preset", "tiny", "--frames", "100_000_000", "--out", out, "--json")
    while (
        not (tmp_path / "run" / "metrics.jsonl").exists() or (tmp_path / "run" / "metrics.jsonl").stat().st_size < 2000
    ):
        time.sleep(0.05)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130, stderr
    assert f"goexplore resume {out}" in stderr
    assert "Traceback" not in stderr
    result = json.loads(stdout.splitlines()[-1])
    assert result["stopped_by"] == "interrupt"
    resumed = goexplore.resume(out, frames=result["frames"] + 2000, workers=1, progress=False)
    whole = run(tmp_path / "whole", frames=result["frames"] + 2000, workers=2)
    assert resumed.archive_digest == whole.archive_digest


PLUGIN = """
import gymnasium as gym
from goexplore.envs.toys import KeyDoorMaze

open("imported", "a").close()

def cell(observation):
    return int(observation[0]), int(observation[1])
"""


def test_a_run_that_names_code_is_read_only_when_trusted(tmp_path, cli):
    (tmp_path / "mine.py").write_text(PLUGIN)
    explored = cli("explore", MAZE, "--preset", "tiny", "--frames", "2000", "--cells", "mine:cell", "--out", "run")
    assert explored.returncode == 0, explored.stderr
    assert "goexplore resume run --trust" in explored.stdout
    (tmp_path / "imported").unlink()
    assert cli("inspect", "run").returncode == 0
    for command in (["resume"], ["inspect", "--verify", "3"], ["render"]):
        refused = cli(*command, "run")
        assert refused.returncode == 2
        assert "uses code of its own (mine:cell)" in refused.stderr
        assert not (tmp_path / "imported").exists()
    assert cli("resume", "run", "--trust", "--frames", "4000").returncode == 0
    assert cli("inspect", "run", "--trust", "--verify", "5").returncode == 0
    assert cli("render", "run", "--trust").returncode == 0


def test_a_strangers_run_cannot_name_a_program_as_environment(tmp_path, cli):
    run(tmp_path / "run")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    marker = tmp_path / "ran"
    (tmp_path / "run" / "ram.py").write_text(f"open({str(marker)!r}, 'w')")
    attacks = [
        {"env": config["env"] | {"id": "subprocess:Popen", "kwargs": {"args": ["touch", str(marker)]}}},
        {"env": config["env"] | {"id": "ram:Env"}},
        {"exploration": config["exploration"] | {"selector": "ram:x"}},
        {"exploration": config["exploration"] | {"explorer": "ram:x"}},
    ]
    for attack in attacks:
        (tmp_path / "run" / "config.json").write_text(json.dumps(config | attack))
        for command in (["resume"], ["inspect", "--verify", "3"], ["render"]):
            assert cli(*command, ".", cwd=tmp_path / "run").returncode == 2
        assert cli("inspect", ".", cwd=tmp_path / "run").returncode == 0
    assert not marker.exists()


def test_a_strangers_snapshots_are_never_unpickled(tmp_path):
    """An environment whose snapshots are pickles ignores whatever a checkpoint claims to have saved."""
    import cloudpickle

    from goexplore.archive import SnapshotCodec, join_bytes
    from goexplore.runs import write_checkpoint

    result = run(tmp_path / "run", env="goexplore/Chain-v0", frames=1000)
    marker = tmp_path / "ran"

    class Bomb:
        def __reduce__(self):
            return (os.system, (f"touch {marker}",))

    saved = read_newest_checkpoint(result.run / "checkpoints", warn=print)
    codec = SnapshotCodec(b"reference" * 10)
    bomb = codec.encode(cloudpickle.dumps((Bomb(), 0)), b"")
    saved |= join_bytes("snapshots", [bomb] * result.cells)
    saved["run.snapshot_reference"] = np.frombuffer(codec.reference, np.uint8)
    write_checkpoint(result.run / "checkpoints", 999, saved)
    resumed = goexplore.resume(result.run, frames=4000, workers=1, progress=False)
    assert not marker.exists()
    assert resumed.archive_digest == run(tmp_path / "whole", env="goexplore/Chain-v0").archive_digest


def test_a_setting_that_a_later_version_adds_orphans_no_run():
    """Identity tells runs apart by what differs from the defaults; the digest is pinned to notice a change."""
    config = RunConfig(EnvSpec("goexplore/KeyDoorMaze-v0"), "observation", ExplorationConfig(batch_size=7), seed=3)
    assert config.identity() == replace(config, budget=Budget(frames=9)).identity()
    assert config.identity() != replace(config, exploration=ExplorationConfig(batch_size=8)).identity()
    fitted = ExplorationConfig(batch_size=7, fitting=Fitting(growth=3))
    assert config.identity() != replace(config, exploration=fitted).identity()
    assert config.identity() == "8de9a88a3d6624d99f0c397740cdb72c"
