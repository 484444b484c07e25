"""Settings of a control."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from goexplore.envs import is_atari
from goexplore.errors import InputError
from goexplore.learn import NetworkConfig, PPOConfig
from goexplore.play import AtariView, View
from goexplore.robustification import robustify_preset

REWARDS = ("sign", "plain")


@dataclass(frozen=True, slots=True)
class ControlConfig:
    """Plain PPO, with the network and learner of a robustification."""

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

    def __post_init__(self) -> None:
        if self.actors < 1:
            raise InputError(f"actors {self.actors}: expected at least 1")
        if self.rewards not in REWARDS:
            raise InputError(f"rewards {self.rewards!r}: expected one of {', '.join(REWARDS)}")


def control_preset(name: str, env_id: str) -> ControlConfig:
    """Returns what corresponds to `robustify`'s preset of that name, with as many steps in a batch.

    Raises:
        InputError: there is no such preset.
    """
    preset = robustify_preset(name, env_id)
    return ControlConfig(
        view=preset.view,
        network=preset.network,
        ppo=replace(preset.ppo, imitation_coefficient=0.0),
        actors=preset.actors + preset.imitators,
        steps=preset.steps,
        rewards="sign" if is_atari(env_id) else "plain",
        life_loss_ends=preset.backward.life_loss_fails,
    )
