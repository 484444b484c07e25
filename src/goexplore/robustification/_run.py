"""What a robustification run is, and what it comes to."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goexplore.errors import InputError
from goexplore.learn import NetworkConfig, PPOConfig
from goexplore.play import AtariView, PlainView
from goexplore.robustification._config import BackwardConfig, RobustifyConfig

FORMAT, FORMAT_VERSION = "goexplore-robustification", 1


@dataclass(frozen=True, slots=True)
class RobustifyRun:
    """What a robustification run is, as config.json has it."""

    config: RobustifyConfig
    seed: int
    ranks: int
    steps: int
    """Budget in agent steps of all actors, and what the settings that change over the training are stretched over."""
    trust: bool = False

    def to_json(self) -> dict[str, Any]:
        """As it goes into config.json."""
        config = dataclasses.asdict(self.config)
        config["view"]["kind"] = "atari" if isinstance(self.config.view, AtariView) else "plain"
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "config": config,
            "seed": self.seed,
            "ranks": self.ranks,
            "steps": self.steps,
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any], *, trust: bool) -> RobustifyRun:
        """Rebuilds it.

        Raises:
            InputError: config.json is damaged.
        """
        try:
            config = dict(saved["config"])
            view, network = dict(config["view"]), dict(config["network"])
            kind = {"atari": AtariView, "plain": PlainView}[view.pop("kind")]
            network["convolutions"] = tuple(tuple(each) for each in network["convolutions"])
            network["hidden"] = tuple(network["hidden"])
            return cls(
                RobustifyConfig(
                    view=kind(**view),
                    network=NetworkConfig(**network),
                    ppo=PPOConfig(**config["ppo"]),
                    backward=BackwardConfig(**config["backward"]),
                    actors=config["actors"],
                    imitators=config["imitators"],
                    steps=config["steps"],
                ),
                seed=int(saved["seed"]),
                ranks=int(saved["ranks"]),
                steps=int(saved["steps"]),
                trust=trust,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"config.json is damaged or not ours ({type(error).__name__}: {error})") from error


@dataclass(frozen=True, slots=True)
class RobustifyResult:
    """What a robustification came to. Its scores are those of training episodes: test with goexplore evaluate."""

    run: Path
    iterations: int
    steps: int
    frames: int
    done: float
    """Share of the way from the demonstrations' ends to their starts."""
    training_score: float | None
    """Mean score of the latest training episodes from reset, under all noise; a policy score, not a search score."""
    training_first_life_score: float | None
    seconds: float
    stopped_by: str
    resume_command: str
