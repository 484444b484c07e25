from __future__ import annotations

import json

import pytest
import tyro

from goexplore.cli._sweep import Sweep
from goexplore.errors import InputError

MAZE = "goexplore/KeyDoorMaze-v0"


def run(*arguments: str) -> int:
    return tyro.cli(Sweep, args=arguments, config=(tyro.conf.FlagCreatePairsOff,)).run()


def test_the_command_sweeps_and_ends_with_one_json_object(tmp_path, capsys):
    words = [MAZE, "--seeds", "0", "1", "--frames", "1500", "--jobs", "2", "--preset", "tiny", "--out", str(tmp_path)]
    assert run(*words, "--json") == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert [one["best_verified"] for one in found["runs"]] == [True, True]
    assert (found["stopped_by"], found["failed"], found["unverified"]) == ("done", [], [])
    assert "sweep of 2 runs of 1,500 frames each" in printed.err
    assert "seed 1: done · 1,600 frames" in printed.err
    assert run(*words) == 0
    printed = capsys.readouterr()
    assert "goexplore-KeyDoorMaze-v0" in printed.out
    assert "all 2 runs" in printed.err


def test_a_failure_exits_with_1(tmp_path, capsys):
    words = ["tests.lying_envs:NanReward", "--frames", "1500", "--preset", "tiny", "--out", str(tmp_path)]
    assert run(*words) == 1
    assert "failed: tests.lying_envs-NanReward seed 0: the environment returned" in capsys.readouterr().out


def test_a_score_that_does_not_replay_exits_with_1(tmp_path, capsys, generous):
    words = [generous, "--frames", "1500", "--preset", "tiny", "--out", str(tmp_path / "out")]
    assert run(*words) == 1
    assert "does not replay: liar-Generous seed 0: best score: the archive says" in capsys.readouterr().out


def test_without_games(tmp_path):
    with pytest.raises(InputError, match="no games"):
        run("--out", str(tmp_path))


def test_help_teaches(capsys):
    with pytest.raises(SystemExit) as ended:
        run("--help")
    assert ended.value.code == 0
    assert "goexplore sweep focus --preset paper --random" in capsys.readouterr().out
