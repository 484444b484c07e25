"""Trainings in a report: policy scores, apart from search scores."""

from __future__ import annotations

import json

from goexplore.report import write_report


def test_trainings_have_their_own_section_and_never_share_a_table_with_searches(tmp_path):
    run = tmp_path / "policy"
    (run / "policies").mkdir(parents=True)
    (run / "evaluations").mkdir()
    (run / "config.json").write_text(
        json.dumps({"format": "goexplore-robustification", "format_version": 1, "seed": 3, "ranks": 2})
    )
    (run / "policies" / "iteration-000002.json").write_text(json.dumps({"env": {"id": "ALE/Freeway-v5"}}))
    lines = [
        {"iteration": 1, "steps": 1_000, "frames": 4_000, "seconds": 3600.0, "score": None, "way_to_start": 0.25},
        {"iteration": 2, "steps": 2_000, "frames": 8_000, "seconds": 7200.0, "score": 12.0, "way_to_start": 0.5},
    ]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"iterat')
    tested = {
        "policy": "iteration-000002.safetensors",
        "episodes": 100,
        "temperature": 1.0,
        "mean": 21.5,
        "interval": [20.0, 23.0],
        "median": 22.0,
        "first_life_mean": 21.5,
        "reached": {"20": 0.98},
        "reached_in_first_life": {"20": 0.75},
    }
    (run / "evaluations" / "some.json").write_text(json.dumps(tested))
    for name, wrong in (("older", {"mean": None}), ("stranger", {"reached": []})):
        (run / "evaluations" / f"{name}.json").write_text(json.dumps(tested | wrong))
    result = write_report([run], out=tmp_path / "report")
    assert [each.split("/")[-1].split(" is left out")[0] for each in result.warnings] == ["older.json", "stranger.json"]
    page = result.page.read_text()
    assert (result.runs, result.games, result.figures) == (1, 1, ["training-ale-freeway-v5"])
    assert "Policies" in page
    assert "21.5" in page
    assert "20 or more: 98.0%, 75.0% in the first life" in page
    assert "Search scores: the best found" not in page
    rows = (tmp_path / "report" / "figures" / "training-ale-freeway-v5.csv").read_text().splitlines()
    assert rows[1] == "policy,1000,1,,,0.25,"


def test_where_nothing_begins_at_reset_success_is_drawn(tmp_path):
    run = tmp_path / "arm"
    run.mkdir()
    config = {"format": "goexplore-robustification", "seed": 0, "ranks": 1, "env": {"id": "goexplore/FetchShelves-v0"}}
    (run / "config.json").write_text(json.dumps(config))
    lines = [
        {"iteration": at, "steps": at * 1_000, "frames": at * 1_000, "seconds": at, "way_to_start": 1.0, "success": 0.9}
        for at in (1, 2)
    ]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    write_report([run], out=tmp_path / "report")
    figures = tmp_path / "report" / "figures"
    assert "episodes that match" in (figures / "training-goexplore-fetchshelves-v0.svg").read_text()
    rows = (figures / "training-goexplore-fetchshelves-v0.csv").read_text().splitlines()
    assert rows[1].endswith(",,,1,0.9")
