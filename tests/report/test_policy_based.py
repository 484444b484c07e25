"""The section on policy-based Go-Explore."""

from __future__ import annotations

import csv
import json

from goexplore.report import write_report


def returning_run(path, *, iterations: int = 3):
    path.mkdir(parents=True)
    config = {
        "format": "goexplore-policy-based",
        "env": {"id": "goexplore/Highway-v0", "kwargs": {}},
        "cells": "my:Places",
        "seed": 4,
        "ranks": 2,
    }
    (path / "config.json").write_text(json.dumps(config))
    lines = [
        {
            "iteration": number,
            "steps": 1000 * number,
            "frames": 1000 * number,
            "seconds": 60 * number,
            "cells": 10 * number,
            "best_score": float(number),
            "score": None if number == 1 else float(number) / 2,
            "found_returning": number,
            "found_random": 2 * number,
            "found_policy": 7 * number - 1,
            "returned": 0.25 * number,
        }
        for number in range(1, iterations + 1)
    ]
    (path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (path / "evaluations").mkdir()
    test = {"to": "x=1,y=0", "episodes": 100, "temperature": 0.5, "arrived": 0.9, "arrived_interval": [0.83, 0.94]}
    test |= {"scored": 0.95, "score": 0.0}
    (path / "evaluations" / "returns-x-1-y-0.json").write_text(json.dumps(test))
    return path


def test_cells_returns_and_tests_are_shown(tmp_path):
    result = write_report([returning_run(tmp_path / "run")], out=tmp_path / "report")
    assert result.runs == 1
    assert result.figures == ["returning-goexplore-highway-v0-run"]
    page = result.page.read_text()
    assert "Returning with a policy" in page
    assert "90%<small>83% to 94%; to x=1,y=0, 100 episodes, temperature 0.5" in page
    assert "95% score as much" in page
    assert "75%" in page
    with (tmp_path / "report" / "figures" / f"{result.figures[0]}.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["found_policy"] for row in rows] == ["6", "13", "20"]
    assert [row["score"] for row in rows] == ["", "1", "1.5"], "no episode was over at first"
    assert rows[0]["return_rate_best"] == "", "nothing was known"


def test_a_run_without_metrics_is_named_and_left_out(tmp_path):
    empty = returning_run(tmp_path / "empty", iterations=0)
    result = write_report([empty, returning_run(tmp_path / "run")], out=tmp_path / "report")
    assert result.runs == 1
    assert any("empty" in warning and "no metrics yet" in warning for warning in result.warnings)


def test_a_test_that_cannot_be_read_is_named_and_the_others_are_shown(tmp_path):
    run = returning_run(tmp_path / "run")
    good = run / "evaluations" / "returns-x-1-y-0.json"
    old = {name: value for name, value in json.loads(good.read_text()).items() if name != "scored"}
    (run / "evaluations" / "returns-best.json").write_text(json.dumps(old))
    result = write_report([run], out=tmp_path / "report")
    assert "to x=1,y=0, 100 episodes" in result.page.read_text()
    assert any("returns-best.json is left out: it says nothing of 'scored'" in each for each in result.warnings)
