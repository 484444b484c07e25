"""The figure of what searches and controls find in the same environment."""

from __future__ import annotations

import csv

from goexplore.report import write_report
from tests.report.fakes import fake_control, fake_run

SHELVES = "goexplore/FetchShelves-v0"
DOOR = {"target": "top-right"}


def test_searches_and_controls_of_one_target_share_a_figure(tmp_path):
    events = [{"touch": 2}, {"touch": 3, "grasp": 1}, {"touch": 1}]
    runs = [
        fake_run(tmp_path / "search", env_id=SHELVES, env_kwargs=DOOR, sizes=[5, 50, 500], events=events),
        fake_run(tmp_path / "elsewhere", env_id=SHELVES, env_kwargs={"target": "top-left"}, events=events),
        fake_control(tmp_path / "count", env_id=SHELVES, env_kwargs=DOOR, cells=[5, 9], events=[{}, {"touch": 4}]),
    ]
    result = write_report(runs, out=tmp_path / "report")
    name = "discoveries-goexplore-fetchshelves-v0-target-top-right"
    assert [each for each in result.figures if each.startswith("discoveries")] == [name]
    assert "Exploration and controls" in result.page.read_text()
    with (tmp_path / "report" / "figures" / f"{name}.csv").open() as file:
        rows = [(row["run"], row["kind"], row["found"], row["count"]) for row in csv.DictReader(file)]
    assert ("search", "exploration", "cells", "500") in rows
    assert [count for run, _, found, count in rows if (run, found) == ("search", "touch")] == ["2", "5", "6"]
    assert [count for run, _, found, count in rows if (run, found) == ("count", "touch")] == ["0", "4"]
    assert not [row for row in rows if row[0] == "elsewhere"]


def test_without_a_control_there_is_no_such_figure(tmp_path):
    result = write_report([fake_run(tmp_path / "search", env_id=SHELVES)], out=tmp_path / "report")
    assert not [name for name in result.figures if name.startswith("discoveries")]
