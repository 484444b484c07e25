"""The objective and the search for downscaling parameters (Methods, "Downscaling on Atari")."""

from __future__ import annotations

import math

import numpy as np
import pytest

from goexplore.cells import Downscale, DynamicDownscale, Fitting, Sample, make_cells, objective, search
from goexplore.cells._search import discrepancy
from goexplore.errors import InputError


def test_objective_of_hand_computed_distributions():
    assert objective(np.array([10]), target=1) == 0, "one cell explores nothing"
    assert objective(np.array([5, 5]), target=2) == pytest.approx(1.0)
    assert objective(np.array([5, 5]), target=1) == pytest.approx(1 / math.sqrt(2))
    assert objective(np.array([5, 5]), target=4) == pytest.approx(1 / math.sqrt(1.5))
    entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25)) / math.log(2)
    assert objective(np.array([3, 1]), target=2) == pytest.approx(entropy)
    four = -(0.5 * math.log(0.5) + 0.25 * math.log(0.25) + 2 * 0.125 * math.log(0.125)) / math.log(4)
    assert objective(np.array([4, 2, 1, 1]), target=2) == pytest.approx(four / math.sqrt(2))


def test_discrepancy_is_one_at_the_target_and_grows_both_ways():
    assert discrepancy(125, 125) == 1
    assert discrepancy(250, 125) == pytest.approx(math.sqrt(2))
    assert discrepancy(1, 1000) == pytest.approx(math.sqrt(1.999))


@pytest.fixture(scope="module")
def frames() -> np.ndarray:
    """Squares at 60 places on two backgrounds, and some noise that only fine representations see."""
    rng = np.random.default_rng(0)
    made = []
    for _ in range(400):
        frame = np.full((42, 32), rng.choice([30, 90]), np.uint8)
        x, y = rng.integers(0, 10), rng.integers(0, 6)
        frame[7 * y : 7 * y + 7, 3 * x : 3 * x + 3] = 200
        frame[rng.integers(42), rng.integers(32)] += 3
        made.append(frame)
    return np.stack(made)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("size", [(1, 1, 1), (8, 10, 12), (32, 42, 255), (31, 41, 254), (5, 40, 3), (11, 8, 8)])
def test_counts_are_those_of_the_cells_themselves(frames, size, compiled):
    cells = Downscale(*size)
    keys = [cells.key(frame, None) for frame in frames]
    expected = sorted(keys.count(key) for key in set(keys))
    assert sorted(Sample(frames, compiled=compiled).counts(*size).tolist()) == expected


def test_giving_up_early_changes_no_outcome(frames, monkeypatch):
    found = search(Sample(frames), np.random.default_rng(1), proposals=300)
    monkeypatch.setattr("goexplore.cells._search.STAGES", (1.0,))
    assert search(Sample(frames), np.random.default_rng(1), proposals=300) == found


def test_a_search_finds_what_separates_the_places(frames):
    found = search(Sample(frames), np.random.default_rng(0), proposals=500, target_share=0.3)
    assert found.score > 0.85
    assert found.cells == pytest.approx(120, rel=0.2), "sixty places on two backgrounds"


def test_more_proposals_never_score_less_from_one_seed(frames):
    sample = Sample(frames)
    scores = [search(sample, np.random.default_rng(2), proposals=count).score for count in (10, 100, 400)]
    assert scores == sorted(scores)


def test_proposals_have_the_stated_mean_and_range(frames, monkeypatch):
    """A geometric distribution around the best, with a least mean of 8, 10.5 and 12."""
    tried = []
    sample = Sample(frames)
    counts = sample.counts
    monkeypatch.setattr(sample, "counts", lambda *size, give_up_above: tried.append(size) or counts(1, 1, 1))
    search(sample, np.random.default_rng(0), proposals=3_000)
    width, height, depth = np.array(tried).T
    assert width.min() == 1
    assert width.max() == 32
    assert height.max() == 42
    assert depth.max() > 200
    assert len(set(tried)) == len(tried), "none is tried twice"


def test_tiny_frames_end_a_search_early():
    frames = np.arange(16, dtype=np.uint8).reshape(16, 1, 1)
    assert search(Sample(frames), np.random.default_rng(0), proposals=3_000).proposals <= 255


def test_dynamic_cells_fit_and_switch(frames):
    cells = DynamicDownscale()
    assert len({cells.key(frame, None) for frame in frames}) == 1, "one cell before the first fit"
    fitted = cells.fit(frames, Fitting(proposals=200, target_share=0.3), np.random.default_rng(0))
    cells.use(fitted)
    other = DynamicDownscale()
    other.use(fitted)
    keys = [cells.key(frame, None) for frame in frames]
    assert len(set(keys)) > 50
    assert [other.key_of_frame(frame) for frame in frames] == keys
    assert "pixels" in cells.in_words(fitted)


def test_dynamic_cells_by_name():
    assert make_cells("dynamic").representation == b""
    assert make_cells("dynamic:11x8x8").representation == b"[11, 8, 8]"
    with pytest.raises(InputError, match="should look like 11x8x8"):
        make_cells("dynamic:11x8")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"proposals": 0}, "proposals 0: expected at least 1"),
        ({"sample_probability": 0}, "sample_probability 0"),
        ({"target_share": 2}, "target_share 2"),
        ({"growth": 1}, "growth 1"),
        ({"sample_frames": 10}, "least_frames 1000: expected at most sample_frames"),
    ],
)
def test_bad_fitting_settings(settings, message):
    with pytest.raises(InputError, match=message):
        Fitting(**settings)


def test_when_a_fit_is_due():
    fitting = Fitting(first_steps=100, every_steps=1_000, max_cells=50, least_frames=10, sample_frames=100)
    first = {"steps": 101, "fitted_at": None, "cells": 1}
    assert fitting.due(**first, sampled=10)
    assert not fitting.due(**first, sampled=9), "a few frames would mislead it"
    assert not fitting.due(steps=100, fitted_at=None, cells=1, sampled=10)
    assert not fitting.due(steps=1_101, fitted_at=101, cells=50, sampled=10)
    assert fitting.due(steps=1_102, fitted_at=101, cells=50, sampled=10)
    assert fitting.due(steps=102, fitted_at=101, cells=51, sampled=10), "the archive passed its limit"
    patient = Fitting(max_cells=50, patience_steps=500, least_frames=10)
    assert not patient.due(steps=601, fitted_at=101, cells=51, sampled=10)
    assert patient.due(steps=602, fitted_at=101, cells=51, sampled=10)
    growing = Fitting(first_steps=100, growth=2.0, least_frames=10)
    assert not growing.due(steps=200, fitted_at=100, cells=5, sampled=10)
    assert growing.due(steps=201, fitted_at=100, cells=5, sampled=10)


def test_proposals_near_the_few_best_stay_near_them(frames, monkeypatch):
    """Half a step either way or a few fifths, and never out of range."""
    tried = []
    sample = Sample(frames)
    monkeypatch.setattr(sample, "counts", lambda *size, give_up_above: tried.append(size) or np.array([1] * len(tried)))
    search(sample, np.random.default_rng(0), proposals=200, near_best=1.0, target_share=1.0)
    for number in range(20, 200):
        # Every proposal is better than the last here, so that the few best are the latest eight.
        nearest = min(
            max(abs(mine - other) / (1 + other) for mine, other in zip(tried[number], one, strict=True))
            for one in tried[number - 8 : number]
        )
        assert nearest < 1.2
    width, height, depth = np.array(tried).T
    assert width.min() >= 1
    assert width.max() <= 32
    assert height.max() <= 42
    assert depth.max() <= 255


def test_a_search_near_the_few_best_is_as_good(frames):
    sample = Sample(frames)
    wide = [search(sample, np.random.default_rng(seed), proposals=150).score for seed in range(8)]
    near = [search(sample, np.random.default_rng(seed), proposals=150, near_best=0.5).score for seed in range(8)]
    assert np.mean(near) > np.mean(wide) - 0.01
