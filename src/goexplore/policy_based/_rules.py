"""The numbers that actors of policy-based Go-Explore live by."""

from __future__ import annotations

from dataclasses import dataclass

from goexplore.errors import InputError


@dataclass(frozen=True, slots=True)
class ActorRules:
    """Settings of an actor, in agent steps. The defaults are the paper's (Methods, "Policy-based Go-Explore")."""

    window: int = 10
    """Cells of the path that meet the next goal, itself included. Paper: 10."""
    goal_reward: float = 1.0
    """For meeting a goal on the way. Paper: 1."""
    final_reward: float = 3.0
    """For reaching the chosen cell, in place of that. Paper: 3."""
    arrival: str = "path"
    """Where a return is over. `path`: at the end of the path, as the paper says; one that leads through the chosen cell
    more than a window before has to be walked on. `cell`: in the chosen cell at any time, which rewards short cuts
    (the authors' code)."""
    entropy_factor: float = 0.01
    """e_f: how fast actions become more random when a goal is overdue. Paper: 0.01. Higher for tasks of few steps."""
    entropy_power: float = 2.0
    """e_p. Paper: 2."""
    allowance_from_goal: bool = False
    """Count the steps that a path allows from the goal that was skipped, as the authors' code does. Paper: from the
    cell that was reached."""
    overdue_limit: int = 1_000
    """A return is given up so many steps after actions began to become more random. Paper: 1,000."""
    policy_exploration: float = 0.5
    """Share of explorations that let the policy act, towards goals near and far; the others act at random. Paper: not
    stated; the authors' code: 0.5."""
    repeat_probability: float = 0.95
    """Of a random action. Paper: 0.95."""
    unknown_probability: float = 0.1
    """Of choosing a neighbour that nobody has reached as the goal of exploration, where there is one. Paper: 0.1."""
    neighbour_probability: float = 0.25
    """Of choosing any neighbour, if not. Paper: 22.5% of all, which is 0.25 of the rest. Else a cell of the archive."""
    neighbours_of_goal: bool = False
    """Take neighbours of the goal reached or chosen last, as the authors' code does. Paper: of where one is."""
    explore_goal_steps: int = 100
    """Another goal is chosen after so many steps. Paper: 100."""
    explore_threshold: int = 50
    """Steps without a new cell after which exploring actions become more random. Paper: 50."""
    barren_limit: int = 1_000
    """Exploration ends after so many steps without a new cell. Paper: 1,000."""
    explore_steps: int | None = None
    """Exploration ends after so many steps. None: it does not. Paper: refers to 100 steps of random actions; the
    authors' code has no limit."""
    credit_exploration: bool = False
    """Let rewards of exploration count for the steps that led to its start, as in the authors' code. Paper: whatever is
    gathered then is ignored."""

    def __post_init__(self) -> None:
        for name in ("window", "explore_goal_steps", "explore_steps"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise InputError(f"{name} {value}: expected at least 1")
        for name in (
            "policy_exploration",
            "repeat_probability",
            "unknown_probability",
            "neighbour_probability",
        ):
            if not 0 <= (value := getattr(self, name)) <= 1:
                raise InputError(f"{name} {value}: expected 0 to 1")
        for name in ("overdue_limit", "barren_limit", "explore_threshold", "entropy_factor", "entropy_power"):
            if (value := getattr(self, name)) < 0:
                raise InputError(f"{name} {value}: expected at least 0")
        if self.arrival not in ("path", "cell"):
            raise InputError(f"arrival {self.arrival!r}: expected 'path' or 'cell'")
