from __future__ import annotations

import csv
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

import goexplore
from goexplore.errors import InputError
from goexplore.executors import available_cores
from goexplore.runs import read_newest_checkpoint, write_checkpoint
from goexplore.sweeps import RunRecord, read_sweep, summarise, sweep, verify_run
from goexplore.sweeps._child import _clear_half_made
from goexplore.sweeps._verify import core_seconds

MAZE, CHAIN = "goexplore/KeyDoorMaze-v0", "goexplore/Chain-v0"
MAZE_FOLDER = "goexplore-KeyDoorMaze-v0"
LYING = "tests.lying_envs"


def small(out: Path, games=(MAZE,), **settings):
    return sweep(games, out=out, **{"frames": 2000, "preset": "tiny", "jobs": 2, "progress": False} | settings)


def files(run: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in run.rglob("*") if path.is_file()}


def test_games_times_seeds_resumed_and_extended(tmp_path):
    first = small(tmp_path / "out", (MAZE, CHAIN), seeds=(0, 1), random=True)
    assert (first.stopped_by, first.failed, first.unverified) == ("done", [], [])
    assert [(record.env_id, record.seed) for record in first.records] == [(MAZE, 0), (CHAIN, 0), (MAZE, 1), (CHAIN, 1)]
    for record in first.records[1:3]:
        reference = goexplore.explore(
            record.env_id,
            seed=record.seed,
            frames=2000,
            preset="tiny",
            workers=1,
            progress=False,
            out=tmp_path / "reference" / record.run,
        )
        assert record.archive_digest == reference.archive_digest
        assert (record.frames, record.steps, record.cells) == (reference.frames, reference.steps, reference.cells)
        assert (record.best_score, record.end_score) == (reference.best_score, reference.end_score)
        assert record.best_verified is True
        assert record.end_verified is (None if record.end_score is None else True)
        assert record.core_seconds is not None
        assert record.core_seconds > 0
    assert all(record.random_frames == record.frames for record in first.records)
    for record in first.records:
        assert (tmp_path / "out" / record.run / "config.json").exists()

    saved, records = read_sweep(tmp_path / "out")
    assert (saved["format"], saved["format_version"], saved["frames"]) == ("goexplore-sweep", 1, 2000)
    assert {record.run: record for record in records} == {record.run: record for record in first.records}
    rows = list(csv.DictReader((tmp_path / "out" / "sweep.csv").open()))
    assert {row["run"]: row["archive_digest"] for row in rows} == {
        record.run: record.archive_digest for record in first.records
    }
    table = (tmp_path / "out" / "sweep.md").read_text()
    assert f"| {MAZE_FOLDER} | 2 | 2,000 |" in table
    assert "search scores" in table
    assert "random play: mean" in table
    assert "paper: search score" not in table  # not Atari

    before = files(tmp_path / "out" / MAZE_FOLDER)
    again = small(tmp_path / "out", (MAZE, CHAIN), seeds=(0, 1), random=True)
    assert again.records == first.records
    assert files(tmp_path / "out" / MAZE_FOLDER) == before

    more = small(tmp_path / "out", seeds=(0,), frames=4000)
    assert more.records[0].frames == 4000
    assert more.records[0].best_verified is True
    assert len(read_sweep(tmp_path / "out")[1]) == 4


def test_a_failing_game_does_not_stop_the_others(tmp_path):
    result = small(tmp_path / "out", (f"{LYING}:NanReward", MAZE))
    failed, whole = result.records
    assert "the environment returned the reward nan" in failed.error
    assert result.failed == [f"tests.lying_envs-NanReward seed 0: {failed.error}"]
    assert whole.best_verified is True
    assert "## Failed" in result.table.read_text()
    again = small(tmp_path / "out", (f"{LYING}:NanReward", MAZE))
    assert "the environment returned the reward nan" in again.records[0].error  # it was tried again
    assert again.records[1] == whole


def test_a_process_that_dies_without_a_word_is_reported(tmp_path, monkeypatch):
    (tmp_path / "dies.py").write_text(
        "import os, sys\nfrom goexplore.envs.toys import Chain\n"
        "class Dies(Chain):\n    def step(self, action):\n"
        "        if sys.argv[0].endswith('_child.py'): os.kill(os.getpid(), 9)\n        return super().step(action)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    result = small(tmp_path / "out", ("dies:Dies",))
    assert len(result.failed) == 1
    assert "its process was killed by signal 9; see" in result.failed[0]
    assert (tmp_path / "out" / "dies-Dies" / "seed-0.log").exists()


def test_a_score_that_does_not_replay_is_reported_and_left_out_of_the_table(tmp_path, generous):
    result = small(tmp_path / "out", (generous, f"{LYING}:Chatty"))
    wrong, chatty = result.records
    assert wrong.best_verified is False
    assert "the archive says" in wrong.mismatch
    assert result.unverified == [f"{wrong.label}: {wrong.mismatch}"]
    assert (chatty.best_verified, result.failed) == (True, [])  # printing does no harm
    assert summarise([wrong])[0].best_score == "none"
    assert summarise([wrong])[0].replayed == "NO"
    assert "## Did not replay" in result.table.read_text()


def test_both_scores_are_replayed(tmp_path):
    run = goexplore.explore(MAZE, frames=20_000, preset="tiny", workers=1, progress=False, out=tmp_path / "run").run
    checked = verify_run(run)
    assert (checked.best_verified, checked.end_verified, checked.mismatch) == (True, True, None)
    saved = read_newest_checkpoint(run / "checkpoints", warn=print)
    saved["end"] = saved["end"] + [1.0, 0.0]
    write_checkpoint(run / "checkpoints", int(saved["loop.counters"][0]) + 1, saved)
    checked = verify_run(run)
    assert checked.end_verified is False
    assert "the archive says 12" in checked.mismatch


def test_replaying_can_be_caught_up_on(tmp_path):
    first = small(tmp_path / "out", verify=False)
    assert first.records[0].best_verified is None
    before = files(tmp_path / "out" / MAZE_FOLDER / "seed-0")
    second = small(tmp_path / "out")
    assert second.records[0].best_verified is True
    assert files(tmp_path / "out" / MAZE_FOLDER / "seed-0") == before


def test_core_seconds_add_up_over_sessions(tmp_path):
    (tmp_path / "provenance.json").write_text(
        json.dumps([{"from_frames": 0, "workers": 2}, {"from_frames": 200, "workers": 4}])
    )
    lines = [{"frames": 100, "seconds": 10.0}, {"frames": 200, "seconds": 20.0}, {"frames": 300, "seconds": 25.0}]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert core_seconds(tmp_path) == 2 * 20 + 4 * 5
    assert core_seconds(tmp_path / "nothing") is None


SCRIPT = """
from goexplore.sweeps import sweep
result = sweep({games!r}, frames={frames}, seeds={seeds}, out={out!r}, preset="tiny", checkpoint_seconds=0)
print(result.stopped_by)
"""


def start(out: Path, *, frames=100_000_000, seeds=(0,)) -> subprocess.Popen[str]:
    script = SCRIPT.format(games=MAZE, frames=frames, seeds=list(seeds), out=str(out))
    return subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(condition, seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.05)


def explores(run: Path) -> bool:
    return (run / "metrics.jsonl").exists() and (run / "metrics.jsonl").stat().st_size > 2000


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [one for one in processes if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    """A sweep with seed 0 done, and what seed 1 will come to."""
    folder = tmp_path_factory.mktemp("half")
    small(folder / "out", seeds=0, frames=20_000, verify=False)
    options = {"frames": 20_000, "preset": "tiny", "workers": 1, "progress": False}
    return folder / "out", goexplore.explore(MAZE, seed=1, out=folder / "whole", **options).archive_digest


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_sweep_leaves_no_process_and_goes_on(tmp_path, half, number):
    """Finished runs stay as they are, the half-done one comes out as if never stopped, nothing keeps running."""
    out, digest = shutil.copytree(half[0], tmp_path / "out"), half[1]
    finished, run = files(out / MAZE_FOLDER / "seed-0"), out / MAZE_FOLDER / "seed-1"
    process = start(out, seeds=(0, 1), frames=20_000)
    wait_for(lambda: explores(run))
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) >= (3 if available_cores() > 1 else 1)  # the run and its workers
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    wait_for(lambda: not alive(children), seconds=20)
    if number != signal.SIGKILL:
        assert stdout.strip() == "interrupt", stderr
        assert "saving 1 run" in stderr
        assert 0 < read_sweep(out)[1][1].frames < 20_000
    result = small(out, seeds=(0, 1), frames=20_000, verify=False)
    assert files(out / MAZE_FOLDER / "seed-0") == finished
    assert result.records[1].archive_digest == digest
    assert result.records[1].frames >= 20_000


def test_a_folder_that_a_kill_left_half_made_is_made_again(tmp_path):
    run = tmp_path / "run"
    (run / "checkpoints").mkdir(parents=True)
    (run / ".lock").touch()
    (run / ".config.json.7.tmp").touch()
    _clear_half_made(run)
    assert not run.exists()
    (run / "checkpoints").mkdir(parents=True)
    (run / "checkpoints" / "thesis.tex").touch()
    _clear_half_made(run)
    assert (run / "checkpoints" / "thesis.tex").exists()


def test_two_sweeps_do_not_share_a_folder(tmp_path):
    process = start(tmp_path / "out")
    try:
        wait_for((tmp_path / "out" / "sweep.json").exists)
        with pytest.raises(InputError, match="in use by another process"):
            small(tmp_path / "out")
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


@pytest.mark.parametrize(
    ("games", "settings", "sentence"),
    [
        ((), {}, "no games: name at least one"),
        ((MAZE,), {"seeds": ()}, "no seeds: give at least one"),
        ((MAZE,), {"seeds": (0, -3)}, "seed -3: expected 0 or more"),
        ((MAZE,), {"jobs": 0}, "jobs 0: expected at least 1"),
        ((MAZE,), {"frames": 0}, "frames 0: expected a budget above 0"),
        ((MAZE,), {"preset": "desktop"}, "preset 'desktop': expected one of"),
        ((MAZE,), {"batch_size": 0}, "batch_size 0: expected at least 1"),
        ((MAZE,), {"batchsize": 5}, "unknown setting batchsize"),
        ((MAZE,), {"cells": "pixels"}, "cells 'pixels': expected "),
        ((MAZE,), {"cells": lambda observation: 0}, "put it into a module and give package.module:name"),
        ((MAZE, "CartPool-v1"), {}, "there is no environment 'CartPool-v1'; did you mean CartPole-v1"),
        ((MAZE, "Alein"), {}, "none of the paper's 55 Atari games; did you mean Alien"),
        (("nowhere:Env",), {}, "cannot be imported"),
        pytest.param(("ALE/Alein-v5",), {}, "no Atari game 'Alein'; did you mean Alien", marks=pytest.mark.atari),
        pytest.param(("focus",), {"env_kwargs": {"x": 1}}, "known settings: frame_skip", marks=pytest.mark.atari),
    ],
)
def test_bad_input_gets_one_sentence_before_anything_is_made(tmp_path, games, settings, sentence):
    with pytest.raises(InputError, match=sentence):
        small(tmp_path / "out", games, **settings)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_holds_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(InputError, match="not empty and holds no sweep"):
        small(tmp_path)
    with pytest.raises(InputError, match="is a file"):
        small(tmp_path / "thesis.tex")
    with pytest.raises(InputError, match="cannot be made"):
        small(tmp_path / "thesis.tex" / "out")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").touch()
    with pytest.raises(InputError, match="is a run folder, not a sweep"):
        small(tmp_path / "run")
    for content, sentence in (
        ("{", "not readable JSON"),
        ("[]", "does not describe a goexplore sweep"),
        ('{"format": "goexplore-sweep", "format_version": 9}', "format version 9"),
        ('{"format": "goexplore-sweep", "format_version": 1}', "is damaged"),
        ('{"format": "goexplore-sweep", "format_version": 1, "runs": [3]}', "is damaged"),
        ('{"format": "goexplore-sweep", "format_version": 1, "runs": []}', "it has no settings"),
    ):
        (tmp_path / "sweep.json").write_text(content)
        with pytest.raises(InputError, match=sentence):
            small(tmp_path)
        assert (tmp_path / "sweep.json").read_text() == content


def test_a_sweep_is_not_continued_with_other_settings(tmp_path):
    small(tmp_path / "out", verify=False)
    with pytest.raises(InputError, match='holds a sweep with preset "tiny", and got "paper"'):
        small(tmp_path / "out", preset="paper")
    with pytest.raises(InputError, match="holds a sweep with exploration"):
        small(tmp_path / "out", explore_steps=7)


def test_code_that_was_not_asked_for_is_not_imported(tmp_path):
    """A sweep folder from a stranger: resuming it must not run what its run folders name."""
    out = tmp_path / "out"
    small(out, verify=False)
    config = out / MAZE_FOLDER / "seed-0" / "config.json"
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    saved = json.loads(config.read_text())
    config.write_text(json.dumps(saved | {"cells": "evil:cell"}))
    result = small(out, frames=4000, env_kwargs=None)
    assert "uses code that this sweep was not asked for: evil:cell" in result.failed[0]
    config.write_text(json.dumps(saved | {"seed": 5}))
    assert "holds a run of goexplore/KeyDoorMaze-v0 with seed 5" in small(out, frames=4000).failed[0]
    assert not (tmp_path / "ran").exists()


def test_means_ranges_and_missing_scores():
    def record(seed: int, **values) -> RunRecord:
        return RunRecord("Pitfall", "ALE/Pitfall-v5", seed, f"Pitfall/seed-{seed}", **values)

    (line,) = summarise(
        [
            record(0, frames=100, cells=10, best_score=0.0, end_score=-5.0, best_verified=True, end_verified=True),
            record(1, frames=100, cells=20, best_score=2000.0, best_verified=True),
            record(2, frames=100, cells=30, best_score=9e9, best_verified=False),
            record(3, error="broken"),
        ]
    )
    assert (line.runs, line.frames, line.cells) == ("3 of 4", "100", "20 (10 to 30)")
    assert line.best_score == "1,000 (0 to 2,000) in 2 of 3"
    assert line.end_score == "-5 in 1 of 3"
    assert line.replayed == "2 of 3"
    assert (line.paper_exploration, line.paper_frames) == ("7,875", "5 billion")
    assert line.random_mean == ""


@pytest.mark.atari
def test_atari_beside_the_paper(tmp_path):
    result = sweep(
        ["Freeway", "ALE/Freeway-v5", "freeway"],
        frames=8000,
        out=tmp_path / "out",
        preset="tiny",
        cells="ram:y=14",
        progress=False,
    )
    (record,) = result.records
    assert (record.game, record.env_id, record.run) == ("Freeway", "ALE/Freeway-v5", "Freeway/seed-0")
    assert record.frames == 4 * record.steps >= 8000
    assert record.best_verified is True
    table = result.table.read_text()
    (line,) = [line for line in table.splitlines() if line.startswith("| Freeway ")]
    assert line.endswith("| 34 | 2 billion | 30 |")
