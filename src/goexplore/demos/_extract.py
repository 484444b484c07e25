"""From runs to demonstrations (SI, "The backward algorithm"), each replayed from reset before it is written."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import NEVER, Archive, Best
from goexplore.demos._demonstration import Demonstration, digest_of, identifying_facts, save_demonstrations
from goexplore.demos._replay import Replayer
from goexplore.envs import RestorableEnv, make_env
from goexplore.errors import InputError
from goexplore.runs import RunConfig, RunFolder, load, run_config

MOST_CANDIDATES = 2_000
"""Trajectories among which diverse ones are looked for: the shortest."""
MOST_REPLAYED = 100
"""The same where each has to be replayed to know where to cut it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which trajectories of a run to take."""

    which: str = "end"
    """end: the shortest among the best that reach an end of episode (the paper's way on Atari). best: the shortest
    among the best at any cell."""
    until_score: float | None = None
    """Take the shortest way to this score instead, cut where it is reached."""
    to_last_reward: bool = False
    """Cut after the last reward."""
    count: int = 1
    """Trajectories from each run: the shortest, then those that share least of their history with the ones before
    (the paper's way in robotics)."""

    def __post_init__(self) -> None:
        if self.which not in ("end", "best"):
            raise InputError(f"which {self.which!r}: expected end or best")
        if self.count < 1:
            raise InputError(f"count {self.count}: expected at least 1")


def extract(
    runs: list[str | os.PathLike[str]] | str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
    choice: Choice | None = None,
    trust: bool = False,
    warn: Callable[[str], None] = lambda message: None,
    **objects: Any,
) -> list[Path]:
    """Writes the demonstrations of some runs into a folder.

    Args:
        runs: run folders.
        out: a folder; files are numbered on from those in it.
        choice: which trajectories.
        trust: import the code that the runs name; for your own runs.
        warn: told in one line about what could not be taken.
        objects: Python objects that the runs used, as for `resume`.

    Raises:
        InputError: no run has such a trajectory.
    """
    runs = [runs] if isinstance(runs, (str, os.PathLike)) else runs
    written = []
    for run in runs:
        written += save_demonstrations(
            demonstrations_of(run, choice or Choice(), trust=trust, warn=warn, **objects), out
        )
    if not written:
        raise InputError("no demonstration was found; see above, explore longer, or ask for less")
    return written


def demonstrations_of(
    run: str | os.PathLike[str],
    choice: Choice,
    *,
    trust: bool = False,
    warn: Callable[[str], None] = lambda message: None,
    **objects: Any,
) -> list[Demonstration]:
    """The chosen trajectories of one run; those that do not replay are left out, and `warn` is told why."""
    run_folder = RunFolder.open(Path(run))
    config = run_config(run_folder.read_config(), trust=trust, **objects)
    env = make_env(config.env)
    loop, codec, _ = load(run_folder, config, env, warn=warn)
    candidates = _candidates(loop.archive, choice)
    if not candidates:
        warn(f"{run}: {_nothing(loop.archive, choice)}")
    highest = loop.archive.best().score
    if candidates and choice.until_score is None and candidates[0].score < highest:
        warn(
            f"{run}: the best end of episode has {candidates[0].score:g} points, and the best cell {highest:g}; --which"
            " best takes that"
        )
    is_cut = choice.to_last_reward or choice.until_score is not None
    if is_cut:
        candidates = candidates[: MOST_REPLAYED if choice.count > 1 else 1]
    else:
        candidates = _diverse(candidates, _actions_of(loop.archive, candidates), choice.count)
    replayer = Replayer(loop.archive, codec, config)
    source = {"run": run_folder.path.name, "seed": config.seed, "archive_digest": loop.archive.digest()}
    found: list[Demonstration] = []
    for best in candidates:
        differences = replayer.differences(best, replayer.replay(best))
        if differences:
            warn(f"{run}: a trajectory of score {best.score:g} does not replay ({', '.join(differences)}); left out")
            continue
        actions = loop.archive.forest.actions(best.trajectory)
        recorded = _recorded(config, env, actions, choice, source | {"cell": best.row})
        if not any(np.array_equal(recorded.actions, other.actions) for other in found):
            found.append(recorded)
    if not is_cut:
        return found
    if loop.archive.tried:
        return found[: choice.count]  # the most reliable ones
    # What is cut may no longer differ, so that diversity is judged by what is left.
    found.sort(key=len)
    return _diverse(found, [each.actions for each in found], choice.count)


def _recorded(
    config: RunConfig, env: RestorableEnv, actions: NDArray[Any], choice: Choice, source: dict[str, Any]
) -> Demonstration:
    """Plays the actions once more and keeps what belongs to the demonstration."""
    rewards, states, ends = _played(env, actions)
    length = len(rewards)
    if choice.until_score is not None:
        length = int(np.argmax(np.cumsum(rewards) >= choice.until_score)) + 1
    if choice.to_last_reward and np.any(rewards):
        length = min(length, int(np.flatnonzero(rewards)[-1]) + 1)
    return Demonstration(
        env=config.env,
        actions=np.array(actions[:length]),
        rewards=rewards[:length],
        ends_episode=ends and length == len(rewards),
        state=states[length - 1],
        frames_per_step=env.frames_per_step,
        facts=identifying_facts(env),
        source=source,
    )


def _played(env: RestorableEnv, actions: NDArray[Any]) -> tuple[NDArray[np.float64], list[str], bool]:
    rewards, states, over = [], [], False
    env.reset()
    for row in actions:
        _, reward, terminated, truncated, _ = env.step(env.action_space.to_env(row))
        rewards.append(reward)
        states.append(digest_of(env.fingerprint()))
        over = terminated or truncated
        if over:
            break
    return np.array(rewards, np.float64), states, over


def _candidates(archive: Archive, choice: Choice) -> list[Best]:
    """Trajectories to choose from: the most reliable first where ways were tried under noise, and then the shortest."""
    scores, lengths = archive.table["score"], archive.table["length"]
    if choice.until_score is not None:
        rows = _first(archive, np.flatnonzero((scores >= choice.until_score) & (lengths > 0)))
        best = [archive.cell(row) for row in rows]
        if archive.end is not NEVER and archive.end.score >= choice.until_score:
            best.append(archive.end)
            if not archive.tried:
                best.sort(key=lambda each: each.length)
    elif choice.which == "end":
        best = [archive.end] if archive.end is not NEVER and archive.end.length else []
        if choice.count > 1 and best:
            # One end of episode is remembered; other ways to its score are those of cells.
            rows = _first(archive, np.flatnonzero(scores == archive.end.score))
            best += [archive.cell(row) for row in rows]
    else:
        first = archive.best()
        rows = _first(archive, np.flatnonzero(scores == first.score)) if choice.count > 1 else []
        best = [each for each in [first, *(archive.cell(row) for row in rows if row != first.row)] if each.length]
    return best


def _actions_of(archive: Archive, candidates: list[Best]) -> list[NDArray[Any]]:
    return [archive.forest.actions(each.trajectory) for each in candidates]


def _first(archive: Archive, rows: NDArray[np.int64]) -> list[int]:
    return archive.ranked(rows)[:MOST_CANDIDATES]


def _diverse(candidates: list[Any], actions: list[NDArray[Any]], count: int) -> list[Any]:
    """The first candidate, then again and again the one with the greatest mean difference from those chosen."""
    if len(candidates) <= 1 or count == 1:
        return candidates[:1]
    chosen, sums = [0], np.zeros(len(candidates))
    while len(chosen) < min(count, len(candidates)):
        sums += [difference(each, actions[chosen[-1]]) for each in actions]
        sums[chosen] = -np.inf
        chosen.append(int(np.argmax(sums)))
    return [candidates[index] for index in chosen]


def difference(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Share of the steps that both have in which their actions differ (SI, "The backward algorithm")."""
    length = min(len(first), len(second))
    if not length:
        return 0.0
    differs = first[:length] != second[:length]
    return float(np.mean(differs.reshape(length, -1).any(axis=1)))


def _nothing(archive: Archive, choice: Choice) -> str:
    if choice.until_score is not None:
        return f"no trajectory reaches a score of {choice.until_score:g}; the best is {archive.best().score:g}"
    if choice.which == "end":
        return "no episode has ended; take --which best, or explore longer"
    return "nothing beats standing still"
