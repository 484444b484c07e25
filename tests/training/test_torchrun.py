"""Under torchrun the ranks are those that it started, and the training is the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

DEMONSTRATIONS = Path(__file__).parent.parent.parent / "zoo" / "bowling"
SMALL = ["--steps", "200", "--set", "actors=4", "imitators=2", "ppo.steps=16", "ppo.minibatches=1", "--json"]


def trained(out: Path, *command: str) -> tuple[list[str], list[float]]:
    """What a command prints, and the losses of its training."""
    arguments = [sys.executable, "-m", *command, str(DEMONSTRATIONS), "--out", str(out), *SMALL]
    done = subprocess.run(arguments, cwd=out.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    metrics = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return done.stdout.splitlines(), [each["value_loss"] for each in metrics]


@pytest.mark.atari
def test_torchrun_is_one_more_way_to_start_the_same_training(tmp_path):
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m"]
    said, losses = trained(tmp_path / "torchrun", *torchrun, "goexplore", "robustify")
    _, same = trained(tmp_path / "own", "goexplore", "robustify", "--ranks", "2")
    assert losses == same
    assert len(said) == 1, "one rank speaks for both"
    assert json.loads(said[0])["steps"] == 288
