"""The learning core: gradients against a plain reference, ends and cuts, what memory leaves behind, ranks."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from goexplore.learn import (  # noqa: E402
    ActorCritic,
    Imitation,
    Learner,
    NetworkConfig,
    PPOConfig,
    Ranks,
    Rollout,
    Spaces,
    Transitions,
    advantages,
    launch,
)

SMALL = NetworkConfig(convolutions=(), hidden=(24, 16), memory=12, gain=math.sqrt(2), policy_gain=0.5, value_gain=0.5)
FLAT = NetworkConfig(convolutions=(), hidden=(24, 16), memory=0, gain=math.sqrt(2), policy_gain=0.5, value_gain=0.5)
CHOICES = Spaces(observation_shape=(6,), observation_dtype="float32", choices=4)
NUMBERS = Spaces(observation_shape=(6,), observation_dtype="float32", action_shape=(3,))


class Noise:
    """Random observations, rewards, ends and cuts; the last actor replays something to imitate."""

    def __init__(self, spaces: Spaces = CHOICES, actors: int = 5, groups: int = 1, seed: int = 0) -> None:
        self.spaces, self._rng, self._actors = spaces, np.random.default_rng(seed), actors
        self.groups = [slice(index * actors // groups, (index + 1) * actors // groups) for index in range(groups)]
        self.first = np.ones(actors, bool)
        self.temperature = np.ones(actors, np.float32)
        self.observations = self._rng.normal(size=(actors, 6)).astype(np.float32)

    def begin(self, group, actions):
        assert len(actions) == self.groups[group].stop - self.groups[group].start

    def finish(self, group):
        actors = self.groups[group]
        count = actors.stop - actors.start
        ends, cuts = self._rng.random(count) < 0.1, self._rng.random(count) < 0.1
        self.observations[actors] = self._rng.normal(size=(count, 6))
        self.first[actors] = ends | cuts
        self.temperature[actors] = self._rng.choice([1.0, 2.0], count)
        replayed = np.arange(actors.start, actors.stop) == self._actors - 1
        actions = (
            self._rng.integers(4, size=count)
            if self.spaces.choices
            else self._rng.normal(size=(count, 3)).astype(np.float32)
        )
        imitation = Imitation(
            actions,
            self._rng.normal(1.0, 1.0, count).astype(np.float32),
            (replayed * self._rng.random(count)).astype(np.float32),
        )
        return Transitions(self._rng.normal(size=count).astype(np.float32), ends, cuts, ~replayed, imitation)


def collected(config: PPOConfig, network_config=SMALL, spaces=CHOICES, *, times=2, **noise):
    torch.manual_seed(0)
    network = ActorCritic(network_config, spaces)
    rollout = Rollout(
        Noise(spaces, **noise), network, steps=config.steps, context=config.context, generator=torch.Generator()
    )
    for _ in range(times):
        rollout.collect(network)
    return network, rollout


def learner(network, config):
    return Learner(network, config, Ranks(), np.random.default_rng(0))


@pytest.mark.parametrize("spaces", [CHOICES, NUMBERS], ids=["choices", "numbers"])
@pytest.mark.parametrize("network_config", [SMALL, FLAT], ids=["memory", "flat"])
@pytest.mark.parametrize("groups", [1, 2])
def test_recomputed_probabilities_are_those_of_the_behaviour(network_config, spaces, groups):
    """Across episode boundaries, temperatures and collections: the test that an off-by-one reset cannot pass."""
    network, rollout = collected(PPOConfig(steps=16, context=8), network_config, spaces, times=3, groups=groups)
    assert rollout.first[1:].any()
    with torch.no_grad():
        output = network.unroll(rollout.observations, rollout.states[0], rollout.first)
        policy = output.policy.at_temperature(rollout.temperature)
    torch.testing.assert_close(policy.log_prob(rollout.actions), rollout.log_probs, atol=1e-5, rtol=0)
    torch.testing.assert_close(output.value, rollout.values, atol=1e-5, rtol=0)


def test_an_end_is_real_and_a_cut_is_neutral():
    rewards = np.array([[1.0], [2.0], [4.0], [8.0]], np.float32)
    values = np.array([[0.5], [0.25], [0.125], [1.0], [3.0]], np.float32)
    none = np.zeros((4, 1), bool)
    at_two = none.copy()
    at_two[2] = True
    settings = {"gamma": 0.5, "gae_lambda": 0.5}
    ended = advantages(rewards, values, at_two, none, **settings)
    last = 8.0 + 0.5 * 3.0 - 1.0
    third = 4.0 - 0.125
    second = 2.0 + 0.5 * 0.125 - 0.25 + 0.25 * third
    first = 1.0 + 0.5 * 0.25 - 0.5 + 0.25 * second
    np.testing.assert_allclose(ended[:, 0], [first, second, third, last], rtol=1e-6)
    cut = advantages(rewards, values, none, at_two, **settings)
    second = 2.0 + 0.5 * 0.125 - 0.25
    first = 1.0 + 0.5 * 0.25 - 0.5 + 0.25 * second
    np.testing.assert_allclose(cut[:, 0], [first, second, 0.0, last], rtol=1e-6)


def reference_gradients(network, rollout, config: PPOConfig):
    """The loss once more, entry by entry in plain Python loops."""
    steps, actors = rollout.values.shape
    context = rollout.context
    gained = np.zeros((steps, actors))
    for actor in range(actors):
        ahead, after = 0.0, float(rollout.last_values[actor])
        for step in range(steps - 1, context - 1, -1):
            value = float(rollout.values[step, actor])
            on = 0.0 if rollout.ends[step, actor] else 1.0
            delta = float(rollout.rewards[step, actor]) + config.gamma * on * after - value
            ahead = 0.0 if rollout.cuts[step, actor] else delta + config.gamma * config.gae_lambda * on * ahead
            gained[step, actor], after = ahead, value
    own = rollout.own & ~rollout.cuts  # a cut step learns nothing
    own[:context] = False
    everything = config.average_over == "all"
    pool = gained.reshape(-1) if everything else gained[own.numpy()]
    mean, deviation = pool.mean(), pool.std()
    terms, imitated_terms = [], []
    for actor in range(actors):
        state = rollout.states[0, actor][None]
        for step in range(steps):
            output = network.act(rollout.observations[step, actor][None], state, rollout.first[step, actor][None])
            state = output.state
            logits = output.policy.logits[0] / rollout.temperature[step, actor]
            logs = logits - torch.logsumexp(logits, 0)
            entropy = -(logs.exp() * logs).sum()
            value, old = output.value[0], rollout.values[step, actor]
            if own[step, actor]:
                advantage = float((gained[step, actor] - mean) / (deviation + 1e-7))
                ratio = torch.exp(logs[rollout.actions[step, actor]] - rollout.log_probs[step, actor])
                pg = max(-advantage * ratio, -advantage * min(max(ratio, 1 - config.clip), 1 + config.clip))
                target = old + float(gained[step, actor])
                error = (value - target) ** 2
                if config.value_clip is not None:
                    moved = min(max(value - old, -config.value_clip), config.value_clip)
                    error = max(error, (old + moved - target) ** 2)
                terms.append(pg + config.value_coefficient * error - config.entropy_coefficient * entropy)
            weight = float(rollout.imitation[step, actor])
            if weight:
                achieved = float(rollout.imitated_returns[step, actor])
                pg = -logs[rollout.imitated_actions[step, actor]] * max(0.0, achieved - float(old))
                vf = 0.5 * max(value * 0, achieved - value) ** 2
                imitated_terms.append(
                    weight
                    * (pg + config.imitation_value_coefficient * vf - config.imitation_entropy_coefficient * entropy)
                )
    count = steps * actors if everything else len(terms)
    imitated = steps * actors if everything else len(imitated_terms)
    loss = sum(terms) / count + config.imitation_coefficient * sum(imitated_terms) / imitated
    for parameter in network.parameters():
        loss = loss + config.l2_coefficient / 2 * parameter.square().sum()
    return torch.autograd.grad(loss, list(network.parameters()))


@pytest.mark.parametrize("average_over", ["all", "own"])
@pytest.mark.parametrize("value_clip", [0.1, None])
def test_gradients_are_those_of_a_plain_reference(average_over, value_clip):
    config = PPOConfig(
        steps=12,
        context=6,
        average_over=average_over,
        value_clip=value_clip,
        entropy_coefficient=0.01,
        imitation_entropy_coefficient=0.02,
        imitation_value_coefficient=0.3,
        l2_coefficient=1e-2,
        gamma=0.9,
    )
    network, rollout = collected(config)
    with torch.no_grad():  # so that ratios and values differ from those of the behaviour, and clips bite
        for parameter in network.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.05)
    expected = reference_gradients(network, rollout, config)
    learns = learner(network, config)
    loss, _ = learns._loss(learns._batch(rollout), config.entropy_coefficient)
    learns._gradients.zero_()
    loss.backward()
    for parameter, gradient in zip(network.parameters(), expected, strict=True):
        with_decay = parameter.grad + config.l2_coefficient * parameter.detach()
        torch.testing.assert_close(with_decay, gradient, atol=2e-6, rtol=2e-4)


def test_replayed_and_context_entries_give_no_ppo_gradient():
    config = PPOConfig(steps=12, context=6, imitation_coefficient=0.0, l2_coefficient=0.0, average_over="own")
    network, rollout = collected(config)
    learns = learner(network, config)

    def gradients():
        loss, _ = learns._loss(learns._batch(rollout), 0.01)
        learns._gradients.zero_()
        loss.backward()
        return learns._gradients.clone()

    before = gradients()
    replayed = ~rollout.own
    rollout.log_probs[replayed] += 3.0
    rollout.actions[replayed] = (rollout.actions[replayed] + 1) % 4
    rollout.log_probs[:6] -= 2.0
    torch.testing.assert_close(gradients(), before, atol=0, rtol=0)
    rollout.own[:] = False
    assert gradients().abs().max() == 0


def test_every_step_is_trained_on_once_and_serves_as_context_once():
    config = PPOConfig(steps=8, context=4)
    network, rollout = collected(config, times=1)
    newest = rollout.observations[8:].clone()
    rollout.collect(network)
    torch.testing.assert_close(rollout.observations[:4], newest)
    assert rollout.collect(network) == 8


def test_an_update_moves_towards_better_actions():
    """Two choices, one of them rewarded."""

    class Bandit(Noise):
        def begin(self, group, actions):
            self._reward = (actions == 2).astype(np.float32)

        def finish(self, group):
            count = len(self._reward)
            everyone = np.ones(count, bool)
            return Transitions(self._reward, everyone, np.zeros(count, bool), everyone)

    config = PPOConfig(
        steps=16, context=0, minibatches=2, learning_rate=1e-2, average_over="own", value_clip=None, clip=0.2
    )
    torch.manual_seed(0)
    network = ActorCritic(FLAT, CHOICES)
    rollout = Rollout(Bandit(), network, steps=16, context=0, generator=torch.Generator())
    learns = learner(network, config)
    for _ in range(20):
        rollout.collect(network)
        terms = learns.update(rollout)
    assert (rollout.actions == 2).float().mean() > 0.9
    assert {"policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction", "explained_variance"} <= set(terms)


def test_saving_and_restoring_changes_nothing():
    config = PPOConfig(steps=8, context=4, minibatches=2)

    def run(interrupted):
        torch.manual_seed(0)
        network, noise = ActorCritic(SMALL, CHOICES), Noise()
        generator = torch.Generator()
        rollout = Rollout(noise, network, steps=8, context=4, generator=generator)
        learns = learner(network, config)
        for iteration in range(4):
            if interrupted and iteration == 2:
                saved = rollout.save() | learns.save()
                parameters = {name: value.clone() for name, value in network.state_dict().items()}
                network = ActorCritic(SMALL, CHOICES)
                network.load_state_dict(parameters)
                rollout = Rollout(noise, network, steps=8, context=4, generator=generator)
                rollout.restore(saved)
                order = learns._generator
                learns = learner(network, config)
                learns.restore(saved)
                learns._generator = order
            rollout.collect(network)
            learns.update(rollout)
        return torch.cat([parameter.flatten() for parameter in network.parameters()])

    torch.testing.assert_close(run(True), run(False), atol=0, rtol=0)


def test_a_loss_that_is_no_number_stops_before_the_parameters_are_touched():
    from goexplore.learn import DivergedError

    config = PPOConfig(steps=8, context=4)
    network, rollout = collected(config)
    rollout.rewards[6, 0] = float("nan")
    before = [parameter.clone() for parameter in network.parameters()]
    with pytest.raises(DivergedError, match="training diverged"):
        learner(network, config).update(rollout)
    for parameter, old in zip(network.parameters(), before, strict=True):
        torch.testing.assert_close(parameter.detach(), old.detach(), atol=0, rtol=0)


def _trained(ranks: Ranks) -> np.ndarray:
    torch.manual_seed(ranks.rank)  # ranks start apart, and must be brought together
    config = PPOConfig(steps=8, context=4, minibatches=2)
    network = ActorCritic(SMALL, CHOICES)
    rollout = Rollout(Noise(seed=ranks.rank), network, steps=8, context=4, generator=torch.Generator())
    learns = Learner(network, config, ranks, np.random.default_rng(ranks.rank))
    for _ in range(3):
        rollout.collect(network)
        learns.update(rollout)
    flat = torch.cat([parameter.detach().flatten() for parameter in network.parameters()])
    everyone = ranks.gather(flat.tolist())
    assert everyone[0] == everyone[-1], "ranks hold the same parameters"
    return flat.numpy()


def test_ranks_learn_together_and_reproducibly():
    first, second = launch(_trained, ranks=2), launch(_trained, ranks=2)
    np.testing.assert_array_equal(first, second)
    alone = launch(_trained, ranks=1)
    assert not np.array_equal(first, alone)
