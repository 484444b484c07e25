from __future__ import annotations

import csv
import json
import re
import subprocess
import sys

import numpy as np
import pytest
import tyro

import goexplore
from goexplore.cli._report import Report
from goexplore.errors import InputError
from goexplore.report import RoomCell, write_report
from goexplore.report._curves import SCORE, lines_of
from goexplore.report._groups import group_runs
from goexplore.report._page import LARGEST_VIDEO
from goexplore.report._paper import PaperGame, human_normalised
from goexplore.report._pictures import Cells
from goexplore.report._results import bars_of, result_of
from goexplore.report._rooms import PYRAMID, draw_rooms, layout, places
from goexplore.report._runs import find_runs, read_metrics, read_run, read_runs
from goexplore.report._statistics import mean_over_seeds
from goexplore.report._style import Figures
from tests.report.fakes import fake_run

MAZE = "goexplore/KeyDoorMaze-v0"

OWN_CELLS = """
raise_on_import = {raises}
if raise_on_import:
    raise RuntimeError("imported")

from goexplore.cells import CellFunction


class Rooms(CellFunction):
    cell_width, cell_height, TOP = 16, 16, 0

    def key(self, observation, env):
        return bytes(int(part) for part in observation)

    def describe(self, key):
        return {{"level": key[2], "room": 1, "x": key[0], "y": key[1]}}
"""


def explore_maze(path, **settings):
    budget = {"frames": 4000, "preset": "tiny"} | settings
    return goexplore.explore(MAZE, workers=1, progress=False, out=path, **budget).run


@pytest.fixture(scope="module")
def maze(tmp_path_factory):
    return explore_maze(tmp_path_factory.mktemp("maze") / "run", frames=20_000)


@pytest.fixture(autouse=True)
def _small_sheets(monkeypatch):
    """Eight pictures a run draw six times faster than 48."""
    monkeypatch.setattr("goexplore.report._report.SHEET_ROWS", 1)


def rows_of(path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def groups_of(*paths):
    return group_runs(read_runs(paths, warn=pytest.fail), warn=pytest.fail)


def test_runs_are_found_anywhere_below_and_each_once(tmp_path):
    one, two = fake_run(tmp_path / "a" / "one"), fake_run(tmp_path / "a" / "b" / "two")
    (tmp_path / "a" / "other").mkdir()
    (tmp_path / "a" / "other" / "config.json").write_text('{"somebody": "else"}')
    assert sorted(find_runs([tmp_path, one])) == [two, one]
    assert find_runs([two]) == [two]


@pytest.mark.parametrize("given", ["empty", "nowhere", "nothing"])
def test_no_runs_at_all_is_one_sentence(tmp_path, given):
    (tmp_path / "empty").mkdir()
    paths = {"empty": [tmp_path / "empty"], "nowhere": [tmp_path / "nowhere"], "nothing": []}[given]
    sentence = {"empty": "there is no run in", "nowhere": "there is no run folder", "nothing": "give at least one run"}
    with pytest.raises(InputError, match=sentence[given]):
        write_report(paths, out=tmp_path / "report")
    assert not (tmp_path / "report").exists()


def test_broken_runs_are_named_and_left_out(tmp_path):
    fake_run(tmp_path / "good")
    damaged, empty, bare = (fake_run(tmp_path / name) for name in ("damaged", "empty", "bare"))
    (damaged / "config.json").write_text('{"format": "goexplore-run", "format_ver')
    (empty / "metrics.jsonl").write_text("")
    (bare / "config.json").write_text('{"format": "goexplore-run", "format_version": 2, "env": {}}')
    told: list[str] = []
    result = write_report([tmp_path], out=tmp_path / "report", warn=told.append)
    assert result.runs == 1
    assert result.warnings == told
    for path in (damaged, empty, bare):
        assert [message for message in told if message.startswith(f"{path} is left out: ")]
    assert "empty is left out: it has no metrics yet" in result.page.read_text()
    with pytest.raises(InputError, match="none of 2 run folders can be reported on"):
        write_report([damaged, empty], out=tmp_path / "report")


def test_metrics_are_read_while_they_are_written(tmp_path):
    path = fake_run(tmp_path / "run") / "metrics.jsonl"
    path.write_text(path.read_text() + '{"iteration": 4, "fra')
    metrics = read_metrics(path)
    assert metrics.frames.tolist() == [1000, 2000, 3000]
    assert metrics.unreadable == 0
    first, *rest = path.read_text().splitlines(keepends=True)
    path.write_text("".join([first, "garbage\n", *rest]))
    assert read_metrics(path).unreadable == 1
    stale = json.loads(first)
    path.write_text("".join([first, *rest[:2], json.dumps(stale | {"iteration": 2, "frames": 2500}) + "\n"]))
    assert read_metrics(path).frames.tolist() == [1000, 2500]  # resumed: iteration 2 happened again


def test_cells_are_dated_by_the_iteration_that_found_them(tmp_path):
    metrics = read_run(fake_run(tmp_path / "run"), warn=pytest.fail).metrics
    assert metrics.frames_when(np.array([0, 1, 2])).tolist() == [1000, 2000, 3000]


def test_core_hours_count_each_sessions_own_workers(tmp_path):
    # A second is a thousand frames here: one second on 2 workers, two on 4.
    run = read_run(fake_run(tmp_path / "run", workers=[(0, 2), (1000, 4)]), warn=pytest.fail)
    assert run.core_hours == pytest.approx((1 * 2 + 2 * 4) / 3600)


def test_a_group_is_what_differs_in_its_seed_alone(tmp_path):
    fake_run(tmp_path / "a0", seed=0)
    fake_run(tmp_path / "a1", seed=1)
    fake_run(tmp_path / "b0", seed=0, cells="observation:2")
    fake_run(tmp_path / "c0", seed=0, batch_size=50)
    fake_run(tmp_path / "d0", seed=0, reset_counters_on_improvement=False)
    (groups,) = groups_of(*find_runs([tmp_path])).values()
    assert {group.label: len(group.runs) for group in groups} == {
        "observation": 2,
        "observation:2": 1,
        "observation, batch_size=50": 1,
        "observation, reset_counters_on_improvement=no": 1,
    }


def test_runs_from_before_there_was_a_setting_belong_with_those_at_its_default(tmp_path):
    fake_run(tmp_path / "old", seed=0)
    fake_run(tmp_path / "new", seed=1)
    path = tmp_path / "old" / "config.json"
    config = json.loads(path.read_text())
    del config["exploration"]["trials"]
    path.write_text(json.dumps(config))
    (groups,) = groups_of(*find_runs([tmp_path])).values()
    assert [len(group.runs) for group in groups] == [2]


def test_a_second_run_of_a_seed_is_no_second_sample(tmp_path):
    fake_run(tmp_path / "short", frames=[10, 20], end_scores=[1, 1])
    fake_run(tmp_path / "long")
    told: list[str] = []
    (groups,) = group_runs(read_runs(find_runs([tmp_path]), warn=pytest.fail), warn=told.append).values()
    assert [run.name for run in groups[0].runs] == ["long"]
    assert "short is left out" in told[0]


def test_one_game_under_two_ids_is_one_game(tmp_path):
    fake_run(tmp_path / "a", env_id="ALE/UpNDown-v5")
    fake_run(tmp_path / "b", env_id="UpNDownNoFrameskip-v4", seed=1)
    games = groups_of(*find_runs([tmp_path]))
    assert list(games) == ["up_n_down"]
    assert len(games["up_n_down"]) == 1


def test_score_curves_begin_at_the_first_end_of_episode(tmp_path):
    fake_run(tmp_path / "a", seed=0, frames=[100, 200, 300, 400], end_scores=[None, 10, 10, 30])
    fake_run(tmp_path / "b", seed=1, frames=[150, 250, 350], end_scores=[None, None, 50])
    fake_run(tmp_path / "c", seed=2, frames=[500], end_scores=[None])
    (groups,) = groups_of(*find_runs([tmp_path])).values()
    (line,) = lines_of(groups, SCORE)
    assert [curve.frames[0] for _, curve in line.seeds] == [200, 350]
    assert line.label == "2 of 3 seeds"
    frames, mean = line.mean
    assert frames.tolist() == [350]  # where both have a value
    assert mean.mean.tolist() == [30]


def test_a_single_seed_has_no_interval_and_the_bootstrap_repeats_itself():
    values = np.random.default_rng(1).normal(size=(5, 3))
    first, second = mean_over_seeds(values), mean_over_seeds(values)
    assert np.array_equal(first.low, second.low)
    assert (first.low < first.mean).all()
    assert (first.mean < first.high).all()
    assert first.low.min() >= values.min()
    assert np.isnan(mean_over_seeds(values[:1]).low).all()


def test_intervals_hold_the_true_mean_about_as_often_as_they_say():
    rng = np.random.default_rng(0)
    many = mean_over_seeds(rng.normal(size=(20, 400)))
    covered = np.mean((many.low <= 0) & (many.high >= 0))
    assert 0.88 < covered < 0.99


def test_human_normalised_scores():
    plain = PaperGame("A", exploration=300, frames=1, state_of_the_art=1, average_human=100)
    assert human_normalised(250, plain).percent == 250
    from_random = PaperGame("A", 300, 1, 1, average_human=-10, random_mean=-20)
    assert human_normalised(-5, from_random).percent == 150
    assert human_normalised(-25, from_random).percent == -50
    assert human_normalised(5, PaperGame("A", 300, 1, 1, average_human=-10)) is None


def test_bars_and_table_stand_beside_the_papers(tmp_path):
    for game, end in (("MontezumaRevenge", 0), ("Freeway", 30), ("Skiing", -9000)):
        fake_run(tmp_path / game, env_id=f"ALE/{game}-v5", end_scores=[end] * 3, env_kwargs={"end_on_life_loss": True})
    result = write_report([tmp_path], out=tmp_path / "report")
    bars = {row["game"]: row for row in rows_of(tmp_path / "report" / "figures" / "human-normalised.csv")}
    assert float(bars["Freeway"]["ours_percent"]) == pytest.approx(100, abs=3)
    assert float(bars["Montezuma Revenge"]["ours_percent"]) == 0
    assert int(bars["Freeway"]["paper_frames"]) == 2_000_000_000
    table = {row["game"]: row for row in rows_of(tmp_path / "report" / "figures" / "results.csv")}
    assert float(table["montezuma_revenge"]["paper_exploration"]) == 24_758
    assert float(table["skiing"]["end_score_mean"]) == -9000
    assert "first life lost" in table["freeway"]["caveats"]
    page = result.page.read_text()
    assert "No bar for Skiing" in page
    assert "scores are never in the same column" in page


def test_games_outside_the_paper_have_no_bars(tmp_path):
    (groups,) = groups_of(fake_run(tmp_path / "run")).values()
    assert bars_of([result_of(groups[0])]) == ([], [])


def test_the_page_carries_everything_and_escapes_it(maze, tmp_path):
    evil = "<script>alert(1)</script>$x$"
    fake_run(tmp_path / "evil", env_id=evil, cells={"object": evil}, refits=[2], end_scores=[None, -5, 1e6])
    result = write_report([maze, tmp_path / "evil"], out=tmp_path / "report", title="A & B")
    page = result.page.read_text()
    assert "<script" not in page
    assert "<title>A &amp; B</title>" in page
    links = re.findall(r'(?:src|href|srcset)="([^"]{0,12})', page)
    assert links
    assert all(link.startswith(("data:", "#")) for link in links)
    assert "url(" not in page.split("</style>")[0]
    assert f"goexplore resume {maze}" in page
    assert "only from Python" in page  # the other run used a Python object
    for name in result.figures:
        for ending in ("png", "svg", "csv"):
            assert (tmp_path / "report" / "figures" / f"{name}.{ending}").stat().st_size > 50
    assert {name.partition("-")[0] for name in result.figures} == {"score", "cells", "success", "sheet"}


def test_the_same_runs_give_the_same_files(maze, tmp_path):
    first, second = (write_report([maze], out=tmp_path / name) for name in ("one", "two"))
    assert first.page.read_bytes() == second.page.read_bytes()
    for name in first.figures:
        paths = [tmp_path / folder / "figures" / f"{name}.svg" for folder in ("one", "two")]
        assert paths[0].read_bytes() == paths[1].read_bytes()


def test_pictures_show_the_cells(maze):
    cells = Cells(read_run(maze, warn=pytest.fail), trust=False, warn=pytest.fail)
    rows = cells.spread(12)
    assert rows[0] == 0
    assert (np.diff(cells.found_frames[rows]) >= 0).all()
    for row, frame in zip(rows, cells.frames(rows), strict=True):
        blue = (frame.picture == (40, 110, 220)).all(axis=2)
        y, x = (int(axis.mean()) // 16 for axis in np.nonzero(blue))
        cells._env.restore(cells._codec.decode(cells.archive.snapshots[row])[0])
        assert cells._env.observation[:2].tolist() == [x, y]
        assert frame.steps == cells.archive.table["length"][row]
    assert cells.probability.sum() == pytest.approx(1)


def test_states_that_are_not_on_disk_are_replayed(tmp_path):
    run = explore_maze(tmp_path / "run", return_method="replay", frames=1000)
    cells = Cells(read_run(run, warn=pytest.fail), trust=False, warn=pytest.fail)
    assert {frame.picture.shape for frame in cells.frames(cells.spread(5))} == {(240, 240, 3)}


def test_an_environment_that_draws_nothing_is_said_to(tmp_path):
    run = goexplore.explore(
        "goexplore/Chain-v0", frames=500, preset="tiny", workers=1, progress=False, out=tmp_path / "run"
    ).run
    page = write_report([run], out=tmp_path / "report").page.read_text()
    assert "No pictures of its cells: its environment cannot be made to draw" in page


def test_code_of_a_run_is_imported_only_on_trust(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "report_cells.py"
    module.write_text(OWN_CELLS.format(raises=False))
    run = explore_maze(tmp_path / "run", cells="report_cells:Rooms", frames=20_000)
    sys.modules.pop("report_cells")
    result = write_report([run], out=tmp_path / "careful")
    assert "report_cells" not in sys.modules
    page = result.page.read_text()
    assert "No pictures of its cells: this run uses code of its own (report_cells:Rooms)" in page
    assert "archive digest" in page
    assert f"goexplore resume {run} --trust" in page
    assert [name for name in result.figures if name.startswith("score-")]

    trusted = write_report([run], out=tmp_path / "trusting", trust=True)
    maps = [name for name in trusted.figures if name.startswith("rooms-")]
    assert [name.partition("-level-")[2] for name in maps] == [
        "0-found",
        "0-probability",
        "1-found",
        "1-probability",
    ]
    told = rows_of(tmp_path / "trusting" / "figures" / f"{maps[0]}.csv")
    start = next(row for row in told if (row["x"], row["y"]) == ("1", "1"))
    assert start["found_frames"] == "0"
    chances = sum(
        float(row["probability"])
        for level in (0, 2)
        for row in rows_of(tmp_path / "trusting" / "figures" / f"{maps[level]}.csv")
    )
    assert chances == pytest.approx(1)


def test_a_run_without_a_checkpoint_still_has_its_curves(tmp_path):
    result = write_report([fake_run(tmp_path / "run", env_id=MAZE)], out=tmp_path / "report")
    assert "has no archive to show: there is no checkpoint" in result.warnings[0]
    assert "score-goexplore-keydoormaze-v0" in result.figures


def test_rooms_of_montezuma_are_a_pyramid():
    assert len(PYRAMID) == 24
    columns: dict[int, list[int]] = {}
    for row, column in PYRAMID.values():
        columns.setdefault(row, []).append(column)
    assert columns == {0: [3, 4, 5], 1: [2, 3, 4, 5, 6], 2: [*range(1, 8)], 3: [*range(9)]}
    assert PYRAMID[15] == (3, 0)


def test_rooms_of_pitfall_wrap_and_leave_out_unknown_rows():
    shown = layout("pitfall", [0, 1, 254, 31])
    assert shown[1] == (0, 1)
    assert shown[31] == (1, 1)
    assert shown[254] == (2, 14)
    assert 16 not in shown
    assert len(shown) == 45


def test_cells_at_one_place_share_a_mark(tmp_path):
    picture = np.full((210, 160, 3), 80, np.uint8)
    cells = [
        RoomCell(0, 1, 3, 4, found_frames=500, probability=0.5, picture=picture),
        RoomCell(0, 1, 3, 4, found_frames=200, probability=0.25),
        RoomCell(0, 2, 0, 0, found_frames=900, probability=0.25),
    ]
    assert places(cells) == {(1, 3, 4): (200, 0.75), (2, 0, 0): (900, 0.25)}
    for colour_by in ("found", "probability"):
        draw_rooms(Figures(tmp_path), "montezuma_revenge", cells, colour_by, colour_by=colour_by)
        assert len(rows_of(tmp_path / "figures" / f"{colour_by}.csv")) == 2


def test_small_videos_are_carried_and_large_ones_linked(maze, tmp_path):
    for name, size in (("small", 1000), ("large", LARGEST_VIDEO + 1)):
        run = fake_run(tmp_path / name, seed=len(name) + size % 2)
        (run / "videos").mkdir()
        (run / "videos" / "best.mp4").write_bytes(b"0" * size)
    page = write_report([tmp_path], out=tmp_path / "report").page.read_text()
    assert page.count("data:video/mp4;base64,") == 1
    assert '<a href="../large/videos/best.mp4">' in page


def test_without_matplotlib_it_says_what_to_install(maze, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install 'goexplore\[report\]'"):
        write_report([maze], out=tmp_path / "report")


def test_the_report_package_is_light_to_import():
    heavy = (
        "import sys, goexplore.report; sys.exit(any(name in sys.modules for name in ('matplotlib', 'ale_py', 'PIL')))"
    )
    assert subprocess.run([sys.executable, "-c", heavy], check=False).returncode == 0


def test_a_folder_that_cannot_be_written_is_bad_input(maze, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_report([maze], out=tmp_path / "file" / "report")


def test_the_command(maze, tmp_path, capsys):
    out = tmp_path / "report"
    command = tyro.cli(
        Report,
        args=[str(maze), "--out", str(out), "--json"],
        config=(tyro.conf.OmitSubcommandPrefixes, tyro.conf.FlagCreatePairsOff),
    )
    assert command.run() == 0
    told = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert told["page"] == str(out / "index.html")
    assert told["runs"] == 1
    assert told["warnings"] == []


@pytest.mark.atari
def test_atari_cells_are_shown_as_they_were(tmp_path):
    run = goexplore.explore(
        "ALE/MontezumaRevenge-v5", frames=4000, preset="tiny", workers=1, progress=False, out=tmp_path / "run"
    ).run
    cells = Cells(read_run(run, warn=pytest.fail), trust=False, warn=pytest.fail)
    for row in cells.spread(4):
        picture = cells.picture(row)
        assert picture.shape == (210, 160, 3)
        assert len(np.unique(picture)) > 5
    assert (cells.picture(0) != cells.picture(len(cells.archive) - 1)).any()
    page = write_report([run], out=tmp_path / "report").page.read_text()
    assert "Montezuma Revenge" in page


@pytest.mark.atari
def test_cells_that_adapt_have_no_rooms(tmp_path):
    """Their keys are hashes of small pictures: nothing to describe, and nothing to stumble over."""
    run = goexplore.explore(
        "ALE/Freeway-v5",
        cells="dynamic:4x4x4",
        frames=4_000,
        workers=1,
        progress=False,
        preset="tiny",
        out=tmp_path / "r",
    )
    result = write_report([run.run], out=tmp_path / "report")
    assert result.runs == 1
    assert "cannot" not in (tmp_path / "report" / "index.html").read_text()
