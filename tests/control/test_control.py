"""Plain PPO: it learns where rewards are near, resumes exactly, and can be tested like any other policy."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from goexplore.control import ControlConfig, ResetEnvironments, control, control_preset, resume_control  # noqa: E402
from goexplore.envs import EnvSpec  # noqa: E402
from goexplore.errors import InputError  # noqa: E402
from goexplore.learn import NetworkConfig, PPOConfig  # noqa: E402
from goexplore.play import AtariView, PlainView, make_play  # noqa: E402
from goexplore.policy_based import policy_preset  # noqa: E402
from tests.robustification.chain import chain_spec  # noqa: E402
from tests.robustification.test_training import parameters, stopped_after, whole_state  # noqa: E402

CHAIN = "tests.robustification.chain:Chain"
SMALL = ControlConfig(
    view=PlainView(max_steps=40),
    network=NetworkConfig(convolutions=(), hidden=(32,), memory=8, gain=math.sqrt(2)),
    ppo=PPOConfig(
        steps=16,
        context=8,
        epochs=2,
        minibatches=2,
        learning_rate=3e-3,
        entropy_coefficient=1e-2,
        value_clip=None,
        gamma=0.95,
        average_over="own",
    ),
    actors=8,
    steps=1_500,
    rewards="plain",
)


def train(out, **settings):
    return control(CHAIN, out=out, config=SMALL, ranks=1, progress=False, **settings)


def test_it_learns_a_short_chain(tmp_path):
    result = train(tmp_path / "run", env_kwargs={"length": 3}, steps=12_000)
    assert result.stopped_by == "steps"
    assert result.training_score == 1.0
    assert result.best_episode == 1.0


def test_stopping_and_resuming_changes_nothing(tmp_path, monkeypatch):
    train(tmp_path / "whole", env_kwargs={"length": 4})
    stopped_after(5, monkeypatch)
    assert train(tmp_path / "part", env_kwargs={"length": 4}).iterations == 5
    monkeypatch.undo()
    with pytest.raises(InputError, match="trust"):
        resume_control(tmp_path / "part", progress=False)
    resume_control(tmp_path / "part", trust=True, progress=False)
    np.testing.assert_array_equal(parameters(tmp_path / "part"), parameters(tmp_path / "whole"))
    one, other = whole_state(tmp_path / "whole"), whole_state(tmp_path / "part")
    for name, value in one.items():
        np.testing.assert_array_equal(other[name], value, err_msg=name)


def test_episodes_end_where_the_environment_says_and_where_time_is_up():
    environments = ResetEnvironments(
        lambda rng: make_play(chain_spec(2), PlainView(max_steps=7), rng),
        ControlConfig(rewards="plain"),
        actors=1,
        seeds=np.random.SeedSequence(0),
    )
    right = [0, (7 * 1 + 1 // 3) % 4]
    ends, first = [], []
    for step in range(9):
        first.append(bool(environments.first[0]))
        environments.begin(0, np.array([right[step % 2] if step < 2 else 3 - right[0]]))
        ends.append(bool(environments.finish(0).ends[0]))
    assert [index for index, end in enumerate(ends) if end] == [1, 8]
    assert [index for index, one in enumerate(first) if one] == [0, 2]
    assert [(each.score, each.steps) for each in environments.episodes()] == [(1.0, 2), (0.0, 7)]


@pytest.mark.atari
@pytest.mark.parametrize("resets", [True, False])
def test_an_episode_may_be_over_with_a_lost_life(resets):
    """Random actions lose a life of Montezuma's Revenge about every hundred steps."""
    view, plays = AtariView(memory=True, stack=1), []

    def make(rng):
        plays.append(make_play(EnvSpec("ALE/MontezumaRevenge-v5"), view, rng))
        return plays[-1]

    config = ControlConfig(view=view, life_loss_resets=resets)
    environments = ResetEnvironments(make, config, actors=1, seeds=np.random.SeedSequence(0))
    rng, all_lives = np.random.default_rng(1), plays[0].lives
    lives, ends = set(), 0
    for _ in range(1_000):
        environments.begin(0, rng.integers(18, size=1))
        ends += int(environments.finish(0).ends[0])
        lives.add(plays[0].lives)
    assert (lives == {all_lives}) == resets
    assert ends == len(environments.episodes())
    assert ends > 2 or not resets


@pytest.mark.parametrize(("env_id", "rewards"), [("ALE/MontezumaRevenge-v5", "sign"), (CHAIN, "plain")])
def test_beside_a_policy_that_returns_it_has_the_same_network_view_and_batch(env_id, rewards):
    ours, made = policy_preset("laptop", env_id), control_preset("laptop", env_id, beside="policy")
    assert (made.network, made.life_loss_resets) == (ours.network, ours.life_loss_ends)
    same, play = {"max_frames", "max_steps"}, make_play(EnvSpec(env_id), made.view, np.random.default_rng(0))
    one, other = (dataclasses.asdict(each) for each in (made.view, ours.view))
    assert {name: one[name] for name in one.keys() - same} == {name: other[name] for name in one.keys() - same}
    steps = 0
    while not play.cut_short:
        play.step(0)
        steps += 1
    assert steps == ours.episode_steps, "doing nothing, as long as episodes of the policy may be"
    assert made.actors * made.ppo.steps == (ours.actors + ours.imitators) * ours.ppo.steps
    assert made.ppo.imitation_coefficient == made.bonus == 0
    assert (made.ppo.value_coefficient, made.ppo.entropy_coefficient) == (0.25, 0.01), "usual for PPO without goals"
    assert made.rewards == rewards


def test_counts_beside_a_policy_are_of_its_goals():
    made = control_preset("laptop", "ALE/MontezumaRevenge-v5", method="count", beside="policy")
    assert (made.cells, made.bonus) == ("montezuma:goals", 1.0)
    with pytest.raises(InputError, match="beside 'search': expected one of ppo, count, beside one of"):
        control_preset("laptop", CHAIN, beside="search")
