"""The benchmarks run, small, and say what they promise; the numbers themselves need a quiet machine and minutes."""

from __future__ import annotations

import numpy as np
import pytest

from goexplore.bench import bench_cells, bench_explore


@pytest.mark.parametrize("cells", ["dynamic:11x8x8", "downscale:11x8x8"])
def test_explore_counts_fits_where_cells_adapt(cells):
    result = bench_explore(
        "ALE/Freeway-v5", cells=cells, preset="tiny", rounds=2, seconds=0.2, large_archive=600, workers=2
    )
    assert 0 < result.ratio_to_raw_emulator < 1.5
    assert result.emulator_share > 0.3
    if cells.startswith("dynamic"):
        assert result.fits == 1000, "5M steps, every 5,000"
        assert result.ratio_to_raw_emulator < result.ratio_between_fits
    else:
        assert result.fits is None
        assert result.ratio_between_fits is None


def test_cells_searches_a_sample_and_keeps_it(tmp_path):
    sample = tmp_path / "frames.npz"
    first = bench_cells("ALE/Freeway-v5", sample=sample, frames=200, proposals=20, rounds=2, workers=1)
    assert np.load(sample)["frames"].shape == (200, 210, 160)
    assert first.frames == 200
    again = bench_cells("ALE/Freeway-v5", sample=sample, proposals=20, rounds=2)
    assert again.score_each == first.score_each
    assert again.long_score >= again.score_each[0]


@pytest.mark.atari
def test_learn_measures_itself_beside_others():
    pytest.importorskip("torch")
    from goexplore.bench._learn import bench_learn

    result = bench_learn("ALE/Freeway-v5", rounds=1, seconds=0.0, ranks=1, environments=4)
    assert result.steps_per_second > 0
    assert result.ratio_to_fastest_baseline <= result.ratio_to_single_file
    assert result.threads["ours"] == 1


@pytest.mark.atari
def test_policy_measures_itself_beside_plain_ppo():
    pytest.importorskip("torch")
    from goexplore.bench._policy import bench_policy

    result = bench_policy(rounds=1, seconds=0.0, ranks=1)
    assert result.cells == "montezuma:goals"
    assert result.ratio_to_ppo == pytest.approx(result.steps_per_second / result.ppo_steps_per_second, rel=1e-3)
