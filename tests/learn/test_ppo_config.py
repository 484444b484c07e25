"""Settings of the learner that change over a training."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from goexplore.errors import InputError  # noqa: E402
from goexplore.learn import PPOConfig  # noqa: E402
from tests.learn.test_learn import FLAT, collected, learner  # noqa: E402


def test_the_horizon_grows_by_the_same_factor_in_each_part_of_a_training():
    config = PPOConfig(gamma=0.99, final_gamma=0.9975)
    assert [config.gamma_at(done) for done in (-1.0, 0.0, 0.5, 1.0, 2.0)] == pytest.approx(
        [0.99, 0.99, 0.995, 0.9975, 0.9975]
    )
    assert PPOConfig(gamma=0.99).gamma_at(0.7) == 0.99
    with pytest.raises(InputError, match=r"final_gamma 1\.0: expected both below 1"):
        PPOConfig(gamma=0.99, final_gamma=1.0)


@pytest.mark.parametrize(("config", "done"), [({"final_gamma": 0.99}, 1.0), ({}, 0.0)])
def test_an_update_discounts_as_much_as_is_due_by_then(config, done):
    def learnt(**settings):
        ppo = PPOConfig(steps=8, context=0, **settings)
        network, rollout = collected(ppo, FLAT, times=1)
        learner(network, ppo).update(rollout, done=done)
        return torch.cat([each.flatten() for each in network.parameters()])

    here = learnt(gamma=0.5, **config)
    assert torch.equal(here, learnt(gamma=config.get("final_gamma", 0.5)))
    assert not torch.equal(here, learnt(gamma=0.7))
