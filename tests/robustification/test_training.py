"""Training runs: they resume exactly, keep what was good, and leave policies that others can load."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import replace
from pathlib import Path

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
    robustify_preset,
)
from goexplore.runs import read_newest_checkpoint, write_checkpoint  # noqa: E402
from goexplore.training._session import Session  # noqa: E402
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


def whole_state(run) -> dict[str, np.ndarray]:
    """Everything in the newest checkpoint of the first rank, but for how long it took."""
    saved = read_newest_checkpoint(run / "checkpoints" / "rank-0", warn=print)
    return {name: value for name, value in saved.items() if name != "session.seconds"}


def stopped_after(iterations: int, monkeypatch) -> None:
    """Makes a session end early, as if its minutes were over."""
    real = Session._spent
    monkeypatch.setattr(
        Session,
        "_spent",
        lambda self, stop, last: "minutes" if self._training.iteration == iterations else real(self, stop, last),
    )


def test_stopping_and_resuming_changes_nothing(demonstrations, tmp_path, monkeypatch):
    """After windows have moved, in the middle of episodes: parameters, curriculum, balance and generators."""
    whole = train(demonstrations, tmp_path / "whole", ranks=1)
    assert whole.stopped_by == "steps"
    assert whole.steps >= 1_500
    stopped_after(7, monkeypatch)
    part = train(demonstrations, tmp_path / "part", ranks=1)
    assert (part.stopped_by, part.iterations) == ("minutes", 7)
    monkeypatch.undo()
    resumed = resume_robustify(tmp_path / "part", trust=True, progress=False)
    assert resumed.steps == whole.steps
    one, other = whole_state(tmp_path / "whole"), whole_state(tmp_path / "part")
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(other[name], value, err_msg=name)
    lines = [json.loads(line) for line in (tmp_path / "part" / "metrics.jsonl").read_text().splitlines()]
    assert [line["iteration"] for line in lines] == list(range(1, resumed.iterations + 1))


def test_two_ranks_resume_too(demonstrations, tmp_path):
    whole = train(demonstrations, tmp_path / "whole", ranks=2)
    part = train(demonstrations, tmp_path / "part", ranks=2, minutes=1e-6)
    assert part.iterations == 1
    resumed = resume_robustify(tmp_path / "part", trust=True, progress=False)
    assert resumed.steps == whole.steps
    np.testing.assert_array_equal(parameters(tmp_path / "part"), parameters(tmp_path / "whole"))


@pytest.mark.atari
def test_atari_resumes_exactly(tmp_path, monkeypatch):
    from tests.robustification.test_backward import atari_demonstration

    folder = tmp_path / "demos"
    folder.mkdir()
    atari_demonstration("asterix", steps=60, seed=1).save(folder / "demo-000.demo.npz")
    config = replace(
        PRESETS["laptop"],
        view=replace(PRESETS["laptop"].view, width=16, height=16),
        network=NetworkConfig(convolutions=((4, 4, 4),), hidden=(8,), memory=0),
        actors=4,
        imitators=1,
        steps=1_500,
    )
    settings = {"config": config, "ranks": 1, "progress": False}
    robustify(folder, out=tmp_path / "whole", **settings)
    stopped_after(3, monkeypatch)
    robustify(folder, out=tmp_path / "part", **settings)
    monkeypatch.undo()
    resume_robustify(tmp_path / "part", progress=False)
    one, other = whole_state(tmp_path / "whole"), whole_state(tmp_path / "part")
    for name, value in one.items():
        np.testing.assert_array_equal(other[name], value, err_msg=name)


def test_a_checkpoint_from_a_stranger_cannot_run_code(demonstrations, tmp_path):
    """Snapshots of environments that are copied by pickling never go into checkpoints, and are never read from one."""
    train(demonstrations, tmp_path / "run", ranks=1, minutes=1e-6)
    saved = read_newest_checkpoint(tmp_path / "run" / "checkpoints" / "rank-0", warn=print)
    assert saved["environments.games.bytes"].size == 0
    values = json.loads(saved["environments.values"].tobytes())
    assert all(actor["taken"] is not None for actor in values["actors"])

    class Bomb:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "exploded",))

    games = [(0).to_bytes(8, "little") + pickle.dumps(Bomb())] * SMALL.actors
    saved |= {
        "environments.games.bytes": np.frombuffer(b"".join(games), np.uint8),
        "environments.games.lengths": np.array([len(game) for game in games]),
    }
    write_checkpoint(tmp_path / "run" / "checkpoints" / "rank-0", 99, saved)
    resume_robustify(tmp_path / "run", trust=True, progress=False)
    assert not (tmp_path / "exploded").exists()


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


def test_every_value_of_the_paper_s_table_for_the_robot():
    """Extended Data Table 1a, robustification on robotics; its network has towers of 256, 128 and a GRU of 128."""
    paper = robustify_preset("paper", "goexplore/FetchShelves-v0")
    ppo, backward, network = paper.ppo, paper.backward, paper.network
    assert (ppo.gamma, ppo.gae_lambda, paper.actors, paper.imitators, ppo.steps) == (0.99, 0.95, 960, 64, 128)
    assert (ppo.clip, ppo.epochs, ppo.value_coefficient, ppo.entropy_coefficient) == (0.1, 4, 0.5, 1e-5)
    assert (ppo.imitation_coefficient, ppo.imitation_value_coefficient) == (0.1, 0.1)
    assert (backward.allowed_lag_frames, backward.extra_frames_coefficient, backward.move_threshold) == (10, 4, 0.1)
    assert (backward.imitation_from_start, backward.window_frames, backward.virtual) == (0, 40, False)
    assert (network.separate_towers, network.hidden, network.memory) == (True, (256, 128), 128)
    assert (paper.stop_success, paper.stop_iterations) == (0.985, 150)
    # 150 iterations are 19,660,800 frames (Methods, "Evaluation").
    assert paper.stop_iterations * ppo.steps * (paper.actors + paper.imitators) == 19_660_800


def test_training_ends_when_it_has_succeeded_for_long_enough(demonstrations, tmp_path):
    lenient = replace(SMALL, stop_success=0.0, stop_iterations=3, steps=200_000)
    lenient = replace(lenient, backward=replace(lenient.backward, virtual=False, move_threshold=0.0))
    result = robustify(demonstrations, out=tmp_path / "run", config=lenient, trust=True, progress=False, ranks=1)
    assert result.stopped_by == "success"
    assert result.iterations < 200
    never = replace(lenient, stop_success=None, steps=1_500)
    result = robustify(demonstrations, out=tmp_path / "other", config=never, trust=True, progress=False, ranks=1)
    assert result.stopped_by == "steps"


@pytest.mark.atari
def test_the_paper_preset_runs_one_iteration_with_few_actors():
    from tests.robustification.test_backward import atari_demonstration

    found = replace(atari_demonstration("asterix", steps=60, seed=1))
    assert found.score > 0
    training = Training([found], replace(PRESETS["paper"], actors=2, imitators=1), seed=0, ranks=Ranks())
    assert sum(each.numel() for each in training.network.parameters()) > 9_000_000
    numbers = training.iterate(done=0.0).numbers
    assert training.steps == 192 * 3, "the first batch has 1.5 T steps"
    assert all(math.isfinite(numbers[name]) for name in ("policy_loss", "value_loss", "imitation_loss", "entropy"))


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


def test_what_cannot_be_trained_leaves_nothing_behind(demonstrations, tmp_path):
    for ranks in (1, 2):
        wrong = replace(chain_demonstration(12), rewards=np.eye(12)[3])
        wrong.save(demonstrations / "demo-001.demo.npz")
        with pytest.raises(InputError, match="does not fit this environment"):
            train(demonstrations, tmp_path / "run", ranks=ranks)
        assert not (tmp_path / "run").exists()


def test_what_was_trained_is_kept_whatever_goes_wrong_later(demonstrations, tmp_path, monkeypatch):
    real = Training.iterate

    def fails_later(self, *, done):
        if self.iteration == 3:
            raise InputError("something went wrong")
        return real(self, done=done)

    monkeypatch.setattr(Training, "iterate", fails_later)
    with pytest.raises(InputError, match="something went wrong"):
        train(demonstrations, tmp_path / "run", ranks=1, checkpoint_seconds=0.0)
    monkeypatch.undo()
    assert resume_robustify(tmp_path / "run", trust=True, progress=False).steps >= 1_500


def test_a_training_can_begin_with_what_another_one_learnt(demonstrations, tmp_path, monkeypatch):
    known = train(demonstrations, tmp_path / "known", ranks=1, steps=300)
    policy = Policy.load(known.run, trust=True)
    made = Training([chain_demonstration(12)], SMALL, seed=1, ranks=Ranks(), first=policy)
    for name, value in policy.network.state_dict().items():
        assert torch.equal(made.network.state_dict()[name], value)
    stopped_after(1, monkeypatch)
    begun = train(demonstrations, tmp_path / "begun", ranks=1, seed=1, steps=300, begin_with=known.run)
    monkeypatch.undo()
    went_on = resume_robustify(begun.run, steps=300, trust=True, progress=False)
    at_once = train(demonstrations, tmp_path / "at once", ranks=1, seed=1, steps=300, begin_with=known.run)
    np.testing.assert_array_equal(parameters(went_on.run), parameters(at_once.run))


def test_a_policy_that_does_not_fit_is_refused(demonstrations, tmp_path):
    other = replace(SMALL, network=replace(SMALL.network, hidden=(16,)))
    known = robustify(
        demonstrations, out=tmp_path / "known", config=other, steps=200, ranks=1, trust=True, progress=False
    )
    with pytest.raises(InputError, match="another network"):
        train(demonstrations, tmp_path / "out", ranks=1, begin_with=known.run)
    assert not (tmp_path / "out").exists()
    policy = Policy.load(known.run, trust=True)
    policy.env = replace(policy.env, id="somewhere:Else")
    with pytest.raises(InputError, match=r"another environment: somewhere:Else"):
        Training([chain_demonstration(12)], other, seed=0, ranks=Ranks(), first=policy)
