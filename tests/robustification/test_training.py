"""Training runs: they resume exactly, keep what was good, and leave policies that others can load."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from goexplore.errors import InputError  # noqa: E402
from goexplore.learn import DivergedError, NetworkConfig, PPOConfig, Ranks  # noqa: E402
from goexplore.play import PlainView  # noqa: E402
from goexplore.policies import Policy  # noqa: E402
from goexplore.robustification import (  # noqa: E402
    PRESETS,
    BackwardConfig,
    RobustifyConfig,
    Training,
    resume_robustify,
    robustify,
)
from tests.robustification.chain import chain_demonstration  # noqa: E402

SMALL = RobustifyConfig(
    view=PlainView(max_steps=60, random_actions=0.05),
    network=NetworkConfig(convolutions=(), hidden=(32,), memory=8, gain=math.sqrt(2)),
    ppo=PPOConfig(steps=16, context=8, epochs=2, minibatches=2, learning_rate=1e-3, average_over="own"),
    backward=BackwardConfig(window_frames=6, allowed_lag_frames=5, update_steps=32, success_decay=0.5, hot_frames=3),
    actors=6,
    imitators=2,
    steps=1_500,
)


@pytest.fixture
def demonstrations(tmp_path):
    folder = tmp_path / "demos"
    folder.mkdir()
    chain_demonstration(12).save(folder / "demo-000.demo.npz")
    chain_demonstration(12).save(folder / "demo-001.demo.npz")
    return folder


def parameters(run) -> np.ndarray:
    network = Policy.load(run, trust=True).network
    return torch.cat([each.detach().flatten() for each in network.parameters()]).numpy()


def train(demonstrations, out, **settings):
    return robustify(demonstrations, out=out, config=SMALL, trust=True, progress=False, **settings)


@pytest.mark.parametrize("ranks", [1, 2])
def test_stopping_and_resuming_changes_nothing(demonstrations, tmp_path, ranks):
    whole = train(demonstrations, tmp_path / "whole", ranks=ranks)
    assert whole.stopped_by == "steps"
    assert whole.steps >= 1_500
    part = train(demonstrations, tmp_path / "part", ranks=ranks, minutes=1e-6)
    assert part.stopped_by == "minutes"
    assert part.iterations == 1
    resumed = resume_robustify(tmp_path / "part", trust=True, progress=False)
    assert resumed.steps == whole.steps
    np.testing.assert_array_equal(parameters(tmp_path / "part"), parameters(tmp_path / "whole"))
    lines = [json.loads(line) for line in (tmp_path / "part" / "metrics.jsonl").read_text().splitlines()]
    assert [line["iteration"] for line in lines] == list(range(1, resumed.iterations + 1))


def test_a_kill_between_the_writes_of_two_ranks_loses_one_checkpoint_at_most(demonstrations, tmp_path):
    train(demonstrations, tmp_path / "whole", ranks=2)
    train(demonstrations, tmp_path / "run", ranks=2, checkpoint_seconds=0.0)
    newest = sorted((tmp_path / "run" / "checkpoints" / "rank-1").glob("*.npz"))[-1]
    newest.unlink()
    resume_robustify(tmp_path / "run", trust=True, progress=False)
    np.testing.assert_array_equal(parameters(tmp_path / "run"), parameters(tmp_path / "whole"))


def test_the_paper_s_counts():
    """One iteration is 128 steps of 272 actors: 139,264 raw frames on Atari."""
    paper = PRESETS["paper"]
    assert paper.ppo.steps * (paper.actors + paper.imitators) * 4 == 139_264


def test_every_value_of_the_paper_s_table():
    """Extended Data Table 1a, robustification on Atari, and 1b."""
    paper = PRESETS["paper"]
    ppo, backward, view = paper.ppo, paper.backward, paper.view
    assert (ppo.gamma, ppo.gae_lambda, paper.actors, paper.imitators, ppo.steps) == (0.999, 0.95, 256, 16, 128)
    assert (ppo.clip, ppo.epochs, ppo.value_coefficient, ppo.entropy_coefficient) == (0.1, 4, 0.5, 1e-5)
    assert (ppo.l2_coefficient, ppo.imitation_coefficient) == (1e-7, 0.1)
    assert (ppo.imitation_entropy_coefficient, ppo.imitation_value_coefficient) == (1e-5, 0.01)
    assert (backward.allowed_lag_frames, backward.extra_frames_coefficient, backward.move_threshold) == (50, 7, 0.1)
    assert (backward.imitation_from_start, backward.window_frames) == (0.3, 160)
    assert (backward.virtual, backward.virtual_odds, backward.reward_target) == (True, None, 10)
    assert ppo.context == ppo.steps // 2
    assert (view.sticky, view.max_frames, view.max_no_ops, view.stack) == (0.25, 400_000, 30, 4)


@pytest.mark.atari
@pytest.mark.slow
def test_the_paper_preset_runs_one_iteration_with_few_actors():
    from tests.robustification.test_backward import atari_demonstration

    found = replace(atari_demonstration("asterix", steps=60, seed=1))
    assert found.score > 0
    training = Training([found], replace(PRESETS["paper"], actors=2, imitators=1), seed=0, ranks=Ranks())
    assert sum(each.numel() for each in training.network.parameters()) > 9_000_000
    iteration = training.iterate(done=0.0)
    assert iteration.steps == 192 * 3, "the first batch has 1.5 T steps"
    assert all(math.isfinite(value) for value in iteration.terms.values())


def test_a_diverging_run_keeps_its_last_good_checkpoint(demonstrations, tmp_path, monkeypatch):
    train(demonstrations, tmp_path / "run", ranks=1, minutes=1e-6)
    before = parameters(tmp_path / "run")
    real = Training.iterate

    def poisoned(self, *, done):
        if self.iteration == 3:
            with torch.no_grad():
                self.network.value_head.bias.fill_(float("nan"))
        return real(self, done=done)

    monkeypatch.setattr(Training, "iterate", poisoned)
    with pytest.raises(DivergedError, match="training diverged"):
        resume_robustify(tmp_path / "run", trust=True, progress=False, checkpoint_seconds=1e6)
    np.testing.assert_array_equal(parameters(tmp_path / "run"), before)
    monkeypatch.undo()
    assert resume_robustify(tmp_path / "run", trust=True, progress=False).steps >= 1_500


def test_a_policy_plays_elsewhere_in_a_few_lines(demonstrations, tmp_path):
    train(demonstrations, tmp_path / "run", ranks=1)
    policy = Policy.load(tmp_path / "run", trust=True)
    play, player = policy.make_play(seed=0), policy.player(seed=0)
    play.reset()
    over, steps = False, 0
    while not over:
        _, over = play.step(player.act(play.observation))
        steps += 1
    assert 1 <= steps <= 60
    assert policy.about["steps"] >= 1_500
    with pytest.raises(InputError, match="code that using it would run"):
        Policy.load(tmp_path / "run")


def test_damaged_policies_are_refused(demonstrations, tmp_path):
    train(demonstrations, tmp_path / "run", ranks=1)
    file = sorted((tmp_path / "run" / "policies").glob("*.safetensors"))[-1]
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(InputError, match="is damaged"):
        Policy.load(file, trust=True)
    with pytest.raises(InputError, match="there is no policy"):
        Policy.load(tmp_path / "nowhere")


def test_more_ranks_than_before_are_refused(demonstrations, tmp_path):
    train(demonstrations, tmp_path / "run", ranks=1, minutes=1e-6)
    with pytest.raises(InputError, match="trained with fewer ranks"):
        resume_robustify(tmp_path / "run", ranks=2, trust=True, progress=False)
