"""Testing policies: every episode counted once, whatever runs beside it; scores that a count by hand confirms."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from goexplore.errors import InputError  # noqa: E402
from goexplore.evaluation import best_policy, evaluate, evaluate_replay  # noqa: E402
from goexplore.evaluation._policy import Conditions, play_episodes  # noqa: E402
from goexplore.evaluation._replay import play_replays  # noqa: E402
from goexplore.learn import ActorCritic, NetworkConfig, Spaces  # noqa: E402
from goexplore.play import AtariView, PlainView  # noqa: E402
from goexplore.policies import Policy  # noqa: E402
from tests.robustification.chain import Chain, chain_spec  # noqa: E402

LENGTH = 6


def knowing_policy(doubt: float = 0.0) -> Policy:
    """Knows the chain by heart: its logits are a table; with some doubt about every step."""
    spaces = Spaces(observation_shape=(LENGTH + 1,), observation_dtype="float32", choices=4)
    network = ActorCritic(NetworkConfig(convolutions=(), hidden=(LENGTH + 1,), memory=0), spaces)
    with torch.no_grad():
        linear = network.towers[0].dense[0]
        linear.weight.copy_(torch.eye(LENGTH + 1))
        height = torch.nn.LayerNorm(LENGTH + 1, elementwise_affine=False)(torch.eye(LENGTH + 1)).max()
        network.policy_head.weight.zero_()
        odds = 40.0 if doubt == 0 else math.log(3 * (1 - doubt) / doubt)
        for at in range(LENGTH):
            network.policy_head.weight[Chain(LENGTH).right(at), at] = odds / height
    return Policy(network, chain_spec(LENGTH), PlainView(max_steps=30), {"training_score": doubt})


@pytest.fixture
def saved(tmp_path):
    folder = tmp_path / "policies"
    folder.mkdir()
    knowing_policy(0.3).save(folder / "iteration-000001")
    knowing_policy(0.0).save(folder / "iteration-000002")
    knowing_policy(0.6).save(folder / "iteration-000003")
    return tmp_path


def test_a_perfect_policy_scores_one(saved):
    result = evaluate(saved / "policies" / "iteration-000002.safetensors", episodes=12, trust=True, at_least=[1, 2])
    assert result.mean == result.median == 1
    assert result.interval == (1, 1)
    assert result.mean_steps == LENGTH
    assert result.frames == 12 * LENGTH
    assert result.reached == {"1": 1.0, "2": 0.0}
    assert len(result.scores) == 12


def test_a_doubting_one_scores_what_probability_says(saved):
    """With probability 0.7 for each of six steps, the first attempt succeeds in 0.7^6 of all episodes."""
    found = play_episodes(
        range(600), Conditions(str(saved / "policies" / "iteration-000001.safetensors"), 0, 1.0, True)
    )
    quick = np.mean([each.score == 1 and each.steps == LENGTH for each in found])
    assert quick == pytest.approx(0.7**6, abs=0.05)
    sure = play_episodes(range(50), Conditions(str(saved / "policies" / "iteration-000001.safetensors"), 0, 0.0, True))
    assert all(each.score == 1 and each.steps == LENGTH for each in sure), "the likeliest action is the right one"


def test_the_outcome_does_not_depend_on_what_runs_beside_it(saved):
    one = evaluate(saved, episodes=40, seed=3, workers=1, trust=True)
    two = evaluate(saved, episodes=40, seed=3, workers=2, trust=True)
    assert one.scores == two.scores
    assert one.mean_steps == two.mean_steps
    other = evaluate(saved, episodes=40, seed=4, workers=1, trust=True)
    assert (other.scores, other.mean_steps) != (one.scores, one.mean_steps)


def test_the_best_is_chosen_on_other_episodes(saved):
    said = []
    chosen = best_policy(saved, episodes=20, workers=1, trust=True, say=said.append)
    assert chosen.name == "iteration-000002.safetensors"
    assert len(said) == 3


def test_wrong_input(saved, tmp_path):
    with pytest.raises(InputError, match="episodes 0"):
        evaluate(saved, episodes=0, trust=True)
    with pytest.raises(InputError, match="there is no policy"):
        evaluate(tmp_path / "nowhere")
    with pytest.raises(InputError, match="code that using it would run"):
        evaluate(saved)


@pytest.mark.atari
def test_atari_episodes_begin_with_no_ops_and_lose_lives(tmp_path):
    from goexplore.envs import EnvSpec

    view = AtariView(width=16, height=16, gray=True, max_frames=4_000)
    spaces = Spaces(observation_shape=(16, 16, 4), choices=18)
    torch.manual_seed(0)
    network = ActorCritic(NetworkConfig(convolutions=((4, 4, 4),), hidden=(8,), memory=4), spaces)
    Policy(network, EnvSpec("ALE/MontezumaRevenge-v5"), view).save(tmp_path / "policy")
    found = play_episodes(range(6), Conditions(str(tmp_path / "policy.safetensors"), 0, 1.0, False))
    assert len({each.steps for each in found}) > 1, "no-ops and sticky actions make episodes differ"
    assert all(each.first_life_score <= each.score for each in found)
    again = play_episodes([2, 5], Conditions(str(tmp_path / "policy.safetensors"), 0, 1.0, False))
    assert again == [found[2], found[5]]


@pytest.mark.atari
def test_a_median_episode_is_filmed_and_every_step_is_four_frames(tmp_path):
    imageio = pytest.importorskip("imageio_ffmpeg")
    from goexplore.envs import EnvSpec
    from goexplore.evaluation._policy import _Game

    view = AtariView(width=16, height=16, gray=True, max_frames=400)
    spaces = Spaces(observation_shape=(16, 16, 4), choices=3)
    network = ActorCritic(NetworkConfig(convolutions=((4, 4, 4),), hidden=(8,), memory=4), spaces)
    policy = Policy(network, EnvSpec("ALE/Freeway-v5"), view)
    path = policy.save(tmp_path / "some")
    result = evaluate(path, episodes=3, workers=1, video=tmp_path / "median.mp4")
    assert result.video == str(tmp_path / "median.mp4")
    frames, _ = imageio.count_frames_and_secs(result.video)
    assert frames == pytest.approx(result.mean_steps, abs=9)
    game = _Game(policy, 0, Conditions(""))
    before = game.play._emulator.ale.getEpisodeFrameNumber()
    for _ in range(25):
        game.step(1)
    assert game.play._emulator.ale.getEpisodeFrameNumber() - before == 100


def test_blind_replay_is_perfect_without_noise_and_fails_as_probability_says_with_it(tmp_path):
    """A random action goes wrong in three of four cases, and one wrong step of six is fatal to a blind replay."""
    from tests.robustification.chain import chain_demonstration

    chain_demonstration(LENGTH).save(tmp_path / "demo-000.demo.npz")
    calm = evaluate_replay(tmp_path, PlainView(), episodes=5, workers=1, trust=True, at_least=[1])
    assert calm.reached == {"1": 1.0}
    assert calm.mean_steps == LENGTH
    found = play_replays(range(800), str(tmp_path), PlainView(random_actions=0.2), 0, True)
    share = np.mean([each.score for each in found])
    assert share == pytest.approx((1 - 0.2 * 0.75) ** LENGTH, abs=0.05)


def test_episodes_may_end_at_a_score_or_after_some_steps(saved):
    path = saved / "policies" / "iteration-000003.safetensors"
    short = evaluate(path, episodes=6, workers=1, trust=True, max_steps=4)
    assert short.mean_steps == 4
    assert short.max_steps == 4
    at_once = evaluate(path, episodes=3, workers=1, trust=True, until_score=0)
    assert at_once.mean_steps == 1
