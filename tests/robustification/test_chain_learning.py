"""Learning that learns: the backward algorithm solves a chain where plain PPO never sees a reward."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from goexplore.learn import ActorCritic, Learner, NetworkConfig, PPOConfig, Ranks, Rollout, Transitions  # noqa: E402
from goexplore.play import PlainView, make_play  # noqa: E402
from goexplore.robustification import (  # noqa: E402
    VIRTUAL,
    BackwardConfig,
    BackwardEnvironments,
    Balance,
    Curriculum,
    RewardScale,
    Route,
    whole,
)
from tests.robustification.chain import chain_demonstration, chain_play, chain_spec  # noqa: E402

CHAIN = BackwardConfig(
    window_frames=8,
    move_threshold=0.2,
    allowed_lag_frames=10,
    extra_frames_coefficient=0.0,
    later_start_probability=0.2,
    imitation_frames=8,
    imitate_failures=True,
)
PPO = PPOConfig(
    steps=32,
    context=0,
    epochs=3,
    minibatches=4,
    learning_rate=1e-3,
    gamma=0.98,
    value_clip=None,
    clip=0.2,
    entropy_coefficient=3e-3,
    average_over="own",
    gradient_norm=0.5,
    l2_coefficient=0.0,
)
NETWORK = NetworkConfig(convolutions=(), hidden=(64,), memory=0, gain=math.sqrt(2))
NOISE = {"max_steps": 100, "random_actions": 0.02}
ITERATIONS = 150


def training(environments):
    """Yields after every iteration of PPO."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    network = ActorCritic(NETWORK, environments.spaces)
    rollout = Rollout(environments, network, steps=PPO.steps, context=0, generator=torch.Generator().manual_seed(0))
    learner = Learner(network, PPO, Ranks(), np.random.default_rng(0))
    for iteration in range(ITERATIONS):
        rollout.collect(network)
        yield iteration
        learner.update(rollout, done=iteration / ITERATIONS)


def test_the_backward_algorithm_solves_a_chain_of_fifty_states():
    routes = [Route(chain_demonstration(), chain_play())]
    curriculum, balance = Curriculum(whole(50), window=8, threshold=0.2, decay=0.5), Balance(odds=0.1, actors=16)
    environments = BackwardEnvironments(
        lambda rng: make_play(chain_spec(), PlainView(**NOISE), rng),
        routes,
        curriculum,
        balance,
        CHAIN,
        actors=16,
        imitators=2,
        scale=RewardScale(),
        gamma=PPO.gamma,
        seeds=np.random.SeedSequence(0),
    )
    from_reset: list[bool] = []
    for iteration in training(environments):
        episodes = environments.episodes()
        curriculum.count(episodes)
        from_reset += [episode.score > 0 for episode in episodes if episode.leg == VIRTUAL]
        if iteration % 4 == 3:
            curriculum.move()
            if curriculum.at_start(0):
                balance.odds = 1.0
    assert np.mean(from_reset[-40:]) > 0.6


def test_plain_ppo_does_not():
    """The same learner, network and steps, every episode from reset, nothing to imitate."""
    environments = FromReset(16)
    for _ in training(environments):
        pass
    assert environments.reward == 0


class FromReset:
    """Plain episodes of the chain."""

    def __init__(self, actors: int) -> None:
        self._plays = [chain_play(seed, **NOISE) for seed in range(actors)]
        self.spaces, self.groups, self.reward = self._plays[0].spaces, [slice(0, actors)], 0.0
        self.first, self.temperature = np.ones(actors, bool), np.ones(actors, np.float32)
        self.observations = np.stack([play.observation for play in self._plays])

    def begin(self, group, actions):
        self._actions = actions

    def finish(self, group):
        count = len(self._plays)
        rewards, ends = np.zeros(count, np.float32), np.zeros(count, bool)
        for index, play in enumerate(self._plays):
            rewards[index], ends[index] = play.step(self._actions[index])
            if ends[index]:
                play.reset()
            self.observations[index] = play.observation
        self.first = ends.copy()
        self.reward += float(rewards.sum())
        return Transitions(rewards, ends, np.zeros(count, bool), np.ones(count, bool))
