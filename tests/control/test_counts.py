"""PPO with a bonus by counts: what is counted, when, by whom, and that resuming changes nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from goexplore.cells import make_cells  # noqa: E402
from goexplore.control import ControlConfig, ResetEnvironments, control, control_preset, resume_control  # noqa: E402
from goexplore.control._counts import Counts  # noqa: E402
from goexplore.envs import EnvSpec, make_env  # noqa: E402
from goexplore.errors import InputError  # noqa: E402
from goexplore.play import AtariView, PlainView, make_play  # noqa: E402
from tests.control.test_control import CHAIN, SMALL  # noqa: E402
from tests.robustification.chain import Chain, chain_spec  # noqa: E402
from tests.robustification.test_training import parameters, stopped_after, whole_state  # noqa: E402

COUNTING = replace(SMALL, cells="observation:0.5", bonus=1.0)


def test_the_bonus_is_one_over_the_root_of_the_episodes_so_far():
    counts = Counts()
    assert [counts.enter(b"a") for _ in range(4)] == pytest.approx([1, 2**-0.5, 3**-0.5, 0.5])
    assert len(counts) == 0
    counts.add([counts.take_new(), {b"a": 4, b"b": 1}])
    assert len(counts) == 2
    assert counts.enter(b"a") == pytest.approx(1 / 3)
    assert counts.enter(b"b") == pytest.approx(2**-0.5)


def test_counts_are_saved():
    counts, other = Counts(), Counts()
    counts.add([{b"a": 4, b"long key": 1}])
    other.restore(counts.save())
    assert len(other) == 2
    assert other.enter(b"a") == pytest.approx(5**-0.5)


def test_a_cell_pays_once_an_episode_and_the_first_one_pays_nothing():
    right = Chain(3).right
    environments = ResetEnvironments(
        lambda rng: make_play(chain_spec(3), PlainView(), rng),
        replace(COUNTING, bonus=2.0),
        actors=1,
        seeds=np.random.SeedSequence(0),
    )
    rewards = []
    # On, on, back to the start, on, on, to the goal: an end. And once more.
    for action in [right(0), right(1), (right(2) + 1) % 4, right(0), right(1), right(2)] * 2:
        environments.begin(0, np.array([action]))
        rewards.append(float(environments.finish(0).rewards[0]))
    second = 2 * 2**-0.5
    assert rewards == pytest.approx([2, 2, 0, 0, 0, 1, second, second, 0, 0, 0, 1])
    # The start was entered three times: a third episode has begun. A state at which the episode ends is no cell.
    assert sorted(environments.new_counts().values()) == [2, 2, 3]
    assert environments.new_counts() == {}


def test_a_run_with_counts_resumes_exactly(tmp_path, monkeypatch):
    def train(out):
        return control(CHAIN, out=out, config=COUNTING, ranks=1, progress=False, env_kwargs={"length": 4}, steps=1_500)

    whole = train(tmp_path / "whole")
    assert whole.cells == 4
    stopped_after(5, monkeypatch)
    assert train(tmp_path / "part").iterations == 5
    monkeypatch.undo()
    resumed = resume_control(tmp_path / "part", trust=True, progress=False)
    assert resumed.resume_command.startswith("goexplore control count --resume")
    np.testing.assert_array_equal(parameters(tmp_path / "part"), parameters(tmp_path / "whole"))
    one, other = whole_state(tmp_path / "whole"), whole_state(tmp_path / "part")
    for name, value in one.items():
        np.testing.assert_array_equal(other[name], value, err_msg=name)


def test_ranks_and_workers_count_together(tmp_path):
    for name, processes in (("ranks", {"ranks": 2}), ("workers", {"ranks": 1, "workers": 2})):
        result = control(
            CHAIN,
            out=tmp_path / name,
            config=COUNTING,
            progress=False,
            env_kwargs={"length": 4},
            steps=600,
            **processes,
        )
        assert result.cells == 4


def test_the_bonus_leads_to_what_plain_ppo_does_not_find(tmp_path):
    found = {}
    for method, bonus in (("ppo", 0.0), ("count", 1.0)):
        result = control(
            CHAIN,
            out=tmp_path / method,
            config=replace(COUNTING, bonus=bonus, steps=16_000),
            ranks=1,
            progress=False,
            env_kwargs={"length": 9},
        )
        found[method] = result.cells
    assert found["count"] == 9
    assert found["ppo"] < 7


def test_what_is_counted_by_default():
    """The cells of a search with the preset of that name."""
    assert control_preset("paper", "goexplore/FetchShelves-v0").cells == "shelves"
    assert control_preset("laptop", "goexplore/FetchShelves-v0").cells == "shelves:lift"
    assert control_preset("laptop", "goexplore/FetchShelves-v0").bonus == 0
    assert control_preset("laptop", "goexplore/FetchShelves-v0", method="count").bonus == 1
    assert control_preset("laptop", "goexplore/KeyDoorMaze-v0").cells is None
    with pytest.raises(InputError, match="no default cells for goexplore/KeyDoorMaze-v0: say what to count"):
        control_preset("laptop", "goexplore/KeyDoorMaze-v0", method="count")
    assert control_preset("laptop", "goexplore/FetchShelves-v0", cells="domain").cells == "shelves:lift"
    with pytest.raises(InputError, match="cells that stay as they are"):
        ControlConfig(cells="dynamic", bonus=1.0)
    with pytest.raises(InputError, match="expected at least 0, and cells to count"):
        ControlConfig(bonus=1.0)


@pytest.mark.atari
@pytest.mark.parametrize(
    ("game", "cells"), [("montezuma_revenge", "montezuma"), ("pitfall", "pitfall"), ("freeway", "downscale:11x8x8")]
)
def test_a_policys_game_is_in_the_cells_that_a_search_sees(game, cells):
    screen = make_cells(cells).atari_screen
    env, ours, theirs = make_env(EnvSpec(game, {"observation": screen})), make_cells(cells), make_cells(cells)
    play = make_play(EnvSpec(game), AtariView(sticky=0.0), np.random.default_rng(0))
    for _ in range(2):  # the second reset is a restore, after which the emulator's screen is stale
        ours.reset()
        theirs.reset()
        play.reset(0)
        assert play.cell_key(ours) == theirs.key(env.reset(), env)
        for action in env.action_space.sample_repeating(np.random.default_rng(1), 60, 0.9).tolist():
            play.step(action)
            assert play.cell_key(ours) == theirs.key(env.step(action)[0], env)
    play.restore(play.snapshot())
    with pytest.raises(InputError, match="stale right after a restore"):
        play.cell_key(ours)


def test_the_robots_cells_are_counted(tmp_path):
    pytest.importorskip("mujoco")
    result = control(
        "goexplore/FetchShelves-v0",
        "count",
        out=tmp_path / "run",
        ranks=1,
        steps=1_500,
        progress=False,
        settings={"actors": 4, "ppo.steps": 16, "ppo.minibatches": 2, "view.max_steps": 80},
    )
    assert result.cells
    assert result.cells > 1


def test_cells_that_a_file_names_are_not_imported_without_trust(tmp_path):
    control(
        "goexplore/KeyDoorMaze-v0",
        out=tmp_path / "run",
        config=replace(COUNTING, cells="observation"),
        ranks=1,
        steps=200,
        progress=False,
    )
    config = tmp_path / "run" / "config.json"
    config.write_text(config.read_text().replace('"observation"', '"nowhere.at_all:cells"'))
    with pytest.raises(InputError, match="code that going on would run"):
        resume_control(tmp_path / "run", steps=400, progress=False)
