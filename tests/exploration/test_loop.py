from __future__ import annotations

import numpy as np
import pytest

from goexplore.archive import START, Archive, Trajectory
from goexplore.errors import InputError
from goexplore.exploration import Candidate, End, ExplorationConfig, ExplorationLoop, RolloutResult, preset_config


def result(*, known=(), candidates=(), end=None, actions=(), steps=10) -> RolloutResult:
    return RolloutResult(
        steps=steps,
        return_steps=0,
        known=np.array(known, np.int64).reshape(-1, 2),
        candidates=list(candidates),
        end=end,
        actions=np.array(actions, np.uint8),
    )


class Always:
    """Selects one row."""

    def __init__(self, row: int) -> None:
        self.row = row

    def weights(self, archive):
        return np.eye(len(archive))[self.row]


def make_loop(**settings) -> ExplorationLoop:
    archive = Archive((), np.uint8)
    archive.add(b"start", score=0.0, length=0, trajectory=START, snapshot=b"s", iteration=0)
    return ExplorationLoop(archive, config=ExplorationConfig(**{"batch_size": 2} | settings), frames_per_step=4)


def test_tasks_keep_what_was_selected_when_a_batch_improves_the_cell():
    """The incident behind it: extending a cell that the same batch had just replaced fabricates scores."""
    loop = make_loop()
    loop.ask()
    loop.tell([result(candidates=[Candidate(b"a", 1.0, 3, b"old")], actions=[1, 1, 1]), result()])
    loop._selector = Always(1)
    tasks = loop.ask()
    assert [(task.score, task.length, task.snapshot) for task in tasks] == [(1.0, 3, b"old")] * 2
    better = Candidate(b"a", 9.0, 5, b"better")
    onward = Candidate(b"b", 2.0, 4, b"onward")
    loop.tell([result(candidates=[better], actions=[2] * 5), result(candidates=[onward], actions=[3] * 4)])
    archive = loop.archive
    row = archive.row_of(b"b")
    assert archive.table["score"][row] == 2.0
    assert archive.table["length"][row] == 7
    assert archive.forest.actions(archive.trajectory(row)).tolist() == [1, 1, 1, 3, 3, 3, 3]
    assert archive.forest.actions(archive.trajectory(1)).tolist() == [1, 1, 1, 2, 2, 2, 2, 2]


def test_results_merge_in_task_order():
    loop = make_loop()
    loop.ask()
    same = [Candidate(b"a", 1.0, 3, name) for name in (b"first", b"second")]
    loop.tell([result(candidates=[one], actions=[0, 0, 0]) for one in same])
    assert loop.archive.snapshots[1] == b"first"


def test_counters_move_as_the_paper_says():
    loop = make_loop()
    loop.ask()
    found = [Candidate(b"a", 0.0, 1, b"", steps=6)]
    loop.tell([result(candidates=found, known=[(0, 4)], actions=[1]), result(known=[(0, 10)])])
    table = loop.archive.table
    assert table["chosen"].tolist() == [2, 0]
    assert table["seen"].tolist() == [2, 1], "the start cell counts once a rollout, other cells once each"
    assert table["steps"].tolist() == [14, 6]
    assert (loop.steps, loop.frames, loop.iteration) == (20, 80, 1)


def test_counter_reset_takes_effect_after_the_batch():
    loop = make_loop(reset_counters_on_improvement=True)
    loop.ask()
    loop.tell([result(candidates=[Candidate(b"a", 0.0, 1, b"", steps=6)], actions=[1]), result(known=[(0, 10)])])
    assert loop.archive.table["seen"].tolist() == [2, 0]
    assert loop.archive.table["steps"].tolist() == [10, 0]


def test_news_are_what_changed():
    loop = make_loop()
    loop.ask()
    loop.tell([result(candidates=[Candidate(b"a", 0.0, 2, b"")], actions=[1, 1]), result()])
    loop.ask()
    loop.tell(
        [
            result(candidates=[Candidate(b"a", 5.0, 1, b""), Candidate(b"b", 5.0, 2, b"")], actions=[1, 1]),
            result(end=End(7.0, 3, b""), actions=[1, 1, 1]),
        ]
    )
    news = loop.news()
    assert news.new_keys == [b"b"]
    assert news.rows.tolist() == [1, 2]
    assert news.scores.tolist() == [5.0, 5.0]
    assert news.end == (7.0, 3)
    assert loop.everything().new_keys == [b"start", b"a", b"b"]


def test_batches_in_flight_survive_saving_and_collection():
    loop = make_loop(pipelined=True)
    loop.ask()
    loop.tell([result(candidates=[Candidate(b"a", 1.0, 3, b"snap")], actions=[1, 2, 3]), result()])
    loop._selector = Always(1)
    tasks = loop.ask()
    copy = make_loop()
    copy.restore(loop.save())
    assert copy.in_flight == [tasks]
    for one in (loop, copy):
        one.archive.forest.add(START, np.zeros(5, np.uint8))
        one._collect()
        one.tell([result(candidates=[Candidate(b"b", 2.0, 1, b"")], actions=[9]), result()])
        assert one.archive.forest.actions(one.archive.trajectory(2)).tolist() == [1, 2, 3, 9]
    assert copy.archive.digest() == loop.archive.digest()


def test_snapshots_that_must_not_be_saved_become_replays():
    loop = make_loop()
    loop.ask()
    loop.tell([result(candidates=[Candidate(b"a", 1.0, 3, b"snap")], actions=[1, 2, 3]), result()])
    copy = make_loop()
    copy.restore(loop.save(with_snapshots=False))
    copy._selector = Always(1)
    task = copy.ask()[0]
    assert task.snapshot is None
    assert task.actions.tolist() == [1, 2, 3]
    refill = result()
    refill.start_snapshot = b"again"
    copy.tell([refill, result()])
    assert copy.archive.snapshots[1] == b"again"


def test_a_selector_with_the_wrong_shape_is_explained():
    loop = make_loop(selector=type("Bad", (), {"weights": lambda self, archive: np.ones(7)})())
    with pytest.raises(InputError, match=r"expected \(1,\)"):
        loop.ask()


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("paper", {"batch_size": 0}, "at least 1"),
        ("paper", {"repeat_probability": 1.0}, "less than 1"),
        ("paper", {"bach_size": 5}, "unknown setting"),
        ("papier", {}, "expected one of paper"),
    ],
)
def test_settings_that_are_refused(name, changes, message):
    with pytest.raises(InputError, match=message):
        preset_config(name, **changes)


def test_the_paper_preset_is_the_papers():
    config = preset_config("paper")
    assert (config.batch_size, config.explore_steps, config.repeat_probability) == (100, 100, 0.95)
    assert not config.reset_counters_on_improvement
    assert preset_config("original-code").reset_counters_on_improvement


def test_trajectory_lengths_match_their_actions(search):
    one = search("goexplore/KeyDoorMaze-v0")
    archive = one.iterate(40).archive
    for row in range(len(archive)):
        assert len(archive.forest.actions(archive.trajectory(row))) == archive.table["length"][row]
    assert isinstance(archive.trajectory(0), Trajectory)


def test_exploration_solves_the_maze_and_random_play_does_not(search):
    """The reason for all of this: as many random steps, in episodes of 200, do not find the goal."""
    one = search("goexplore/KeyDoorMaze-v0")
    loop = one.iterate(120)
    assert loop.archive.end.score == 11.0
    env, best = one.env, 0.0
    rng = np.random.default_rng(0)
    for step, action in enumerate(env.action_space.sample(rng, loop.steps).tolist()):
        if step % 200 == 0:
            env.reset()
        best = max(best, env.step(action)[1])
    assert best < 10.0


def test_some_rollouts_play_on_from_the_best_cells():
    loop = make_loop(play_on_probability=0.5, play_on_steps=900, batch_size=200)
    found = [Candidate(bytes([65 + score]), float(score), 1 + score, b"s") for score in range(30)]
    loop.ask()
    loop.tell([result(candidates=found, actions=[0] * 40), *[result() for _ in range(199)]])
    tasks = loop.ask()
    long = [task for task in tasks if task.steps == 900]
    assert 70 < len(long) < 130
    assert {task.score for task in long} == {27.0, 28.0, 29.0}, "one in ten of 31 cells"
    assert {task.steps for task in tasks} == {100, 900}
    assert [task.index for task in tasks] == list(range(200))
    again = make_loop(play_on_probability=0.5, play_on_steps=900, batch_size=200)
    again.restore(loop.save())
    (restored,) = again.in_flight
    assert [(task.row, task.steps) for task in restored] == [(task.row, task.steps) for task in tasks]
    plain = make_loop(batch_size=200)
    assert {task.steps for task in plain.ask()} == {100}


def test_checkpoints_from_before_tasks_had_lengths_are_read():
    loop = make_loop(explore_steps=70)
    loop.ask()
    saved = loop.save()
    del saved["loop.pending_steps"]
    again = make_loop(explore_steps=70)
    again.restore(saved)
    assert [task.steps for task in again.in_flight[0]] == [70, 70]
