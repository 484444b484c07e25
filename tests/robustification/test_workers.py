"""Games in processes beside the rank's: the same training, and clear words when one of them fails."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from goexplore.errors import GoExploreError, InputError  # noqa: E402
from goexplore.learn import Ranks  # noqa: E402
from goexplore.robustification import Training, resume_robustify, robustify  # noqa: E402
from tests.robustification.chain import chain_demonstration  # noqa: E402
from tests.robustification.test_training import SMALL, parameters, stopped_after  # noqa: E402

DEMONSTRATIONS = [chain_demonstration(12), chain_demonstration(12)]


def of_all(training: Training) -> np.ndarray:
    return torch.cat([each.detach().flatten() for each in training.network.parameters()]).numpy()


def test_one_worker_is_the_same_training_as_none():
    alone = Training(DEMONSTRATIONS, SMALL, seed=3, ranks=Ranks())
    beside = Training(DEMONSTRATIONS, SMALL, seed=3, ranks=Ranks(), workers=1)
    for _ in range(40):
        here, there = alone.iterate(done=0.0), beside.iterate(done=0.0)
        assert here.numbers == there.numbers
    np.testing.assert_array_equal(of_all(alone), of_all(beside))
    assert min(alone.curriculum.latest) < 11, "windows have moved, and the worker knows"


def test_two_workers_stop_and_resume(tmp_path, monkeypatch):
    folder = tmp_path / "demos"
    folder.mkdir()
    DEMONSTRATIONS[0].save(folder / "demo-000.demo.npz")
    settings = {"config": SMALL, "trust": True, "progress": False, "ranks": 1, "workers": 2}
    robustify(folder, out=tmp_path / "whole", **settings)
    stopped_after(5, monkeypatch)
    robustify(folder, out=tmp_path / "part", **settings)
    monkeypatch.undo()
    assert json.loads((tmp_path / "part" / "config.json").read_text())["workers"] == 2
    resume_robustify(tmp_path / "part", trust=True, progress=False)
    np.testing.assert_array_equal(parameters(tmp_path / "part"), parameters(tmp_path / "whole"))


def test_a_worker_that_dies_is_said_so():
    training = Training(DEMONSTRATIONS, SMALL, seed=0, ranks=Ranks(), workers=2)
    training.iterate(done=0.0)
    training._environments._processes[1].kill()
    with pytest.raises(GoExploreError, match="ended by itself"):
        training.iterate(done=0.0)


def test_more_processes_than_actors_are_refused(tmp_path):
    DEMONSTRATIONS[0].save(tmp_path / "demo-000.demo.npz")
    with pytest.raises(InputError, match="an actor for each process"):
        robustify(tmp_path, out=tmp_path / "run", config=SMALL, trust=True, ranks=2, workers=4)
