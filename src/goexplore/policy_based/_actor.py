"""One actor: choose a cell, go there by way of goals, then explore from it (Methods, "Policy-based Go-Explore").

    directive = actor.begin(cell)                     # an episode has begun in this cell
    while not over:
        ... act as the directive says ...
        directive = actor.observe(cell, over=over)    # and that is the cell it led to
        over = over or directive.gives_up

No environment, network or file is known here: cells can be anything that compares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from goexplore.policy_based._path import Cell, Follower, Path, temperature
from goexplore.policy_based._rules import ActorRules

RETURNING, RANDOM, POLICY = "returning", "random", "policy"
"""What an actor was doing when it found a cell."""


class Atlas(Protocol):
    """What an actor asks of the archive."""

    def choose_return(self, rng: np.random.Generator) -> Cell:
        """Draws a cell to return to."""

    def choose(self, rng: np.random.Generator) -> Cell:
        """Draws a cell as a goal of exploration."""

    def path_to(self, cell: Cell) -> Path:
        """The cells of the best trajectory to it."""

    def knows(self, cell: Cell) -> bool:
        """Whether the cell is in the archive."""

    def neighbours(self, cell: Cell) -> Sequence[Cell]:
        """Cells that lie beside it, known or not."""


@dataclass(frozen=True, slots=True)
class Directive:
    """What to do next, and what becomes of the step that led here."""

    goal: Cell
    """What the policy is shown."""
    temperature: float = 1.0
    """What its logits are divided by."""
    random: bool = False
    """Act at random instead."""
    reward: float = 0.0
    """Of the step that led here, on top of the game's."""
    trains: bool = True
    """Whether the policy learns from that step."""
    arrived: bool = False
    """Whether that step ended the return: nothing that comes after counts for it."""
    gives_up: bool = False
    """Whether the episode ends here, though the game would go on."""


class Actor:
    """The state of one actor.

    Args:
        rules: settings.
        atlas: the archive, as it is at any time.
        rng: its own.
    """

    def __init__(self, rules: ActorRules, atlas: Atlas, rng: np.random.Generator) -> None:
        self._rules, self._atlas, self._rng = rules, atlas, rng
        self._seen: set[Cell] = set()
        self.doing = RETURNING
        """What it is at: one of `RETURNING`, `RANDOM` and `POLICY`."""
        self.chosen: Cell = None
        """The cell to return to."""
        self.returned = False
        """Whether it was reached in this episode."""
        self.path = Path([])
        """The way there."""
        self.legs: list[tuple[Cell, Cell, bool]] = []
        """Parts of the return that the last step ended: the goal met last, the one met now, or aimed at in vain."""
        self._since_goal = self._explored = self._since_new = self._goal_steps = 0
        self._goal: Cell = None
        self._reference: Cell = None

    def begin(self, cell: Cell, *, chosen: Cell = None) -> Directive:
        """An episode begins: chooses where to return to, unless that is given."""
        rules, atlas = self._rules, self._atlas
        self.chosen, self.returned = atlas.choose_return(self._rng) if chosen is None else chosen, False
        self.path = atlas.path_to(self.chosen)
        self._follower, self._met_last = self._on(self.path), cell
        self.legs = []
        self._since_goal, self.doing = 0, RETURNING
        self._seen.add(cell)
        there = cell == self.chosen and (rules.arrival == "cell" or len(self.path) == 1)
        return self._explore_from(cell) if there else Directive(self._follower.goal)

    def _on(self, path: Path) -> Follower:
        return Follower(path, window=self._rules.window, from_goal=self._rules.allowance_from_goal)

    def observe(self, cell: Cell, *, over: bool = False) -> Directive:
        """A step has led to a cell, perhaps to the end of the game."""
        is_new = self._is_new(cell)
        if self.doing == RETURNING:
            return self._returning(cell, over=over)
        self.legs = []
        return self._exploring(cell, is_new=is_new, over=over)

    def _is_new(self, cell: Cell) -> bool:
        if cell in self._seen:
            return False
        self._seen.add(cell)
        return not self._atlas.knows(cell)

    def _returning(self, cell: Cell, *, over: bool) -> Directive:
        rules, follower = self._rules, self._follower
        self._since_goal += 1
        met = follower.meet(cell)
        self.legs = [(self._met_last, cell, True)] if met else []
        if met:
            self._met_last = cell
        if follower.finished if rules.arrival == "path" else cell == self.chosen:
            return self._explore_from(cell, reward=rules.final_reward)
        if met:
            self._since_goal = 0
        overdue = self._since_goal - follower.allowance
        gives_up = overdue > rules.overdue_limit
        if over or gives_up:
            self.legs.append((self._met_last, follower.goal, False))
        return Directive(
            follower.goal,
            temperature(overdue, factor=rules.entropy_factor, power=rules.entropy_power),
            reward=rules.goal_reward if met else 0.0,
            gives_up=gives_up,
        )

    def _explore_from(self, cell: Cell, *, reward: float = 0.0) -> Directive:
        """Arrives; for the rest of the episode actions are either random or the policy's."""
        self.returned = True
        self.doing = POLICY if self._rng.random() < self._rules.policy_exploration else RANDOM
        self._explored, self._since_new, self._reference = 0, 0, self.chosen
        self._choose_goal(cell)
        return Directive(self._goal, random=self.doing == RANDOM, reward=reward, arrived=True)

    def _exploring(self, cell: Cell, *, is_new: bool, over: bool) -> Directive:
        rules = self._rules
        self._explored += 1
        self._goal_steps += 1
        self._since_new = 0 if is_new else self._since_new + 1
        reached = cell == self._goal
        if reached:
            self._reference = cell
        if not over and (reached or self._goal_steps >= rules.explore_goal_steps):
            self._choose_goal(cell)
        overdue = self._since_new - rules.explore_threshold
        too_long = rules.explore_steps is not None and self._explored >= rules.explore_steps
        return Directive(
            self._goal,
            temperature(overdue, factor=rules.entropy_factor, power=rules.entropy_power),
            random=self.doing == RANDOM,
            reward=rules.final_reward if reached and rules.credit_exploration else 0.0,
            trains=False,
            gives_up=too_long or self._since_new > rules.barren_limit,
        )

    def _choose_goal(self, cell: Cell) -> None:
        """10% a neighbour that nobody knows, 22.5% any neighbour, 67.5% a cell of the archive; if there are any."""
        rules, rng, atlas = self._rules, self._rng, self._atlas
        self._goal_steps = 0
        beside = atlas.neighbours(self._reference if rules.neighbours_of_goal else cell)
        unknown = [each for each in beside if each not in self._seen and not atlas.knows(each)]
        if unknown and rng.random() < rules.unknown_probability:
            self._goal = unknown[int(rng.integers(len(unknown)))]
        elif beside and rng.random() < rules.neighbour_probability:
            self._goal = beside[int(rng.integers(len(beside)))]
        else:
            self._goal = self._reference = atlas.choose(rng)

    def forget(self) -> None:
        """The archive was updated, and knows everything that was seen."""
        self._seen.clear()

    def save(self, encode: Callable[[Any], Any]) -> dict[str, Any]:
        """Everything but the generator, as plain values.

        Args:
            encode: makes a plain value of a cell.
        """
        return {
            "doing": self.doing,
            "chosen": encode(self.chosen),
            "returned": self.returned,
            "path": self.path.save(encode),
            "follower": [*self._follower.save(), encode(self._met_last)],
            "counts": [self._since_goal, self._explored, self._since_new, self._goal_steps],
            "goal": None if self._goal is None else encode(self._goal),
            "reference": None if self._reference is None else encode(self._reference),
            "seen": sorted(encode(cell) for cell in self._seen),
        }

    def restore(self, saved: dict[str, Any], decode: Callable[[Any], Any]) -> None:
        """Takes over what `save` returned."""
        self.doing, self.chosen, self.returned = saved["doing"], decode(saved["chosen"]), saved["returned"]
        self.path = Path.restored(saved["path"], decode)
        self._follower = self._on(self.path)
        *progress, met_last = saved["follower"]
        self._follower.restore(progress)
        self._met_last = decode(met_last)
        self._since_goal, self._explored, self._since_new, self._goal_steps = saved["counts"]
        self._goal, self._reference = (
            None if saved[name] is None else decode(saved[name]) for name in ("goal", "reference")
        )
        self._seen = {decode(cell) for cell in saved["seen"]}
