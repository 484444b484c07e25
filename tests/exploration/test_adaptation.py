"""Representations that change while a search goes on: nothing is lost, and one seed still gives one archive."""

from __future__ import annotations

import numpy as np
import pytest

from goexplore.archive import FrameCodec
from goexplore.cells import DynamicDownscale, Fitting
from goexplore.demos import inspect_run
from goexplore.errors import InputError
from goexplore.executors import ProcessExecutor
from goexplore.exploration import Adaptation
from goexplore.runs import explore, resume
from tests.picture_env import PictureWalk

ENV = "tests.picture_env:PictureWalk"
FITTING = {"first_steps": 300, "every_steps": 1_000, "least_frames": 20, "proposals": 60, "sample_probability": 0.5}


def searched(search, iterations: int, executor=None, **fitting):
    made = search(ENV, "dynamic", executor=executor, fitting=FITTING | fitting)
    made.iterate(iterations)
    return made


def test_cells_are_fitted_and_former_ones_kept(search):
    made = searched(search, 30)
    archive = made.archive
    assert archive.representation not in (b"", b"[]")
    assert len(archive.former) >= 2
    assert len(archive) > 20
    cells = DynamicDownscale()
    cells.use(archive.representation)
    codec = made.loop.adaptation.codec
    for key, frame in zip(archive.keys, archive.frames, strict=True):
        assert cells.key_of_frame(codec.decode(frame)) == key


def test_nothing_is_lost_when_the_representation_changes(search):
    """For every frame ever archived at a change, its cell now holds at least that score."""
    made = searched(search, 40)
    archive, former = made.archive, made.archive.former
    cells = DynamicDownscale()
    cells.use(archive.representation)
    for kept, frame in enumerate(former.frames):
        row = archive.row_of(cells.key_of_frame(made.loop.adaptation.codec.decode(frame)))
        assert row is not None
        score, length = archive.table["score"][row], archive.table["length"][row]
        assert (-score, length) <= (-former.table["score"][kept], former.table["length"][kept])


def test_a_finer_representation_brings_back_what_a_coarser_one_had_joined(search):
    made = searched(search, 10)
    archive, codec = made.archive, made.loop.adaptation.codec
    fine, coarse = DynamicDownscale((36, 36, 255)), DynamicDownscale((1, 1, 1))

    def change_to(cells):
        archive.remember(add_counters=True)
        keys = [cells.key_of_frame(codec.decode(frame)) for frame in archive.former.frames]
        archive.change_representation(cells.representation, keys, add_counters=True)
        return set(archive.keys)

    before = change_to(fine)
    assert len(before) > 20
    seen = archive.table["seen"].sum()
    assert len(change_to(coarse)) <= 2
    assert archive.table["seen"].sum() == seen, "visits are neither lost nor counted twice"
    assert change_to(fine) == before
    assert archive.table["seen"].sum() == seen


def test_trajectories_of_all_cells_still_replay(search):
    made = searched(search, 40)
    archive = made.archive
    for row in range(len(archive)):
        env = PictureWalk()
        picture, _ = env.reset()
        score = 0.0
        for action in archive.forest.actions(archive.trajectory(row)):
            picture, reward, *_ = env.step(action)
            score += reward
        assert score == archive.table["score"][row]
        assert np.array_equal(picture, made.loop.adaptation.codec.decode(archive.frames[row]))


@pytest.mark.parametrize("settings", [{}, {"clear_sample": True}, {"growth": 1.5}])
def test_one_seed_one_archive_on_processes_too(search, settings):
    serial = searched(search, 25, **settings)
    parallel = searched(search, 25, executor=ProcessExecutor(2), **settings)
    assert parallel.archive.digest() == serial.archive.digest()


def test_saving_and_restoring_at_any_iteration_changes_nothing(search):
    whole = searched(search, 30)
    for split in (1, 7, 8, 9, 15, 29):
        first = searched(search, split)
        second = search(ENV, "dynamic", fitting=FITTING)
        second.loop.restore({name: array.copy() for name, array in first.loop.save().items()})
        second.iterate(30 - split)
        assert second.archive.digest() == whole.archive.digest(), split


def test_pipelined_batches_wait_for_a_new_representation(tmp_path):
    settings = {"cells": "dynamic", "frames": 6_000, "preset": "tiny", "progress": False, "fitting": FITTING}
    runs = [
        explore(ENV, out=tmp_path / str(workers), workers=workers, pipelined=True, **settings) for workers in (1, 2)
    ]
    assert runs[0].archive_digest == runs[1].archive_digest


class StopFittingError(Exception):
    """Thrown into a fit."""


def test_a_run_stopped_while_it_fits_resumes_to_the_same_archive(tmp_path, monkeypatch):
    settings = {"cells": "dynamic", "frames": 6_000, "preset": "tiny", "progress": False, "fitting": FITTING}
    whole = explore(ENV, out=tmp_path / "whole", workers=1, **settings)
    fits = []
    original = DynamicDownscale.fit

    def failing(self, *arguments):
        fits.append(1)
        if len(fits) in (2, 4):
            raise StopFittingError
        return original(self, *arguments)

    monkeypatch.setattr(DynamicDownscale, "fit", failing)
    with pytest.raises(StopFittingError):
        explore(ENV, out=tmp_path / "stopped", workers=1, checkpoint_seconds=0, **settings)
    with pytest.raises(StopFittingError):
        resume(tmp_path / "stopped", workers=1, checkpoint_seconds=0, progress=False, trust=True)
    stopped = resume(tmp_path / "stopped", workers=1, progress=False, trust=True)
    assert len(fits) > 4
    assert stopped.archive_digest == whole.archive_digest
    assert inspect_run(tmp_path / "stopped", verify=10, trust=True)["mismatches"] == []


def test_the_sample_keeps_the_newest_distinct_frames():
    codec = FrameCodec(np.zeros((4, 4), np.uint8))
    adaptation = Adaptation(DynamicDownscale(), codec, Fitting(sample_frames=3, least_frames=2), add_counters=True)
    frames = [codec.encode(np.full((4, 4), value, np.uint8)) for value in (1, 2, 1, 3, 4)]
    adaptation.observe(frames)
    assert [int(codec.decode(frame)[0, 0]) for frame in adaptation._sample.values()] == [2, 3, 4]


def test_dynamic_cells_need_pictures(tmp_path):
    with pytest.raises(InputError, match="need a picture"):
        explore("goexplore/KeyDoorMaze-v0", cells="dynamic", frames=1_000, out=tmp_path / "run", progress=False)
