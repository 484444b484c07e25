"""Settings of a control."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from goexplore.cells import DOMAIN_CELLS, CellFunction, make_fixed_cells, names_own_code
from goexplore.envs import SHELVES, atari_game_of, is_atari
from goexplore.errors import InputError
from goexplore.exploration import cells_of_kind
from goexplore.learn import NetworkConfig, PPOConfig
from goexplore.play import AtariView, PlainView, View
from goexplore.policy_based import DOMAIN_GOALS, PolicyConfig, policy_preset
from goexplore.robustification import robustify_preset

REWARDS = ("sign", "plain")
METHODS = ("ppo", "count")
BESIDE = ("robustify", "policy")
ENTROPY_WITHOUT_GOALS = 0.01
"""Usual for PPO, which explores by nothing else; what is told goals needs less."""
VALUES_WITHOUT_GOALS = 0.25
"""Usual coefficient of the value loss; what is rewarded for goals has larger returns, and may need less."""
FRAME_SKIP = 4
"""Raw frames of a step on Atari."""
ROBOT_VIEW = PlainView(max_steps=300)
"""The robot's controls are judged beside a search, which plays without noise. The limit is the authors' code's."""


@dataclass(frozen=True, slots=True)
class ControlConfig:
    """PPO from reset, with the network and learner of a robustification."""

    view: View = field(default_factory=AtariView)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    actors: int = 256
    """Episodes at a time, on all ranks together."""
    steps: int = 2_500_000_000
    """Agent steps of all actors."""
    rewards: str = "sign"
    """sign: +1 or -1, as is usual on Atari; plain: as they are."""
    life_loss_ends: bool = False
    """Whether a lost life is an end for learning, though the episode goes on."""
    life_loss_resets: bool = False
    """Whether the episode is over with a lost life, and the next one begins at reset."""
    cells: str | None = None
    """Cells whose visits are counted, by name; None counts nothing. Paper: those of the search."""
    bonus: float = 0.0
    """Reward for entering a cell for the first time in an episode, times 1/sqrt(n), n being the episodes of all actors
    that have entered it. Paper: 1 (Methods, "Evaluation"); 0 is plain PPO."""

    def __post_init__(self) -> None:
        if self.actors < 1:
            raise InputError(f"actors {self.actors}: expected at least 1")
        if self.rewards not in REWARDS:
            raise InputError(f"rewards {self.rewards!r}: expected one of {', '.join(REWARDS)}")
        if not 0 <= self.bonus < math.inf or (self.bonus and self.cells is None):
            raise InputError(f"bonus {self.bonus} with cells {self.cells}: expected at least 0, and cells to count")
        if not self.counts_own_code:  # importing it would run it, and a stranger's file may have named it
            self.make_cells()

    @property
    def counts_own_code(self) -> bool:
        """Whether the cells are code outside this library."""
        return self.cells is not None and names_own_code(self.cells)

    def make_cells(self) -> CellFunction | None:
        """The cells to count, if any.

        Raises:
            InputError: they adapt, and counts of them would lose their meaning.
        """
        return None if self.cells is None else make_fixed_cells(self.cells, what="counts")


def control_preset(
    name: str, env_id: str, *, method: str = "ppo", cells: str | None = None, beside: str = "robustify"
) -> ControlConfig:
    """Returns what corresponds to another command's preset of that name, with as many steps in a batch.

    Args:
        name: of the preset.
        env_id: the environment.
        method: "ppo", or "count" for a bonus by counts.
        cells: to count; None takes those that are known for the environment.
        beside: the command that it is judged beside: "robustify", or "policy".

    Raises:
        InputError: there is no such preset, method or command, or no cells to count.
    """
    if method not in METHODS or beside not in BESIDE:
        raise InputError(
            f"method {method!r} beside {beside!r}: expected one of {', '.join(METHODS)}, beside one of"
            f" {', '.join(BESIDE)}"
        )
    game = atari_game_of(env_id) or env_id
    kind = DOMAIN_CELLS.get(game)
    known = DOMAIN_GOALS.get(game) if beside == "policy" else kind and cells_of_kind(name, kind)
    if cells == "domain" or (method == "count" and cells is None):
        if known is None:
            raise InputError(
                f"there are no default cells for {env_id}: say what to count, for example --cells observation:0.25"
            )
        cells = known
    elif cells is None and not is_atari(env_id):
        cells = known  # for the record: reading a robot's costs nothing
    if beside == "policy":
        return _beside_policy(policy_preset(name, env_id), cells, bonus=method == "count")
    preset = robustify_preset(name, env_id)
    return ControlConfig(
        view=ROBOT_VIEW if env_id == SHELVES else preset.view,
        network=replace(preset.network, deviation=1.0, least_deviation=0.0),  # without demonstrations it has to explore
        ppo=replace(preset.ppo, imitation_coefficient=0.0),
        actors=preset.actors + preset.imitators,
        steps=preset.steps,
        rewards="sign" if is_atari(env_id) else "plain",
        life_loss_ends=preset.backward.life_loss_fails,
        cells=cells,
        bonus=1.0 if method == "count" else 0.0,
    )


def _with_episodes_of(preset: PolicyConfig) -> View:
    """Its view, with episodes as long as its own may be."""
    view, steps = preset.view, preset.episode_steps
    if isinstance(view, AtariView):
        return replace(view, max_frames=min(view.max_frames, FRAME_SKIP * steps))
    return replace(view, max_steps=min(view.max_steps, steps))


def _beside_policy(preset: PolicyConfig, cells: str | None, *, bonus: bool) -> ControlConfig:
    return ControlConfig(
        view=_with_episodes_of(preset),
        network=preset.network,
        ppo=replace(
            preset.ppo,
            imitation_coefficient=0.0,
            value_coefficient=VALUES_WITHOUT_GOALS,
            entropy_coefficient=ENTROPY_WITHOUT_GOALS,
            final_entropy_coefficient=None,
        ),
        actors=preset.actors + preset.imitators,
        steps=preset.steps,
        rewards="sign" if isinstance(preset.view, AtariView) else "plain",
        life_loss_resets=preset.life_loss_ends,
        cells=cells,
        bonus=float(bonus),
    )
