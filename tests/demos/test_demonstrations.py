"""Demonstrations: the right trajectories, replayed, in files that say what they are and refuse what they are not."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import goexplore
from goexplore.archive import Archive
from goexplore.demos import Choice, Demonstration, demonstrations_of, difference, extract, load_demonstrations
from goexplore.demos._demonstration import digest_of
from goexplore.envs import make_env
from goexplore.errors import InputError

MAZE = "goexplore/KeyDoorMaze-v0"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("demos") / "run"
    return goexplore.explore(MAZE, frames=20_000, preset="tiny", workers=1, progress=False, out=out).run


def replayed(demonstration: Demonstration):
    env = make_env(demonstration.env)
    env.reset()
    score, over = 0.0, False
    for row in demonstration.actions:
        assert not over
        _, reward, terminated, truncated, _ = env.step(env.action_space.to_env(row))
        score, over = score + reward, terminated or truncated
    return score, over, digest_of(env.fingerprint())


def test_the_best_end_of_an_episode_is_taken_and_replays(run, tmp_path):
    (path,) = extract(run, out=tmp_path)
    demonstration = Demonstration.load(path)
    assert demonstration.score == 11
    assert demonstration.ends_episode
    assert demonstration.source["run"] == run.name
    assert replayed(demonstration) == (11, True, demonstration.state)


def test_saving_and_loading_loses_nothing(run, tmp_path):
    (demonstration,) = demonstrations_of(run, Choice())
    again = Demonstration.load(demonstration.save(tmp_path / "one.demo.npz"))
    np.testing.assert_array_equal(again.actions, demonstration.actions)
    assert again.actions.dtype == demonstration.actions.dtype
    np.testing.assert_array_equal(again.rewards, demonstration.rewards)
    for name in ("env", "ends_episode", "state", "frames_per_step", "facts", "source"):
        assert getattr(again, name) == getattr(demonstration, name)


def test_a_score_cuts_the_shortest_way_to_it(run):
    (demonstration,) = demonstrations_of(run, Choice(until_score=1))
    assert demonstration.score == 1
    assert demonstration.rewards[-1] == 1
    assert not demonstration.ends_episode
    assert replayed(demonstration) == (1, False, demonstration.state)
    whole = demonstrations_of(run, Choice())[0]
    assert len(demonstration) < len(whole)


def test_cut_after_the_last_reward(tmp_path):
    """Exploring on after the last reward makes trajectories longer than what they show."""
    out = goexplore.explore(
        MAZE, frames=20_000, preset="tiny", workers=1, progress=False, out=tmp_path / "run", until_score=None
    ).run
    longest = demonstrations_of(out, Choice(which="best"))[0]
    cut = demonstrations_of(out, Choice(which="best", to_last_reward=True))[0]
    assert cut.rewards[-1] != 0
    assert len(cut) <= len(longest)
    assert cut.score == longest.score


def test_diverse_ones_share_little_and_start_with_the_shortest(run):
    several = demonstrations_of(run, Choice(until_score=1, count=3))
    assert len(several) == 3
    assert len(several[0]) == min(len(each) for each in several)
    for each in several:
        assert each.score >= 1
        assert replayed(each)[2] == each.state
    pairs = [difference(a.actions, b.actions) for i, a in enumerate(several) for b in several[:i]]
    assert min(pairs) > 0


def test_difference_is_over_the_shared_length():
    first, second = np.array([1, 2, 3, 4]), np.array([1, 2, 9])
    assert difference(first, second) == pytest.approx(1 / 3)
    assert difference(first[:, None].repeat(2, 1), second[:, None].repeat(2, 1)) == pytest.approx(1 / 3)


def test_files_are_numbered_on(run, tmp_path):
    extract(run, out=tmp_path)
    paths = extract([run, run], out=tmp_path, choice=Choice(until_score=1))
    assert [path.name for path in paths] == ["demo-001.demo.npz", "demo-002.demo.npz"]
    assert len(load_demonstrations(tmp_path)) == 3


def test_what_is_not_there_is_said(run, tmp_path):
    said = []
    with pytest.raises(InputError, match="no demonstration was found"):
        extract(run, out=tmp_path, choice=Choice(until_score=1_000), warn=said.append)
    assert "no trajectory reaches a score of 1000; the best is 11" in said[0]
    with pytest.raises(InputError, match="there is no demonstration in"):
        load_demonstrations(tmp_path)


def altered(path, **changes):
    with np.load(path) as file:
        arrays = dict(file)
    about = json.loads(arrays["about"].tobytes()) | changes
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    np.savez(path, **arrays)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:200]), "is damaged"),
        (lambda path: path.write_bytes(b""), "is damaged"),
        (lambda path: altered(path, format="other"), "is not a demonstration of ours"),
        (lambda path: altered(path, format_version=99), "has format version 99, and this goexplore reads 1"),
        (lambda path: altered(path, score=12345.0), "its parts do not fit together"),
        (lambda path: altered(path, env={"id": "subprocess:Popen"}), "code that reading it would run"),
        (lambda path: np.savez(path, actions=np.array([{}], object)), "is damaged"),
    ],
)
def test_a_damaged_or_foreign_file_is_refused_in_one_sentence(run, tmp_path, damage, said):
    (path,) = extract(run, out=tmp_path)
    damage(path)
    with pytest.raises(InputError, match=said) as caught:
        load_demonstrations(tmp_path)
    assert "\n" not in str(caught.value)


def test_demonstrations_of_different_environments_do_not_mix(run, tmp_path):
    (demonstration,) = demonstrations_of(run, Choice())
    demonstration.save(tmp_path / "demo-000.demo.npz")
    replace(demonstration, facts={"rom_md5": "another"}).save(tmp_path / "demo-001.demo.npz")
    with pytest.raises(InputError, match=r"demo-001.demo.npz has another ROM than demo-000.demo.npz"):
        load_demonstrations(tmp_path)


def test_a_better_cell_than_the_best_end_is_pointed_out(run, monkeypatch):
    said = []
    demonstrations_of(run, Choice(), warn=said.append)
    assert said == []
    real = Archive.best
    monkeypatch.setattr(Archive, "best", lambda self: replace(real(self), score=99.0))
    demonstrations_of(run, Choice(), warn=said.append)
    assert "the best end of episode has 11 points, and the best cell 99; --which best takes that" in said[0]


@pytest.mark.atari
def test_atari_says_what_identifies_it(tmp_path):
    run = goexplore.explore(
        "ALE/Asterix-v5", frames=40_000, preset="tiny", workers=1, progress=False, out=tmp_path / "run"
    ).run
    (demonstration,) = demonstrations_of(run, Choice(which="best", to_last_reward=True))
    assert demonstration.facts["game"] == "asterix"
    assert len(demonstration.facts["rom_md5"]) == 32
    assert demonstration.facts["actions"][:3] == ["NOOP", "UP", "RIGHT"]
    assert demonstration.frames_per_step == 4
    assert replayed(demonstration)[2] == demonstration.state
