"""Films of returns show what happened; the share that arrives has an interval."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("imageio_ffmpeg")
import imageio_ffmpeg  # noqa: E402

from goexplore.cells import GoalCells  # noqa: E402
from goexplore.envs.highway import HEIGHT, WIDTH  # noqa: E402
from goexplore.errors import GoExploreError, InputError  # noqa: E402
from goexplore.play import PlainView  # noqa: E402
from goexplore.policy_based import _returns as returns  # noqa: E402
from goexplore.policy_based import evaluate_returns, explore_with_policy, policy_preset  # noqa: E402
from goexplore.policy_based._film import worth_showing  # noqa: E402
from goexplore.policy_based._return_player import ReturnEpisode  # noqa: E402

HIGHWAY, MONTEZUMA = "goexplore/Highway-v0", "ALE/MontezumaRevenge-v5"


class Lanes(GoalCells):
    attributes = {"x": WIDTH, "y": HEIGHT}  # noqa: RUF012

    def values(self, observation, env):
        return env.unwrapped.x, env.unwrapped.y


def trained(path: Path, env: str, **changes) -> Path:
    preset = policy_preset("laptop", env)
    config = replace(preset, ppo=replace(preset.ppo, steps=32), actors=4, imitators=1, episode_steps=60, **changes)
    cells = f"{__name__}:Lanes" if env == HIGHWAY else None
    explore_with_policy(env, out=path, steps=512, cells=cells, config=config, ranks=1, progress=False)
    return path


@pytest.fixture(scope="module")
def highway(tmp_path_factory):
    view = PlainView(new_seeds=True, sticky=0.25)
    return trained(tmp_path_factory.mktemp("highway") / "run", HIGHWAY, view=view)


def length(video: Path) -> int:
    return imageio_ffmpeg.count_frames_and_secs(str(video))[0]


@pytest.fixture
def longest(monkeypatch):
    """The longest episode is filmed, and kept here."""
    shown: list[ReturnEpisode] = []

    def choose(episodes):
        shown.append(max(episodes, key=lambda each: each.steps))
        return shown[-1]

    monkeypatch.setattr(returns, "worth_showing", choose)
    return shown


def test_a_return_is_filmed_as_it_was(highway, tmp_path, longest):
    result = evaluate_returns(highway, to="uniform", episodes=6, trust=True, video=tmp_path / "return.mp4")
    assert length(Path(result.video)) == longest[0].steps + 1 > 2


def test_one_that_arrives_after_a_typical_time_is_shown():
    def episode(steps, *, arrived, score=0.0):
        return ReturnEpisode({}, actions=[0] * steps, score=score, arrived=arrived)

    short, middle, long = (episode(steps, arrived=True, score=1.0) for steps in (3, 5, 9))
    poorer, lost, better = episode(4, arrived=True), episode(4, arrived=False), episode(7, arrived=False, score=2.0)
    assert worth_showing([long, lost, short, poorer, middle, better]) is middle
    assert worth_showing([lost, better]) is better


def test_an_episode_that_is_another_when_played_again_is_not_shown(highway, tmp_path, monkeypatch):
    film = returns.film_return

    def other_noise(path, run, cells, episode):
        episode.noise = np.random.default_rng(7).bit_generator.state
        film(path, run, cells, episode)

    monkeypatch.setattr(returns, "film_return", other_noise)
    with pytest.raises(GoExploreError, match="not what it was"):
        evaluate_returns(highway, to="y=1", episodes=6, trust=True, video=tmp_path / "return.mp4")
    assert not list(tmp_path.iterdir())


def test_a_video_that_cannot_be_written_is_refused_before_anything_is_played(highway, tmp_path):
    played = []
    (tmp_path / "file").touch()
    for name, message in (("return.avi", r"ends in \.mp4 or \.gif"), ("file/return.mp4", "cannot be written: ")):
        with pytest.raises(InputError, match=message):
            evaluate_returns(highway, trust=True, video=tmp_path / name, on_episode=lambda *told: played.append(told))
    assert not played


def test_an_environment_that_draws_nothing_is_refused_before_anything_is_played(tmp_path):
    corridor = "tests.policy_based.corridor"
    preset = policy_preset("laptop", f"{corridor}:Corridor")
    config = replace(preset, ppo=replace(preset.ppo, steps=32), actors=2, imitators=0)
    cells = f"{corridor}:Places"
    run = tmp_path / "run"
    explore_with_policy(f"{corridor}:Corridor", out=run, steps=64, cells=cells, config=config, ranks=1, progress=False)
    played = []
    with pytest.raises(InputError, match="cannot draw here"):
        evaluate_returns(
            run, to="uniform", trust=True, video=tmp_path / "a.mp4", on_episode=lambda *told: played.append(told)
        )
    assert not played


@pytest.mark.atari
def test_returns_on_atari_are_filmed_with_their_no_ops_and_sticky_actions(tmp_path, longest):
    run = trained(tmp_path / "run", MONTEZUMA)
    result = evaluate_returns(run, to="uniform", episodes=6, video=tmp_path / "return.mp4")
    assert length(tmp_path / "return.mp4") == longest[0].steps + 1 > 2
    assert 0 <= result.arrived_interval[0] <= result.arrived <= result.arrived_interval[1] <= 1


@pytest.mark.parametrize(
    ("count", "interval"), [(0, (0.0, 0.037)), (50, (0.4038, 0.5962)), (90, (0.8256, 0.9448)), (100, (0.963, 1.0))]
)
def test_intervals_of_shares(count, interval):
    """Published values of Wilson's interval for 100 trials."""
    assert returns.interval_of_share(count, 100) == pytest.approx(interval, abs=1e-4)
