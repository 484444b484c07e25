from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.conftest import last_json

MAZE = "goexplore/KeyDoorMaze-v0"
SHORT = ["--preset", "tiny", "--frames", "2000"]

BAD_MODULE = """
import gymnasium as gym
from goexplore.cells import CellFunction
from goexplore.envs.toys import Chain

def raises(observation):
    raise RuntimeError("my bug")

def returns_float(observation):
    return 0.5

class ReturnsText(CellFunction):
    def key(self, observation, env):
        return "text"

def three_arguments(a, b, c):
    return 0

class NanRewards(Chain):
    def step(self, action):
        observation, reward, *rest = super().step(action)
        return observation, float("nan"), *rest

def good(observation):
    return int(observation[0])
"""


@pytest.fixture
def bad_module(tmp_path):
    (tmp_path / "mine.py").write_text(BAD_MODULE)
    (tmp_path / "broken.py").write_text("def cell(observation)\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["explore", "CartPool-v1"], "there is no environment 'CartPool-v1'; did you mean CartPole-v1"),
        (
            ["explore", "ALE/MontezumasRevenge-v5"],
            "there is no Atari game 'MontezumasRevenge'; did you mean MontezumaRev",
        ),
        (["explore", "nowhere.at_all:Env"], "cannot be imported"),
        (["explore", MAZE, "--frames", "-5"], "frames -5: expected a budget above 0"),
        (["explore", MAZE, "--minutes", "0"], "minutes 0.0: expected a budget above 0"),
        (["explore", MAZE, "--workers", "0"], "workers 0: expected at least 1"),
        (["explore", MAZE, "--batch-size", "0"], "batch_size 0: expected at least 1"),
        (["explore", MAZE, "--cells", "pixels"], "cells 'pixels': expected dynamic"),
        (["explore", MAZE, "--cells", "downscale"], "downscaled cells need a picture"),
        (["explore", MAZE, "--selector", "best"], "selector 'best': expected seen, inverse, steps, uniform"),
        (["explore", MAZE, "--explorer", "clever"], "explorer 'clever': expected random"),
        (["explore", MAZE, "--cells", "mine:raises"], "the cell function raised RuntimeError: my bug (line 7"),
        (["explore", MAZE, "--cells", "mine:returns_float"], "returned the float 0.5"),
        (["explore", MAZE, "--cells", "mine:ReturnsText"], "returned a str; expected bytes"),
        (["explore", MAZE, "--cells", "mine:three_arguments"], "takes 3 arguments; expected (observation)"),
        (["explore", MAZE, "--cells", "mine:goood"], "has no 'goood'; did you mean good?"),
        (["explore", "mine:NanRewards", *SHORT], "the reward nan"),
        (["explore", MAZE, "--env-kwargs", "size"], "should look like name=value"),
        (["explore", MAZE, "--env-kwargs", "size=3"], "could not be made"),
        (["explore", "CartPole-v1"], "no default cells for an observation of type ndarray"),
        (["explore", MAZE, "--out", "mine.py/run", *SHORT], "cannot be made: Not a directory"),
        (["explore", MAZE, "--seed", "-1"], "seed -1: expected 0 or more"),
        (["explore", MAZE, "--minutes", "inf"], "minutes inf: expected a budget above 0"),
        (["explore", "FrozenLake-v1", "--env-kwargs", "map_name=9x9"], "could not be made: KeyError"),
        (["explore", MAZE, "--cells", "broken:cell"], "cannot be imported: SyntaxError"),
        (["explore", "ALE/Pong-v5", "--env-kwargs", "game=freeway"], "already names the game"),
        (["bench", "explore", "--workers", "0"], "workers 0: expected at least 1"),
        (["explore", "ALE/Pong-v99"], "expected a version -v5"),
        (["explore", "mine.py:NanRewards"], "without .py"),
        (["explore", MAZE, "--cells", "dowscale"], "did you mean downscale?"),
        (["inspect", "mine.py"], "mine.py is a file; expected a run folder"),
        (["resume", "nothing"], "there is no run folder nothing"),
        (["resume", "."], "is not a run folder: it has no config.json"),
        (["inspect", "nothing"], "there is no run folder nothing"),
        (["render", "nothing"], "there is no run folder nothing"),
        (["check-env", "CartPool-v1"], "did you mean CartPole-v1"),
    ],
)
def test_bad_input_gets_one_sentence_and_exit_code_2(cli, bad_module, arguments, sentence):
    completed = cli(*arguments)
    lines = [line for line in completed.stderr.splitlines() if line.startswith("goexplore: ")]
    assert completed.returncode == 2, completed.stderr
    assert len(lines) == 1
    assert sentence in lines[0]
    assert "Traceback" not in completed.stderr
    assert completed.stdout == ""


@pytest.mark.parametrize(
    "arguments", [["fly"], ["explore"], ["explore", MAZE, "--framse", "3"], ["explore", MAZE, "--frames", "many"]]
)
def test_wrong_words_exit_with_2(cli, arguments):
    completed = cli(*arguments)
    assert completed.returncode == 2
    assert "Traceback" not in completed.stderr + completed.stdout


@pytest.mark.parametrize("arguments", [[], ["explore"], ["resume"], ["inspect"], ["render"], ["check-env"], ["bench"]])
def test_help_teaches(cli, arguments):
    completed = cli(*arguments, "--help")
    assert completed.returncode == 0
    assert "usage: goexplore" in completed.stdout


def test_a_missing_extra_is_named(tmp_path):
    """Without ale-py the error says what to install, and everything else still works."""
    blocked = "import sys; sys.modules['ale_py'] = None; sys.modules['imageio_ffmpeg'] = None; "
    run = blocked + "from goexplore.cli import main; main({})"
    for arguments, code, sentence in (
        (["explore", "ALE/Freeway-v5"], 2, "pip install 'goexplore[atari]'"),
        (["explore", MAZE, *SHORT, "--out", "run"], 0, ""),
        (["render", "run"], 2, "pip install 'goexplore[video]'"),
    ):
        completed = subprocess.run(
            [sys.executable, "-c", run.format(arguments)], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert completed.returncode == code, completed.stderr
        assert sentence in completed.stderr


def test_a_missing_rom_is_named(tmp_path):
    code = (
        "import ale_py.roms; ale_py.roms.get_rom_path = lambda name: None;"
        "from goexplore.cli import main; main(['explore', 'ALE/Freeway-v5'])"
    )
    completed = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert completed.returncode == 2
    assert "the ROM of 'freeway' is missing" in completed.stderr


def test_json_is_the_last_line_and_nothing_else_is_on_stdout(cli):
    explored = cli("explore", MAZE, *SHORT, "--out", "run", "--json")
    result = last_json(explored)
    assert len(explored.stdout.splitlines()) == 1
    assert result["frames"] >= 2000
    assert "exploring goexplore/KeyDoorMaze-v0" in explored.stderr
    inspected = last_json(cli("inspect", "run", "--verify", "5", "--json"))
    assert inspected["archive_digest"] == result["archive_digest"]
    assert inspected["verified_cells"] == 5
    rendered = last_json(cli("render", "run", "--json"))
    assert rendered["video"] == "run/videos/best.mp4"


def test_people_get_a_table_and_the_next_command(cli):
    completed = cli("explore", MAZE, *SHORT, "--out", "run")
    assert completed.returncode == 0
    assert "archive digest" in completed.stdout
    assert "next: goexplore render run" in completed.stdout


def test_cell_functions_that_print_do_not_disturb_json(cli, tmp_path):
    (tmp_path / "loud.py").write_text("def cell(observation):\n    print('hello')\n    return int(observation[0])\n")
    assert last_json(cli("explore", MAZE, *SHORT, "--cells", "loud:cell", "--workers", "2", "--json"))["cells"] > 1


def test_a_script_needs_no_main_guard(tmp_path):
    (tmp_path / "script.py").write_text(
        "import goexplore\n"
        "result = goexplore.explore('goexplore/KeyDoorMaze-v0', cells=lambda observation: int(observation[0]),\n"
        "                           frames=2000, preset='tiny', workers=2, out='run', progress=False)\n"
        "print('cells', result.cells)\n"
    )
    completed = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.startswith("cells ")


def test_importing_goexplore_is_light():
    heavy = ["torch", "ray", "mujoco", "ale_py", "matplotlib", "numba", "cv2", "imageio_ffmpeg", "tensorboard", "PIL"]
    code = f"import sys, goexplore.cli; print([name for name in {heavy!r} if name in sys.modules])"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(completed.stdout.replace("'", '"')) == []


def test_the_live_display_runs_on_a_terminal(tmp_path):
    import pty

    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "goexplore", "explore", MAZE, "--preset", "tiny", "--frames", "20000"],
        cwd=tmp_path,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
    assert process.wait() == 0
    assert b"frames/s" in shown
    assert b"best at end of episode" in shown
    assert b"\x1b[" in shown


@pytest.mark.atari
def test_bench_prints_the_promised_keys(cli):
    completed = cli(
        "bench",
        "explore",
        "ALE/Freeway-v5",
        "--preset",
        "tiny",
        "--rounds",
        "1",
        "--seconds",
        "0.5",
        "--large-archive",
        "600",
        "--json",
    )
    keys = last_json(completed)
    assert {"ratio_to_raw_emulator", "ratio_large_archive", "bytes_per_cell", "serial_us_per_step"} <= set(keys)
    assert 0.2 < keys["ratio_to_raw_emulator"] < 2


def test_help_may_be_cut_off_by_who_reads_it():
    """`goexplore explore --help | head -1`, whose reader goes away."""
    reader, writer = os.pipe()
    os.close(reader)
    run = subprocess.run(
        [sys.executable, "-m", "goexplore", "explore", "--help"],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert run.stderr == ""
    assert run.returncode == 0
