"""The warm start: only what succeeded is learnt, and a policy comes out that does it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from goexplore.learn import Ranks  # noqa: E402
from goexplore.play import PlainView, make_play  # noqa: E402
from goexplore.robustification import CloningConfig, RewardScale, Route, Training  # noqa: E402
from goexplore.robustification._cloning import noisy_replays, noisy_stretches  # noqa: E402
from tests.robustification.chain import chain_demonstration, chain_spec  # noqa: E402
from tests.robustification.test_training import SMALL  # noqa: E402

LENGTH = 12


def replays(noise: float, count: int):
    play = make_play(chain_spec(LENGTH), PlainView(random_actions=noise), np.random.default_rng(0))
    routes = [Route(chain_demonstration(LENGTH), play)]
    return noisy_replays(play, routes, count=count, scale=RewardScale(2.0), gamma=0.9, tolerance=0.0)


def test_only_replays_that_succeed_are_kept():
    assert len(replays(0.0, 10)) == 10
    kept = replays(0.2, 400)
    assert len(kept) / 400 == pytest.approx((1 - 0.2 * 0.75) ** LENGTH, abs=0.06)
    (batch,) = kept.batches(4, 1, np.random.default_rng(0))
    assert batch["observations"].shape == (LENGTH, 4, LENGTH + 1)
    torch.testing.assert_close(batch["returns"][:, 0], 2.0 * 0.9 ** torch.arange(LENGTH - 1, -1, -1.0))
    assert batch["mask"].min() == 1


def test_of_stretches_those_are_kept_that_come_out_where_they_should():
    """A wrong step leads back to the start, which shows neither in lives nor in points."""
    play = make_play(chain_spec(), PlainView(random_actions=0.2), np.random.default_rng(0))
    route = Route(chain_demonstration(), play)
    kept = noisy_stretches(
        play,
        [route],
        count=400,
        steps=3,
        scale=RewardScale(2.0),
        gamma=0.9,
        tolerance=0.0,
        rng=np.random.default_rng(0),
    )
    assert len(kept) / 400 == pytest.approx((1 - 0.2 * 0.75) ** 3, abs=0.1)
    (batch,) = kept.batches(len(kept), 1, np.random.default_rng(0))
    expected = route.returns(0.9, RewardScale(2.0))
    starts = batch["observations"][0].argmax(dim=1).tolist()
    assert len(set(starts)) > 40
    for chunk, start in enumerate(starts):
        length = int(batch["mask"][:, chunk].sum())
        if start < 12:
            continue  # the start of the chain is within the steps by which a replay may be late
        at = batch["observations"][:length, chunk].argmax(dim=1)
        assert at.tolist() == list(range(start, min(start + 3, len(route))))
        np.testing.assert_allclose(batch["returns"][:length, chunk], expected[start : start + length], rtol=1e-5)


def test_a_cloned_policy_does_what_the_demonstration_does():
    config = replace(SMALL, cloning=CloningConfig(replays=40, epochs=200, learning_rate=3e-3))
    training = Training([chain_demonstration(LENGTH)], config, seed=0, ranks=Ranks())
    untouched = Training([chain_demonstration(LENGTH)], SMALL, seed=0, ranks=Ranks())
    training._clone()
    for network, at_least in ((training.network, 0.9), (untouched.network, 0.0)):
        seen = torch.eye(LENGTH + 1)[:LENGTH, None]
        first = torch.zeros(LENGTH, 1, dtype=torch.bool)
        first[0] = True
        with torch.no_grad():
            output = network.unroll(seen, network.initial_state(1), first)
        right = torch.tensor(chain_demonstration(LENGTH).actions.astype(np.int64))[:, None]
        likely = float(output.policy.log_prob(right).exp().mean())
        assert likely > at_least
        assert (likely > 0.5) == bool(at_least)
