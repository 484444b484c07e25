"""The numbers of policy-based Go-Explore, with their units and sources."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from goexplore.envs import atari_game_of, is_atari
from goexplore.errors import InputError
from goexplore.learn import NetworkConfig, PPOConfig
from goexplore.play import AtariView, PlainView, View
from goexplore.policy_based._reliability import ReliabilityRules
from goexplore.policy_based._rules import ActorRules


@dataclass(frozen=True, slots=True)
class PolicyConfig:
    """Everything that a run depends on beside its environment, cells and seed. The defaults are the paper's."""

    view: View = field(default_factory=AtariView)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    ppo: PPOConfig = field(
        default_factory=lambda: PPOConfig(
            learning_rate=2.5e-4, gamma=0.99, entropy_coefficient=1e-4, imitation_entropy_coefficient=0.0
        )
    )
    rules: ActorRules = field(default_factory=ActorRules)
    reliability: ReliabilityRules = field(default_factory=ReliabilityRules)
    actors: int = 240
    """On all ranks together. Paper: 16 workers with 15 each."""
    imitators: int = 16
    """Actors that replay the archive's trajectories for self-imitation. Paper: one of each worker's 16."""
    steps: int = 3_000_000_000
    """Agent steps of all actors. Paper: 12 billion frames on Montezuma's Revenge."""
    reward_limit: float = 2.0
    """The game's rewards are clipped to this, either way. Paper: 2."""
    life_loss_ends: bool = True
    """Whether losing a life ends the episode. Paper: on Montezuma's Revenge."""
    episode_steps: int = 100_000
    """Agent steps after which an episode is given up. Paper: 400,000 frames."""
    choose_ends: bool = True
    """Whether the cell of all ends may be chosen to return to. Paper: not mentioned; the authors' code: yes. Where
    games end with a death it is not worth much; where they end at a goal it is the goal."""
    attempt_steps: float = 0.0
    """What an attempt to return to a cell counts for in its C_steps. Paper: 0, with which cells that were entered once,
    by a lucky fall say, and never again are chosen more and more often, as no steps are spent in them."""
    milestone_share: float = 0.0
    """Share of returns to milestones: cells that one comes to with more points than to any that is reached as soon.
    Paper: 0. Without it the best cells are among those returned to least, as much time was spent in them."""
    tell_place: bool = False
    """Whether the policy is told the cell it is in, beside the one to go to. Paper: no. A small network that sees the
    console's memory has to learn first where in it the place is."""
    sight_bytes: int = 2_000_000_000
    """Memory on each rank for what its actors saw, which self-imitation needs; the oldest is forgotten above it."""

    def __post_init__(self) -> None:
        if self.actors < 1 or self.imitators < 0 or self.episode_steps < 1:
            raise InputError(
                f"actors {self.actors}, imitators {self.imitators}, episode_steps {self.episode_steps}: expected at"
                " least 1, 0 and 1"
            )
        if not 0 <= self.milestone_share <= 1:
            raise InputError(f"milestone_share {self.milestone_share}: expected 0 to 1")
        if min(self.reward_limit, self.attempt_steps, self.sight_bytes) < 0:
            raise InputError(
                f"reward_limit {self.reward_limit}, attempt_steps {self.attempt_steps}, sight_bytes {self.sight_bytes}:"
                " expected at least 0"
            )


PAPER = PolicyConfig()
ORIGINAL = PolicyConfig(
    # Facts about the authors' scripts, where the paper says otherwise or nothing.
    ppo=replace(PAPER.ppo, value_coefficient=0.25),
    rules=ActorRules(arrival="cell", allowance_from_goal=True, neighbours_of_goal=True, credit_exploration=True),
)
LAPTOP = PolicyConfig(
    # The console's memory instead of its screen, a small network, and limits on the scale of small tasks:
    # docs/policy-based.md.
    view=AtariView(memory=True, stack=1),
    network=NetworkConfig(
        convolutions=(),
        hidden=(256, 256),
        memory=0,
        gain=math.sqrt(2),
        told_gain=math.sqrt(2),
        value_gain=0.1,
    ),
    ppo=PPOConfig(
        steps=128,
        context=0,
        epochs=4,
        minibatches=4,
        learning_rate=5e-4,
        final_learning_rate=5e-5,
        adam_epsilon=1e-5,
        gradient_norm=0.5,
        gamma=0.99,
        clip=0.1,
        value_clip=None,
        # Values are around ten on Montezuma's Revenge; their errors, and what imitation weighs by, grow with them. With
        # more weight the two outweigh the policy's own experience in the network that all share.
        value_coefficient=0.02,
        imitation_coefficient=0.01,
        entropy_coefficient=3e-3,
        final_entropy_coefficient=0.0,
        l2_coefficient=0.0,
        imitation_entropy_coefficient=0.0,
        average_over="own",
    ),
    rules=ActorRules(entropy_factor=0.02, overdue_limit=200, barren_limit=300, explore_goal_steps=60),
    actors=16,
    imitators=2,
    steps=5_000_000,
    episode_steps=1_500,
    choose_ends=False,
    attempt_steps=50.0,
    milestone_share=0.25,
    tell_place=True,
    reliability=ReliabilityRules(counts=True),
    sight_bytes=500_000_000,
)
PLAIN_LAPTOP = replace(
    LAPTOP,
    view=PlainView(),
    # With the numbers above two trainings on six rooms came to no more, and less of it by policy exploration.
    ppo=replace(
        LAPTOP.ppo,
        final_learning_rate=1e-4,
        value_coefficient=0.25,
        imitation_coefficient=0.1,
        entropy_coefficient=1e-3,
    ),
    rules=ActorRules(
        entropy_factor=0.05,
        overdue_limit=150,
        barren_limit=200,
        explore_goal_steps=40,
        explore_threshold=20,
        repeat_probability=0.75,
    ),
    steps=1_000_000,
    episode_steps=600,
    choose_ends=True,
    attempt_steps=0.0,
)
PRESETS = {"paper": PAPER, "original-code": ORIGINAL, "laptop": LAPTOP}
"""`paper`: Extended Data Table 1a, for GPUs. `original-code`: rules of the authors' code, where they can be set
(docs/policy-based.md). `laptop`: a few cores."""


def policy_preset(name: str, env_id: str) -> PolicyConfig:
    """Returns a preset, with a view and a network that fit the environment.

    Raises:
        InputError: there is no such preset.
    """
    if name not in PRESETS:
        raise InputError(f"preset {name!r}: expected one of {', '.join(PRESETS)}")
    if is_atari(env_id):
        return replace(PRESETS[name], life_loss_ends=atari_game_of(env_id) == "montezuma_revenge")
    if name == "laptop":
        return PLAIN_LAPTOP
    preset = PRESETS[name]
    return replace(preset, view=PlainView(), network=replace(preset.network, convolutions=()))
