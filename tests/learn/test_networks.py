"""Networks: sizes, memory, what stands beside the picture, the first weights; and distributions over actions."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from goexplore.errors import InputError  # noqa: E402
from goexplore.learn import GRU, ActorCritic, Categorical, DiagonalGaussian, NetworkConfig, Spaces  # noqa: E402

NUMBERS = Spaces(observation_shape=(5,), observation_dtype="float32", action_shape=(2,))


def test_memory_is_cleared_before_the_first_observation_and_only_there():
    torch.manual_seed(0)
    memory = GRU(3, 4)
    inputs, state = torch.randn(5, 2, 3), torch.randn(2, 4)
    first = torch.zeros(5, 2, dtype=torch.bool)
    first[3, 0] = True
    states, last = memory(inputs, state, first)
    anew, _ = memory(inputs[3:, :1], torch.zeros(1, 4), torch.zeros(2, 1, dtype=torch.bool))
    torch.testing.assert_close(states[3:, 0], anew[:, 0])
    whole, _ = memory(inputs[:, 1:], state[1:], torch.zeros(5, 1, dtype=torch.bool))
    torch.testing.assert_close(states[:, 1], whole[:, 0])
    torch.testing.assert_close(last, states[-1])


def test_the_reset_gate_acts_before_the_product():
    """h' = u h + (1 - u) tanh(W x + U (r * h)), written out."""
    torch.manual_seed(1)
    memory = GRU(3, 4)
    x, h = torch.randn(1, 1, 3), torch.randn(1, 4)
    states, _ = memory(x, h, torch.zeros(1, 1, dtype=torch.bool))
    weight, bias = memory.from_input.weight, memory.from_input.bias
    both = memory.gates_from_state.weight
    update = torch.sigmoid(weight[:4] @ x[0, 0] + bias[:4] + both[:4] @ h[0])
    reset = torch.sigmoid(weight[4:8] @ x[0, 0] + bias[4:8] + both[4:] @ h[0])
    candidate = torch.tanh(weight[8:] @ x[0, 0] + bias[8:] + memory.candidate_from_state.weight @ (reset * h[0]))
    torch.testing.assert_close(states[0, 0], update * h[0] + (1 - update) * candidate)


def test_the_paper_s_network_has_its_number_of_parameters():
    network = ActorCritic(NetworkConfig(), Spaces(observation_shape=(80, 105, 12), choices=18))
    assert sum(parameter.numel() for parameter in network.parameters()) == 9_731_219


def test_a_goal_stands_beside_the_picture():
    """Policy-based Go-Explore's networks: as large as with the goal as further inputs of the fully connected layer."""
    picture = (80, 105, 12)
    for goal, parameters in ((51, 9_772_019), (275, 9_951_219)):
        spaces = Spaces(observation_shape=(80 * 105 * 12 + goal,), choices=18, picture_shape=picture)
        network = ActorCritic(NetworkConfig(), spaces)
        assert sum(parameter.numel() for parameter in network.parameters()) == parameters


def test_what_is_told_may_count_as_much_as_what_is_seen_at_first():
    spaces = Spaces(observation_shape=(100 + 5,), choices=3, told=5)
    for told_gain, norms in ((None, None), (0.5, (2.0, 0.5))):
        config = NetworkConfig(convolutions=(), hidden=(8, 8), memory=0, gain=2.0, told_gain=told_gain)
        first, second = (
            each.weight for each in ActorCritic(config, spaces).towers[0].dense if isinstance(each, torch.nn.Linear)
        )
        assert torch.allclose(second.norm(dim=1), torch.tensor(2.0))
        if norms is None:
            assert torch.allclose(first.norm(dim=1), torch.tensor(2.0))
        else:
            for part, norm in zip((first[:, :-5], first[:, -5:]), norms, strict=True):
                assert torch.allclose(part.norm(dim=1), torch.tensor(norm))


def test_with_an_empty_goal_the_picture_is_seen_as_it_is_alone():
    config = NetworkConfig(convolutions=((4, 3, 2),), hidden=(8,), memory=0)
    alone = ActorCritic(config, Spaces(observation_shape=(7, 9, 2), choices=3))
    beside = ActorCritic(config, Spaces(observation_shape=(7 * 9 * 2 + 5,), choices=3, picture_shape=(7, 9, 2)))
    parameters = alone.state_dict()
    wide = beside.state_dict()["towers.0.dense.0.weight"].clone()
    wide[:, :-5] = parameters["towers.0.dense.0.weight"]
    beside.load_state_dict(parameters | {"towers.0.dense.0.weight": wide})
    pictures = torch.randint(0, 256, (3, 7, 9, 2), dtype=torch.uint8)
    first, state = torch.ones(3, dtype=torch.bool), torch.zeros(3, 0)
    goals = torch.zeros(3, 5, dtype=torch.uint8)

    def logits(goals):
        seen = torch.cat([pictures.flatten(1), goals], dim=1)
        return beside.act(seen, state, first).policy.logits

    torch.testing.assert_close(logits(goals), alone.act(pictures, state, first).policy.logits)
    goals[:, 2] = 255
    assert not torch.allclose(logits(goals), alone.act(pictures, state, first).policy.logits)


@pytest.mark.parametrize("beside", [0, 3])
def test_a_centred_network_sees_what_differs_from_the_mean_picture(beside):
    """A background that all pictures share makes no difference, beside a goal or alone, and is kept with the rest."""
    numbers = 36 * 36 * 2
    spaces = (
        Spaces((numbers + beside,), choices=4, picture_shape=(36, 36, 2)) if beside else Spaces((36, 36, 2), choices=4)
    )
    config = NetworkConfig(convolutions=((8, 8, 4), (8, 4, 2)), hidden=(16,), memory=0, policy_gain=1.0, centred=True)
    torch.manual_seed(0)
    dark = torch.randint(0, 50, (6, *spaces.observation_shape), dtype=torch.uint8)
    bright = dark.clone()
    bright.view(6, -1)[:, :numbers] += torch.randint(0, 200, (numbers,), dtype=torch.uint8)

    def logits(network, seen):
        return network.act(seen, network.initial_state(6), torch.ones(6, dtype=torch.bool)).policy.logits

    network = ActorCritic(config, spaces)
    not_told = logits(network, bright)
    network.centre_on(dark)
    seen_dark = logits(network, dark)
    network.centre_on(bright)
    torch.testing.assert_close(logits(network, bright), seen_dark)
    assert not torch.allclose(not_told, seen_dark)
    other = ActorCritic(config, spaces)
    other.load_state_dict(network.state_dict())
    torch.testing.assert_close(logits(other, bright), seen_dark)


def test_a_centred_network_sees_numbers_as_standard_scores():
    """Units and offsets make no difference, numbers that never change or run away do no harm."""
    config = NetworkConfig(convolutions=(), hidden=(16,), memory=0, policy_gain=1.0, centred=True)
    seen = torch.randn(50, 5)
    seen[:, 4] = 3.0
    other_units = seen * torch.tensor([1.0, 1000.0, 0.1, 5.0, 1.0]) + torch.tensor([0.0, 7.0, -3.0, 100.0, 2.0])

    def means(network, observations):
        state, first = network.initial_state(len(observations)), torch.ones(len(observations), dtype=torch.bool)
        return network.act(observations, state, first).policy.mean

    network = ActorCritic(config, NUMBERS)
    network.centre_on(seen)
    expected = means(network, seen)
    far = means(network, torch.full((1, 5), 1e6))
    torch.testing.assert_close(far, means(network, torch.full((1, 5), 1e9)))
    network.centre_on(other_units)
    torch.testing.assert_close(means(network, other_units), expected, rtol=1e-3, atol=1e-3)
    other = ActorCritic(config, NUMBERS)
    other.load_state_dict(network.state_dict())
    torch.testing.assert_close(means(other, other_units), means(network, other_units))


def test_actions_begin_with_the_deviation_that_is_asked_for_and_keep_the_least_one():
    config = NetworkConfig(convolutions=(), hidden=(16,), memory=0, deviation=0.3, least_deviation=0.1)
    network = ActorCritic(config, NUMBERS)

    def deviations():
        output = network.act(torch.randn(3, 5), network.initial_state(3), torch.ones(3, dtype=torch.bool))
        return output.policy.log_std.exp()

    torch.testing.assert_close(deviations(), torch.full((3, 2), 0.3), rtol=0.05, atol=0.0)
    with torch.no_grad():
        network.policy_head.bias[2:] = -50.0
    torch.testing.assert_close(deviations(), torch.full((3, 2), 0.1))
    with pytest.raises(InputError, match=r"deviation 0.1, least_deviation 0.1: expected a smaller second"):
        NetworkConfig(deviation=0.1, least_deviation=0.1)


def test_robotics_towers_are_separate():
    config = NetworkConfig(convolutions=(), hidden=(256, 128), memory=128, separate_towers=True)
    network = ActorCritic(config, Spaces(observation_shape=(604,), observation_dtype="float32", action_shape=(9,)))
    assert network.state_size == 256
    output = network.act(torch.randn(2, 604), network.initial_state(2), torch.ones(2, dtype=torch.bool))
    assert output.policy.mean.shape == (2, 9)
    output.value.sum().backward()
    assert all(parameter.grad is None for parameter in network.towers[0].parameters())


def test_distributions():
    logits = torch.tensor([[0.0, math.log(3.0)]])
    policy = Categorical(logits)
    assert policy.log_prob(torch.tensor([1])).exp().item() == pytest.approx(0.75)
    assert policy.at_temperature(torch.tensor([2.0])).log_prob(torch.tensor([1])).exp().item() == pytest.approx(
        math.sqrt(3) / (1 + math.sqrt(3))
    )
    assert policy.mode().item() == 1
    assert policy.entropy().item() == pytest.approx(-(0.25 * math.log(0.25) + 0.75 * math.log(0.75)))
    normal = DiagonalGaussian(torch.zeros(1, 2), torch.full((1, 2), math.log(2.0)))
    theirs = torch.distributions.Normal(torch.zeros(2), 2.0)
    point = torch.tensor([[0.3, -1.0]])
    torch.testing.assert_close(normal.log_prob(point), theirs.log_prob(point).sum(-1))
    torch.testing.assert_close(normal.entropy(), theirs.entropy().sum()[None])
