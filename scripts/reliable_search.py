"""Demonstrations that hold under noise: a search whose archive prefers reliable ways to short ones.

    python scripts/reliable_search.py bottom-left --steps 1_000_000 --out demos/bottom-left

The shortest way to a cell is often a lucky one: a block that bounces between the fingers, which the least noise undoes.
Here each cell keeps a handful of states in which noisy replays of its way have arrived. A new way to another cell is
tried under noise from all of them; the share that arrives, times the reliability of the way so far, is its reliability.
Of two ways to a cell the more reliable one is kept, and the shorter one among equals.

Everything else is Go-Explore: select, return, explore, update. Demonstrations are written as `goexplore demos` writes
them, the most reliable first, each replayed from reset.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.cells import make_cells
from goexplore.demos import Demonstration, digest_of, save_demonstrations
from goexplore.envs import EnvSpec, RestorableEnv, env_spec, make_env, resolved

ENV = "goexplore/FetchShelves-v0"
BATCH, EXPLORE_STEPS = 20, 30
CHANGE, REDRAWN = 0.1, 0.5
"""Probability that an action changes, and that each of its numbers is drawn anew then: a hand may stay closed while
the arm turns."""
TRIALS = 8
"""Noisy replays of a way, and states that a cell keeps."""
EARLY, LATE = 3, 3
"""Steps by which a noisy replay may come to the cell early or late."""
SHORTER = 0.9
"""A way that is no more reliable is tried if it is at most this share of the known one's length: trials cost time."""
REPLAYS = 40
"""Noisy replays from reset that rank the demonstrations in the end."""


@dataclass(frozen=True, slots=True)
class Noise:
    """What a way has to withstand."""

    sticky: float
    """Probability that the action before is taken again."""
    jitter: float
    """Standard deviation of what is added to each number of an action."""

    def __call__(self, action: NDArray[Any], before: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """The action that is taken instead, without jitter."""
        return before if rng.random() < self.sticky else action

    def shaken(self, action: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """The action with jitter."""
        return action + self.jitter * rng.standard_normal(action.shape)


@dataclass(slots=True, eq=False)
class Cell:
    """A place, and the most reliable known way to it."""

    reliability: float
    length: int
    score: float
    state: bytes
    """Without noise, so that ways are exact and can be replayed."""
    arrivals: list[tuple[bytes, NDArray[Any]]]
    """States after noisy replays, each with the action before."""
    parent: Cell | None = None
    actions: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    """From the parent to here."""
    seen: int = 0

    def way(self) -> NDArray[Any]:
        """All actions from reset."""
        parts, cell = [], self
        while cell.parent is not None:
            parts.append(cell.actions)
            cell = cell.parent
        return np.concatenate(parts[::-1])


class ReliableSearch:
    """The search; `batch` does a little of it."""

    def __init__(self, spec: EnvSpec, *, cells: str, noise: Noise, seed: int) -> None:
        self.env: RestorableEnv = make_env(spec)
        self.spec = resolved(spec, self.env)
        self._cells, self._noise, self._rng = make_cells(cells), noise, np.random.default_rng(seed)
        if not self._cells.reads_observations:
            self.env.unwrapped.observing = False  # type: ignore[attr-defined]
        observation = self.env.reset()
        start, still = self._snapshot(), np.zeros(self.env.action_space.shape, self.env.action_space.dtype)
        key = self._cells.key(observation, self.env)
        self.archive = {key: Cell(1.0, 0, 0.0, start, [(start, still)] * TRIALS)}
        self.steps = 0

    def _snapshot(self) -> bytes:
        snapshot = self.env.snapshot()
        if snapshot is None:
            raise SystemExit("the environment has no snapshots")
        return snapshot

    def _step(self, action: NDArray[Any]) -> tuple[bytes, float, bool]:
        observation, reward, terminated, truncated, _ = self.env.step(action)
        self.steps += 1
        return self._cells.key(observation, self.env), float(reward), terminated or truncated

    def batch(self) -> None:
        """Explores from some cells."""
        keys = list(self.archive)
        weights = np.array([1.0 / (self.archive[key].seen + 1.0) for key in keys])
        for index in self._rng.choice(len(keys), BATCH, p=weights / weights.sum()):
            self._explore(self.archive[keys[index]], keys[index])

    def _explore(self, cell: Cell, own_key: bytes) -> None:
        self.env.restore(cell.state)
        actions, score = self._draw(), cell.score
        visited: dict[bytes, tuple[int, float, bytes]] = {}
        for step, action in enumerate(actions, 1):
            key, reward, over = self._step(action)
            score += reward
            if over:
                break
            if key != own_key and key not in visited:
                visited[key] = (step, score, self._snapshot())
        cell.seen += 1
        for key, (step, reached, state) in visited.items():
            self._consider(key, Cell(cell.reliability, cell.length + step, reached, state, [], cell, actions[:step]))

    def _consider(self, key: bytes, found: Cell) -> None:
        """Tries a way under noise, unless it could not be better than the known one anyway."""
        known, parent = self.archive.get(key), found.parent
        assert parent is not None
        if known is not None:
            known.seen += 1
            if _rank(found)[:2] <= _rank(known)[:2] and found.length > SHORTER * known.length:
                return
            if _rank(found) <= _rank(known):
                return
        for number, (state, before) in enumerate(parent.arrivals, 1):
            arrival = self._try(state, before, found.actions, key)
            if arrival is not None:
                found.arrivals.append(arrival)
            possible = (len(found.arrivals) + TRIALS - number) / TRIALS
            if not possible or (known is not None and possible * parent.reliability < known.reliability):
                return
        found.reliability *= len(found.arrivals) / TRIALS
        if known is None or _rank(found) > _rank(known):
            found.arrivals = [found.arrivals[number % len(found.arrivals)] for number in range(TRIALS)]
            found.seen = 0 if known is None else known.seen // 2
            self.archive[key] = found

    def _try(
        self, state: bytes, before: NDArray[Any], actions: NDArray[Any], key: bytes
    ) -> tuple[bytes, NDArray[Any]] | None:
        """Goes a way under noise; returns where it ended, if that is the cell."""
        self.env.restore(state)
        for step in range(len(actions) + LATE):
            before = self._noise(actions[min(step, len(actions) - 1)], before, self._rng)
            reached, _, over = self._step(self._noise.shaken(before, self._rng))
            if over:
                return None
            if step >= len(actions) - EARLY and reached == key:
                return self._snapshot(), before
        return None

    def _draw(self) -> NDArray[Any]:
        space, rng = self.env.action_space, self._rng
        shape = (EXPLORE_STEPS, *space.shape)
        fresh = rng.uniform(-1.0, 1.0, shape) if rng.random() < 0.5 else np.tanh(2.0 * rng.standard_normal(shape))
        changes = (rng.random(EXPLORE_STEPS) < CHANGE)[:, None] & (rng.random(shape) < REDRAWN)
        changes[0] = True
        last = np.maximum.accumulate(np.where(changes, np.arange(EXPLORE_STEPS)[:, None], 0), axis=0)
        middle, half = (space.high + space.low) / 2.0, (space.high - space.low) / 2.0
        drawn: NDArray[Any] = (middle + half * np.take_along_axis(fresh, last, axis=0)).astype(space.dtype)
        return drawn

    def demonstrations(self, count: int, score: float) -> list[tuple[float, Demonstration]]:
        """Distinct ways to a score, cut where it is reached, with the share of noisy replays that reach it too."""
        found: dict[bytes, tuple[float, Demonstration]] = {}
        ways = sorted((cell for cell in self.archive.values() if cell.score >= score), key=_rank, reverse=True)
        for cell in ways[: 4 * count]:
            actions = cell.way()
            self.env.reset()
            rewards: list[float] = []
            while sum(rewards) < score and len(rewards) < len(actions):
                rewards.append(self._step(actions[len(rewards)])[1])
            cut = actions[: len(rewards)]
            if cut.tobytes() in found or sum(rewards) < score:
                continue
            made = Demonstration(
                env=self.spec,
                actions=cut,
                rewards=np.array(rewards),
                ends_episode=False,
                state=digest_of(self.env.fingerprint()),
                frames_per_step=self.env.frames_per_step,
                source={"search": "scripts/reliable_search.py", "steps": self.steps},
            )
            found[cut.tobytes()] = (self._share(cut, score), made)
        return sorted(found.values(), key=lambda each: -each[0])[:count]

    def _share(self, actions: NDArray[Any], score: float) -> float:
        arrived = 0
        for _ in range(REPLAYS):
            self.env.reset()
            before, total = np.zeros_like(actions[0]), 0.0
            for step in range(len(actions) + LATE):
                before = self._noise(actions[min(step, len(actions) - 1)], before, self._rng)
                _, reward, over = self._step(self._noise.shaken(before, self._rng))
                total += reward
                if over or total >= score:
                    break
            arrived += total >= score
        return arrived / REPLAYS


def _rank(cell: Cell) -> tuple[float, float, int]:
    return cell.score, cell.reliability, -cell.length


def main() -> None:
    """Searches, and writes demonstrations."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", help="where the block should go, for example bottom-left")
    parser.add_argument("--steps", type=int, default=1_000_000, help="actions, trials under noise included")
    parser.add_argument("--count", type=int, default=10, help="demonstrations to write")
    parser.add_argument("--sticky", type=float, default=0.1, help="probability of repeating the action before")
    parser.add_argument("--jitter", type=float, default=0.05, help="standard deviation added to actions")
    parser.add_argument("--cells", default="shelves:lift")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, help="folder of the demonstrations")
    arguments = parser.parse_args()
    if any(arguments.out.glob("*.demo.npz")):
        raise SystemExit(f"{arguments.out}: has demonstrations already")
    noise = Noise(arguments.sticky, arguments.jitter)
    spec = env_spec(ENV, kwargs={"target": arguments.target})
    search = ReliableSearch(spec, cells=arguments.cells, noise=noise, seed=arguments.seed)
    began, shown = time.monotonic(), 0.0
    while search.steps < arguments.steps:
        search.batch()
        if time.monotonic() - shown > 20:
            shown = time.monotonic()
            best = max(search.archive.values(), key=_rank)
            print(
                f"{search.steps:,} steps · {len(search.archive)} cells · best score {best.score:g},"
                f" reliability {best.reliability:.3f}, {best.length} steps · {shown - began:.0f} s",
                file=sys.stderr,
            )
    found = search.demonstrations(arguments.count, score=1.0)
    if not found:
        raise SystemExit(f"no success in {search.steps:,} steps")
    save_demonstrations([made for _, made in found], arguments.out)
    for share, made in found:
        print(f"{len(made)} steps, {share:.0%} of {REPLAYS} noisy replays arrive")


if __name__ == "__main__":
    main()
