"""What a run folder says about a training."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from goexplore.errors import InputError
from goexplore.learn import NetworkConfig, PPOConfig, Ranks
from goexplore.play import view_from_json, view_to_json
from goexplore.runs import RunFolder
from goexplore.training._protocol import Trainable


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRun(ABC):
    """What is trained, as config.json has it. Subclasses add their configuration, and how a rank sets it up."""

    FORMAT: ClassVar[str]
    FORMAT_VERSION: ClassVar[int] = 1
    CONFIG: ClassVar[type]
    """The configuration's class; it has a `view`, a `network`, a `ppo`, `actors`, and other plain values."""

    config: Any
    seed: int
    ranks: int
    """Processes that train together."""
    steps: int
    """Budget in agent steps of all ranks, and what the settings that change over it are stretched over."""
    workers: int = 0
    """Processes beside each rank that step environments; 0: the rank does."""
    trust: bool = False

    def __post_init__(self) -> None:
        if self.steps <= 0:
            raise InputError(f"steps {self.steps}: expected a budget above 0")
        processes = self.ranks * max(1, self.workers)
        if self.ranks < 1 or self.workers < 0 or processes > self.config.actors:
            raise InputError(
                f"ranks {self.ranks}, workers {self.workers}, actors {self.config.actors}: expected at least one rank,"
                " and an actor for each process"
            )

        if self.config.network.memory and self.config.actors // self.ranks < self.config.ppo.minibatches:
            raise InputError(
                f"{self.config.actors} actors on {self.ranks} ranks cannot be dealt out to"
                f" {self.config.ppo.minibatches} minibatches: a network with memory learns from whole actors"
            )

    @abstractmethod
    def make(self, path: Path, ranks: Ranks) -> Trainable:
        """Sets a rank's training up, in the run folder `path`."""

    @abstractmethod
    def resume_command(self, path: Path) -> str:
        """What to type to go on with it."""

    def to_json(self) -> dict[str, Any]:
        """As it goes into config.json."""
        return {
            "format": self.FORMAT,
            "format_version": self.FORMAT_VERSION,
            "config": dataclasses.asdict(self.config) | {"view": view_to_json(self.config.view)},
            "seed": self.seed,
            "ranks": self.ranks,
            "workers": self.workers,
            "steps": self.steps,
        }

    @classmethod
    def open(cls, folder: RunFolder, *, steps: int | None, trust: bool) -> Self:
        """Reads it from a run folder.

        Args:
            folder: the folder.
            steps: a new budget.
            trust: import the environment that it names.

        Raises:
            InputError: it is not such a run, or config.json is damaged.
        """
        saved = folder.read_config(cls.FORMAT, cls.FORMAT_VERSION)
        try:
            return cls(
                config=cls.CONFIG(**cls.parts(saved["config"])),
                seed=int(saved["seed"]),
                ranks=int(saved["ranks"]),
                workers=int(saved["workers"]),
                steps=int(saved["steps"]) if steps is None else steps,
                trust=trust,
                **cls.more(saved),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"config.json is damaged or not ours ({type(error).__name__}: {error})") from error

    @classmethod
    def parts(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration's arguments, from plain values."""
        return {
            **saved,
            "view": view_from_json(saved["view"]),
            "network": NetworkConfig.from_json(saved["network"]),
            "ppo": PPOConfig(**saved["ppo"]),
        }

    @classmethod
    def more(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        """What a subclass has beside the configuration, from plain values."""
        return {}
