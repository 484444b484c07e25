from __future__ import annotations

import subprocess

import numpy as np
import pytest

import goexplore
from goexplore.demos import Replayer, inspect_run, pick_cells
from goexplore.envs import make_env
from goexplore.errors import GoExploreError, InputError
from goexplore.runs import RunFolder, load, read_newest_checkpoint, run_config, write_checkpoint

MAZE = "goexplore/KeyDoorMaze-v0"


@pytest.fixture
def run(tmp_path):
    return goexplore.explore(
        MAZE, frames=20_000, preset="tiny", workers=1, progress=False, out=tmp_path / "run", until_score=None
    ).run


def frames_of(video) -> np.ndarray:
    import imageio_ffmpeg

    reader = imageio_ffmpeg.read_frames(str(video))
    width, height = next(reader)["size"]
    return np.stack([np.frombuffer(frame, np.uint8).reshape(height, width, 3) for frame in reader])


def test_the_video_shows_the_trajectory(run, tmp_path):
    result = goexplore.render(run, out=tmp_path / "end.mp4", which="end")
    assert result.score == 11
    assert result.ends_episode
    frames = frames_of(result.video)
    assert len(frames) == result.steps + 1
    start, end = frames[0], frames[-1]
    blue = (40, 110, 220)

    def player_at(frame, x: int, y: int) -> bool:
        square = 32 * np.array([y, x]) + 16
        return bool(np.abs(frame[tuple(square)].astype(int) - blue).max() < 40)

    assert player_at(start, 1, 1)
    assert player_at(end, 3, 11)


def test_gifs_too(run, tmp_path):
    assert goexplore.render(run, out=tmp_path / "best.gif", every=3).video.read_bytes()[:4] == b"GIF8"


def corrupt(run, change) -> None:
    """Rewrites the newest checkpoint with other content and a correct checksum."""
    saved = read_newest_checkpoint(run / "checkpoints", warn=print)
    change(saved)
    write_checkpoint(run / "checkpoints", int(saved["loop.counters"][0]) + 1, saved)


def test_a_trajectory_that_does_not_replay_is_not_exported(run, tmp_path):
    corrupt(run, lambda saved: saved["table.score"].__setitem__(slice(None), saved["table.score"] + 15))
    with pytest.raises(GoExploreError, match=r"does not replay.*score 16.*reached 1.*not exported") as raised:
        goexplore.render(run, out=tmp_path / "wrong.mp4")
    assert raised.value.exit_code == 1
    assert list(tmp_path.glob("*wrong*")) == []


@pytest.mark.parametrize("part", ["table.score", "table.length", "forest.actions"])
def test_verification_finds_what_is_wrong(run, part):
    assert goexplore.inspect_run(run, verify=30)["mismatches"] == []

    def change(saved):
        saved[part] = saved[part].copy()
        saved[part][len(saved[part]) // 3 :] += 1
        if part == "forest.actions":
            saved[part] %= 4

    corrupt(run, change)
    assert goexplore.inspect_run(run, verify=30)["mismatches"]


def test_verification_compares_the_restored_state(run):
    """Two cells with their snapshots swapped have the right trajectories, and the wrong states."""
    folder = RunFolder.open(run)
    config = run_config(folder.read_config())
    loop, codec, _ = load(folder, config, make_env(config.env), warn=print)
    snapshots = loop.archive.snapshots
    snapshots[3], snapshots[7] = snapshots[7], snapshots[3]
    replayer = Replayer(loop.archive, codec, config)
    differing = {}
    for row in range(10):
        cell = loop.archive.cell(row)
        if differences := replayer.differences(cell, replayer.replay(cell)):
            differing[row] = differences
    assert differing == {3: ["state"], 7: ["state"]}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"which": "worst"}, "expected best, end, or a row"),
        ({"which": "99999"}, "expected best, end, or a row"),
        ({"out": "video.avi"}, "ends in .mp4 or .gif"),
        ({"speed": 0}, "expected more than 0"),
    ],
)
def test_bad_input(run, settings, message):
    with pytest.raises(InputError, match=message):
        goexplore.render(run, **settings)


def test_an_end_that_was_never_reached(tmp_path):
    run = goexplore.explore(MAZE, frames=200, preset="tiny", workers=1, progress=False, out=tmp_path / "run").run
    with pytest.raises(InputError, match="no episode has ended"):
        goexplore.render(run, which="end")


@pytest.mark.atari
@pytest.mark.parametrize("game", ["MontezumaRevenge", "Breakout", "Pitfall"])
def test_archived_cells_replay_from_reset_to_the_same_state(tmp_path, game):
    run = goexplore.explore(
        f"ALE/{game}-v5", frames=40_000, workers=2, progress=False, out=tmp_path / "run", batch_size=20
    ).run
    found = goexplore.inspect_run(run, verify=25)
    assert found["verified_cells"] == min(25, found["cells"])
    assert goexplore.render(run, which="end", out=tmp_path / "end.mp4").score == found["end_score"]
    frames = frames_of(tmp_path / "end.mp4")
    assert frames.shape[1:] == (448, 640, 3)
    assert frames.std() > 5


@pytest.mark.atari
def test_nothing_wrong_leaves_qbert(tmp_path):
    """Its snapshots do not round-trip: whatever is exported must still be right."""
    run = goexplore.explore("ALE/Qbert-v5", frames=200_000, progress=False, out=tmp_path / "run", workers=2).run
    config = run_config(RunFolder.open(run).read_config())
    loop, codec, _ = load(RunFolder.open(run), config, make_env(config.env), warn=print)
    replayer, exported, refused = Replayer(loop.archive, codec, config), 0, 0
    for row in pick_cells(loop.archive, 12, seed=0):
        cell, video = loop.archive.cell(row), tmp_path / f"{row}.mp4"
        if replayer.differences(cell, replayer.replay(cell)):
            refused += 1
            with pytest.raises(GoExploreError, match="not exported"):
                goexplore.render(run, which=str(row), out=video)
            assert not video.exists()
        elif not exported:
            exported += 1
            assert goexplore.render(run, which=str(row), out=video).score == cell.score
    assert refused > 0, "every snapshot round-tripped: has ALE #732 been fixed?"


def test_a_video_of_the_wrong_state_is_not_exported(run, tmp_path):
    """Score and length alone would agree: the actions are others, and they lead elsewhere."""
    corrupt(run, lambda saved: saved["forest.actions"].__setitem__(slice(None), 0))
    with pytest.raises(GoExploreError, match="differs in key, state"):
        goexplore.render(run, which="1", out=tmp_path / "wrong.mp4")


def test_the_best_is_the_best_of_cells_and_ends(run, tmp_path):
    result = goexplore.render(run, out=tmp_path / "best.mp4")
    assert (result.score, result.ends_episode) == (11.0, True)


def test_where_nothing_was_found_the_longest_way_is_filmed(tmp_path):
    run = goexplore.explore(MAZE, frames=200, preset="tiny", workers=1, progress=False, out=tmp_path / "run").run
    assert goexplore.render(run).steps > 5


def test_cells_are_drawn_without_repetition(run):
    folder = RunFolder.open(run)
    config = run_config(folder.read_config())
    loop, _, _ = load(folder, config, make_env(config.env), warn=print)
    rows = pick_cells(loop.archive, 40, seed=1)
    assert len(set(rows)) == 40
    assert pick_cells(loop.archive, 10_000, seed=1) == list(range(len(loop.archive)))


def test_ffmpeg_comes_with_a_wheel():
    import imageio_ffmpeg

    assert subprocess.run([imageio_ffmpeg.get_ffmpeg_exe(), "-version"], capture_output=True, check=True)


@pytest.mark.atari
@pytest.mark.parametrize(
    ("game", "known"),
    [("MontezumaRevenge", {"rooms": 1, "levels": 1, "most_keys": 0}), ("Pitfall", {"rooms": 3})],
)
def test_inspect_tells_what_is_known_of_the_game(tmp_path, game, known):
    goexplore.explore(f"ALE/{game}-v5", cells="domain", frames=8_000, out=tmp_path / "run", workers=1, progress=False)
    found = inspect_run(tmp_path / "run", verify=5)
    assert {name: found[name] for name in known} == known
    assert found["mismatches"] == []
