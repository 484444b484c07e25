"""The figure of successes: who found a reward by when, and how short the way became."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from goexplore.report import write_report
from goexplore.report._groups import group_runs
from goexplore.report._runs import read_runs
from goexplore.report._successes import _shares, first_success
from tests.report.fakes import fake_run

SHELVES = "goexplore/FetchShelves-v0"


def shelf_runs(path):
    """Two targets; of the second, only one of two runs succeeds."""
    found = [(0.0, 0), (1.0, 240), (1.0, 180)]
    late = [(0.0, 0), (0.0, 0), (1.0, 300)]
    never = [(0.0, 0)] * 3
    return [
        fake_run(path / f"{target}-{seed}", env_id=SHELVES, seed=seed, best=best, env_kwargs={"target": target})
        for target, seed, best in (
            ("top-left", 0, found),
            ("top-left", 1, late),
            ("top-right", 0, late),
            ("top-right", 1, never),
        )
    ]


def test_shares_count_runs_from_their_first_reward_on(tmp_path):
    (groups,) = group_runs(read_runs(shelf_runs(tmp_path), warn=pytest.fail), warn=pytest.fail).values()
    assert [[first_success(run) for run in group.runs] for group in groups] == [[2000, 3000], [3000, None]]
    frames, share = _shares(groups[0].runs)
    np.testing.assert_array_equal(frames, [0, 2000, 3000, 3000])
    np.testing.assert_array_equal(share, [0, 0.5, 1, 1])
    assert _shares(groups[1].runs)[1][-1] == 0.5


def test_the_figure_and_its_data(tmp_path):
    result = write_report(shelf_runs(tmp_path), out=tmp_path / "report")
    name = "success-goexplore-fetchshelves-v0"
    assert name in result.figures
    assert "Successes against frames" in result.page.read_text()
    with (tmp_path / "report" / "figures" / f"{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12
    assert [row["steps_of_the_shortest_way"] for row in rows[:3]] == ["0", "240", "180"]


def test_games_with_scores_and_older_runs_have_none(tmp_path):
    atari = fake_run(tmp_path / "a", env_id="ALE/Freeway-v5", best=[(1.0, 5)] * 3)
    older = fake_run(tmp_path / "b", env_id=SHELVES)
    result = write_report([atari, older], out=tmp_path / "report")
    assert not [name for name in result.figures if name.startswith("success")]
