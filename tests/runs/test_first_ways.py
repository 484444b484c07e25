"""Searches that begin with trajectories of a person or of another search."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import goexplore
from goexplore.demos import extract, load_demonstrations, save_demonstrations
from goexplore.envs import EnvSpec
from goexplore.errors import InputError
from goexplore.runs import RunFolder, peek
from tests.conftest import last_json

MAZE = "goexplore/KeyDoorMaze-v0"
BUDGET = {"preset": "tiny", "workers": 1, "progress": False}


@pytest.fixture(scope="module")
def way_to_the_goal(tmp_path_factory):
    out = tmp_path_factory.mktemp("first") / "run"
    found = goexplore.explore(MAZE, until_score=11, explore_steps=20, out=out, **BUDGET)
    folder = tmp_path_factory.mktemp("demos")
    extract(found.run, out=folder)
    (demonstration,) = load_demonstrations(folder)
    assert demonstration.score == 11
    return folder, demonstration


def begun(out, actions, *, frames=100, **settings):
    return goexplore.explore(MAZE, begin_with=[actions], frames=frames, out=out, **BUDGET | settings)


def test_the_archive_holds_what_they_go_through(tmp_path, way_to_the_goal):
    _, demonstration = way_to_the_goal
    result = begun(tmp_path / "run", demonstration.actions)
    assert result.best_score == 11
    assert result.end_score == 11
    loop, _ = peek(RunFolder.open(result.run), warn=print)
    assert loop.archive.end.length <= len(demonstration)
    without = goexplore.explore(MAZE, frames=100, out=tmp_path / "without", **BUDGET)
    assert without.best_score < 11


def test_their_steps_count(tmp_path, way_to_the_goal):
    _, demonstration = way_to_the_goal
    loop, _ = peek(RunFolder.open(begun(tmp_path / "run", demonstration.actions).run), warn=print)
    assert loop.steps >= 100
    assert loop.archive.table["steps"].sum() <= loop.steps


def test_one_seed_gives_one_archive_also_after_a_stop_before_the_first_checkpoint(tmp_path, way_to_the_goal):
    _, demonstration = way_to_the_goal
    whole = begun(tmp_path / "whole", demonstration.actions, frames=2_000)
    assert (
        begun(tmp_path / "two", demonstration.actions, frames=2_000, workers=2).archive_digest == whole.archive_digest
    )
    begun(tmp_path / "parts", demonstration.actions, frames=500)
    for checkpoint in (tmp_path / "parts" / "checkpoints").iterdir():
        checkpoint.unlink()
    resumed = goexplore.resume(tmp_path / "parts", frames=2_000, workers=1, progress=False)
    assert resumed.archive_digest == whole.archive_digest


def test_without_checkpoint_and_trajectories_nothing_is_made_up(tmp_path, way_to_the_goal):
    _, demonstration = way_to_the_goal
    run = begun(tmp_path / "run", demonstration.actions).run
    for lost in (*(run / "checkpoints").iterdir(), run / "first-ways.npz"):
        lost.unlink()
    with pytest.raises(InputError, match="missing or changed"):
        goexplore.resume(run, frames=500, workers=1, progress=False)


def test_a_run_that_began_otherwise_is_another_run(tmp_path, way_to_the_goal):
    _, demonstration = way_to_the_goal
    one = begun(tmp_path / "one", demonstration.actions)
    other = begun(tmp_path / "other", demonstration.actions[:5])
    (other.run / "config.json").write_text((one.run / "config.json").read_text())
    with pytest.raises(InputError, match="belongs to another one"):
        goexplore.resume(other.run, frames=500, workers=1, progress=False)


def test_what_does_not_fit_is_said(tmp_path):
    for wrong in (np.zeros((3, 2), np.uint8), np.zeros(0, np.uint8), np.full(3, 250, np.uint8)):
        with pytest.raises(InputError, match=r"shape|action 250"):
            begun(tmp_path / "run", wrong)
        assert not (tmp_path / "run").exists()


def test_from_the_command_line(tmp_path, way_to_the_goal):
    folder, _ = way_to_the_goal
    options = ["--begin-with", str(folder), "--frames", "100", "--preset", "tiny", "--workers", "1", "--json"]
    done = goexplore_command("explore", MAZE, *options, "--out", str(tmp_path / "run"))
    assert last_json(done)["best_score"] == 11
    refused = goexplore_command("explore", "goexplore/Chain-v0", *options, "--out", str(tmp_path / "other"))
    assert refused.returncode == 2
    assert f"demonstrations of {MAZE}; expected some of goexplore/Chain-v0" in refused.stderr


def test_demonstrations_of_code_of_ones_own_need_no_trust_as_only_their_actions_are_used(tmp_path, way_to_the_goal):
    _, demonstration = way_to_the_goal
    own = "goexplore.envs.toys:KeyDoorMaze"
    save_demonstrations([replace(demonstration, env=EnvSpec(own))], tmp_path / "own")
    options = ["--begin-with", str(tmp_path / "own"), "--frames", "100", "--preset", "tiny", "--workers", "1", "--json"]
    assert last_json(goexplore_command("explore", own, *options, "--out", str(tmp_path / "run")))["best_score"] == 11


def goexplore_command(*words):
    return subprocess.run([sys.executable, "-m", "goexplore", *words], capture_output=True, text=True, check=False)
