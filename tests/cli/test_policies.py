"""From a run to a tested policy on the command line, and what happens to wrong commands."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from goexplore.cli import _output
from tests.conftest import last_json

pytest.importorskip("torch")

MAZE = "goexplore/KeyDoorMaze-v0"


def goexplore(*arguments: str, cwd) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "goexplore", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"MINARI_DATASETS_PATH": str(cwd / "minari")},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("policies")
    explored = goexplore("explore", MAZE, "--preset", "tiny", "--frames", "20000", "--out", "run", cwd=folder)
    assert explored.returncode == 0, explored.stderr
    return folder


def test_from_a_run_to_a_tested_policy(folder):
    demos = goexplore("demos", "run", "--until-score", "1", "--out", "demos", "--json", cwd=folder)
    (found,) = last_json(demos)["demonstrations"]
    assert found["score"] == 1
    shown = goexplore("demos", "show", "demos", "--video", "way.gif", cwd=folder)
    assert "KeyDoorMaze" in shown.stdout
    assert (folder / "way.gif").read_bytes()[:4] == b"GIF8"
    exported = goexplore("demos", "export", "demos", "maze/key-v0", "--json", cwd=folder)
    assert last_json(exported)["episodes"] == 1
    imported = goexplore("demos", "import", "maze/key-v0", "--out", "back", "--json", cwd=folder)
    assert last_json(imported)["files"] == ["demo-000.demo.npz"]
    trained = goexplore(
        "robustify", "demos", "--steps", "10000", "--ranks", "1", "--out", "policy", "--json", cwd=folder
    )
    assert last_json(trained)["steps"] >= 10_000
    assert "starts" in trained.stderr
    again = goexplore("robustify", "--resume", "policy", "--steps", "14000", "--json", cwd=folder)
    assert again.returncode == 0, again.stderr
    tested = goexplore("evaluate", "policy", "--episodes", "4", "--at-least", "1", "--json", cwd=folder)
    assert last_json(tested)["episodes"] == 4
    control = goexplore(
        "control",
        "ppo",
        MAZE,
        "--steps",
        "2000",
        "--ranks",
        "1",
        "--set",
        "actors=8",
        "--out",
        "ppo",
        "--json",
        cwd=folder,
    )
    assert last_json(control)["steps"] >= 2_000
    files = {path.name.split(".")[0] for path in (folder / "policy").iterdir()}
    assert {"config", "provenance", "metrics", "events", "demonstrations", "policies", "checkpoints"} <= files


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["demos", "nowhere"], "there is no run folder nowhere"),
        (["demos", "run", "--until-score", "500", "--out", "none"], "no trajectory reaches a score of 500"),
        (["demos", "show", "none"], "there is no demonstration"),
        (["robustify", "nowhere", "--out", "p"], "there is no demonstration nowhere"),
        (["robustify", "run", "--out", "p"], "run is a run, not a folder of demonstrations: goexplore demos run"),
        (["robustify"], "expected a folder of demonstrations, or --resume RUN"),
        (["robustify", "--resume", "run"], "does not describe a goexplore robustification, but a goexplore run"),
        (["robustify", "--resume", "run", "--seed", "1"], "--seed belongs to a new run"),
        (["robustify", "--resume", "run", "--ranks", "1"], "--ranks belongs to a new run"),
        (["control", "ppo", "--resume", "run", "--set", "actors=4"], "--set belongs to a new run"),
        (["evaluate", "nowhere"], "there is no policy nowhere"),
        (["evaluate", "run"], "there is no policy in run yet"),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_code_2(folder, arguments, sentence):
    done = goexplore(*arguments, cwd=folder)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_progress_in_a_file_is_a_line_now_and_then(capsys, monkeypatch):
    monkeypatch.setattr(_output, "SECONDS_BETWEEN_LINES", 0.0)
    with _output.episodes_shown(20) as tell:
        tell(3, 2.5)
    assert capsys.readouterr().err == "3 of 20 episodes, mean score 2.5\n"
    monkeypatch.setattr(_output, "SECONDS_BETWEEN_LINES", 60.0)
    with _output.episodes_shown(20) as tell:
        tell(3, 2.5)
    assert capsys.readouterr().err == ""
