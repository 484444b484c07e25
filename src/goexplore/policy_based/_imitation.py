"""Self-imitation: trajectories of the archive, replayed as if an actor were following them.

Only what a rank saw itself is kept and replayed there, so that no observation crosses ranks.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from goexplore.archive import join_bytes, split_bytes
from goexplore.policy_based._atlas import ArchiveAtlas
from goexplore.policy_based._path import Cell, Follower, Path
from goexplore.policy_based._rules import ActorRules
from goexplore.policy_based._stretch import CELL, EPISODE


class Sights:
    """What the actors of a rank saw, by episode, compressed and up to a number of bytes.

    Args:
        most_bytes: the oldest episodes are forgotten above this.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._blocks: dict[int, list[bytes]] = {}
        self._starts: dict[int, bytes] = {}
        self._bytes = 0
        self._compressor, self._decompressor = zstandard.ZstdCompressor(level=1), zstandard.ZstdDecompressor()

    def __contains__(self, episode: int) -> bool:
        return episode in self._blocks

    @property
    def held_bytes(self) -> int:
        """Held at present."""
        return self._bytes

    def add(self, episode: int, seen: NDArray[Any], *, start: bytes | None = None) -> None:
        """Keeps what was seen before each step of a stretch; ignored if the episode's beginning was forgotten.

        Args:
            episode: its number.
            seen: before each step.
            start: the cell in which the episode began, if it begins with this.
        """
        if start is not None:
            self._blocks[episode], self._starts[episode] = [], start
        elif episode not in self._blocks:
            return
        block = self._compressor.compress(np.ascontiguousarray(seen).tobytes())
        self._blocks[episode].append(block)
        self._bytes += len(block)

    def start(self, episode: int) -> bytes:
        """The cell in which an episode began."""
        return self._starts[episode]

    def get(self, episode: int, steps: int, shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
        """What was seen before the first steps of an episode, (steps, *shape)."""
        wanted = steps * int(np.prod(shape)) * np.dtype(dtype).itemsize
        data = bytearray()
        for block in self._blocks[episode]:
            data += self._decompressor.decompress(block)
            if len(data) >= wanted:
                break
        return np.frombuffer(bytes(data[:wanted]), dtype).reshape(-1, *shape)

    def keep_only(self, episodes: Collection[int]) -> None:
        """Forgets all others, and the oldest of these if they are too many."""
        for episode in [each for each in self._blocks if each not in episodes]:
            self._forget(episode)
        while self._bytes > self._most and len(self._blocks) > 1:
            self._forget(next(iter(self._blocks)))

    def local(self, episodes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of some episodes are kept."""
        return np.isin(episodes, np.fromiter(self._blocks, np.int64))

    def _forget(self, episode: int) -> None:
        self._bytes -= sum(map(len, self._blocks.pop(episode)))
        del self._starts[episode]

    def save(self) -> dict[str, NDArray[Any]]:
        """Everything, as arrays."""
        counts = [(episode, len(blocks)) for episode, blocks in self._blocks.items()]
        blocks = [block for each in self._blocks.values() for block in each]
        return {
            "sights.episodes": np.array(counts, np.int64).reshape(-1, 2),
            **join_bytes("sights.blocks", blocks),
            **join_bytes("sights.starts", list(self._starts.values())),
        }

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Takes over what `save` returned."""
        blocks = iter(split_bytes("sights.blocks", saved))
        self._blocks = {
            episode: [next(blocks) for _ in range(count)] for episode, count in saved["sights.episodes"].tolist()
        }
        self._starts = dict(zip(self._blocks, split_bytes("sights.starts", saved), strict=True))
        self._bytes = sum(len(block) for each in self._blocks.values() for block in each)


@dataclass(frozen=True, slots=True)
class Lesson:
    """A trajectory to imitate, step by step."""

    seen: NDArray[Any]
    """Before each step, without the goal."""
    places: list[Cell]
    """The cell before each step."""
    goals: list[Cell]
    """What the policy is shown before each step."""
    actions: NDArray[Any]
    returns: NDArray[np.float32]
    """The discounted reward from each step on, up to the arrival."""


def followed(cells: list[Cell], rules: ActorRules) -> tuple[list[Cell], NDArray[np.float32]]:
    """What one sees and gets who goes through these cells to return to the last of them.

    Returns:
        The goal shown before each step, and the reward of each step beside the game's; up to the step that arrives,
        which may come before the last.
    """
    follower = Follower(Path(cells), window=rules.window, from_goal=rules.allowance_from_goal)
    goals, rewards = list[Cell](), list[float]()
    for cell in cells:
        goals.append(follower.goal)
        met = follower.meet(cell)
        if follower.finished if rules.arrival == "path" else cell == cells[-1]:
            rewards.append(rules.final_reward)
            break
        rewards.append(rules.goal_reward if met else 0.0)
    return goals, np.array(rewards, np.float32)


def draw_lesson(
    atlas: ArchiveAtlas,
    sights: Sights,
    rules: ActorRules,
    *,
    gamma: float,
    shape: tuple[int, ...],
    dtype: str,
    rng: np.random.Generator,
) -> Lesson | None:
    """Draws a cell as actors do, of those whose trajectory was seen here, and makes a lesson of it; or None."""
    archive, codec = atlas.archive, atlas.codec
    cumulative = np.cumsum(atlas.weights * sights.local(atlas.episodes()))
    if not cumulative[-1]:
        return None
    row = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], "right"))
    steps = archive.forest.actions(archive.trajectory(row))
    cells = [archive.keys[cell] for cell in steps[:, CELL].tolist()]
    goals, rewards = followed(cells, rules)
    steps = steps[: len(goals)]
    returns, ahead = np.zeros(len(steps), np.float32), 0.0
    for step, reward in reversed(list(enumerate((rewards + codec.rewards(steps)).tolist()))):
        ahead = reward + gamma * ahead
        returns[step] = ahead
    episode = int(steps[0, EPISODE])
    places = [sights.start(episode), *cells[: len(goals) - 1]]
    return Lesson(sights.get(episode, len(steps), shape, dtype), places, goals, codec.actions(steps), returns)
