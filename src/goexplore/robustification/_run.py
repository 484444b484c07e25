"""What a robustification run is, and what it comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from goexplore.demos import load_demonstrations
from goexplore.learn import Ranks
from goexplore.policies import Policy
from goexplore.robustification._cloning import CloningConfig
from goexplore.robustification._config import BackwardConfig, RobustifyConfig
from goexplore.robustification._training import Training
from goexplore.training import TrainingRun

FIRST = "first-policy.safetensors"
"""In a run folder, where there is one: the policy that the training began with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RobustifyRun(TrainingRun):
    """A training with demonstrations, which are in the run folder."""

    FORMAT: ClassVar[str] = "goexplore-robustification"
    CONFIG: ClassVar[type] = RobustifyConfig

    def make(self, path: Path, ranks: Ranks) -> Training:
        """Sets a rank's training up."""
        demonstrations = load_demonstrations(path / "demonstrations", trust=self.trust)
        first = Policy.load(path / FIRST, trust=self.trust) if (path / FIRST).exists() else None
        return Training(demonstrations, self.config, seed=self.seed, ranks=ranks, workers=self.workers, first=first)

    def resume_command(self, path: Path) -> str:
        """What to type to go on with it."""
        return f"goexplore robustify --resume {path}" + (" --trust" if self.trust else "")

    @classmethod
    def parts(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration's arguments, from plain values."""
        return {
            **TrainingRun.parts(saved),
            "backward": BackwardConfig(**saved["backward"]),
            "cloning": CloningConfig(**saved["cloning"]),
        }


@dataclass(frozen=True, slots=True)
class RobustifyResult:
    """What a robustification came to. Its scores are those of training episodes: test with goexplore evaluate."""

    run: Path
    iterations: int
    steps: int
    frames: int
    way_to_start: float | None
    """Share of the way from the demonstrations' ends to their starts; None if there was nothing to do."""
    training_score: float | None
    """Mean score of the latest training episodes from reset, under all noise; a policy score, not a search score."""
    training_first_life_score: float | None
    seconds: float
    stopped_by: str
    resume_command: str
