"""The command that tests policies: `evaluate`."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro

from goexplore.cli._commands import Json, warn
from goexplore.cli._output import emit, episodes_shown
from goexplore.cli._search_options import parse_settings
from goexplore.errors import InputError

if TYPE_CHECKING:
    from goexplore.play import View


OPTIONS_OF_RETURNS = ("policy", "episodes", "returns_to", "seed", "temperature", "trust", "video", "json")
"""Those that make sense for runs of policy-based Go-Explore."""


@dataclass
class Evaluate:
    """Test a policy: episodes from reset under sticky actions and no-ops, all lives, until 400,000 frames.

    For example:
      goexplore evaluate runs/mz-policy --episodes 1000 --at-least 100
      goexplore evaluate runs/mz-policy --select --temperature 0.5 --video median.mp4
      goexplore evaluate demos/mz --blind --at-least 100
      goexplore evaluate runs/mz-pb --returns-to score=100 --video return.mp4

    A run of policy-based Go-Explore is tested by returning to the cell with the highest score.
    """

    policy: tyro.conf.Positional[Path]
    """A .safetensors file, or a run folder, whose newest policy is taken; with --blind demonstrations."""
    episodes: int = 100
    """How many."""
    select: bool = False
    """Choose the best of the run's policies on 100 other episodes first, as in the paper."""
    temperature: float = 1.0
    """1 plays as trained, the paper's code tests Atari at 0.5, 0 takes the likeliest action."""
    at_least: tuple[float, ...] = ()
    """Scores of which to say how many episodes reach them."""
    until_score: float | None = None
    """End an episode that has reached this score. Default, as in the paper: play on."""
    max_steps: int | None = None
    """End an episode after so many agent steps. Default: at the frame limit."""
    video: Path | None = None
    """Film an episode with the median score, or the return that scores most: an .mp4 or .gif."""
    returns_to: str = "best"
    """Of a run of policy-based Go-Explore: return to the cell with the highest score (best), to one with at least
    some score (score=400), to cells drawn evenly (uniform), or to one by its attributes, as in x=3,y=0. Of several, to
    the one with the best record in the training's returns."""
    blind: bool = False
    """Replay demonstrations blindly instead, under the same noise: what a policy has to be better than."""
    noise: tuple[str, ...] = ()
    """With --blind: noise that differs from the presets', as NAME=VALUE: sticky=0.25, or random_actions=0.1."""
    seed: int = 0
    """Seed of all episodes; another one gives new ones."""
    workers: int | None = None
    """Processes. Default: one for each core."""
    trust: bool = False
    """Import the environment that the policy names (package.module:name)."""
    json: Json = False
    """Print the result as one JSON object on the last line."""

    def run(self) -> int:
        """Evaluates."""
        from goexplore.demos import check_video
        from goexplore.evaluation import best_policy, evaluate, evaluate_replay
        from goexplore.runs import write_json

        if _returns(self.policy):
            return self._test_returns()
        if self.returns_to != "best":
            raise InputError("--returns-to is for runs of policy-based Go-Explore")
        with episodes_shown(self.episodes) as tell:
            settings: dict[str, Any] = {"workers": self.workers, "trust": self.trust}
            common = settings | {
                "episodes": self.episodes,
                "seed": self.seed,
                "at_least": self.at_least,
                "on_episode": tell,
            }
            if self.blind:
                result = evaluate_replay(self.policy, self._noise(), **common)
            else:
                settings["temperature"] = self.temperature
                if self.video is not None:
                    check_video(self.video)
                chosen = best_policy(self.policy, say=warn, **settings) if self.select else self.policy
                limits: dict[str, Any] = {"until_score": self.until_score, "max_steps": self.max_steps}
                result = evaluate(chosen, temperature=self.temperature, video=self.video, **limits, **common)
        shown = dataclasses.asdict(result)
        if not self.blind and (self.policy / "config.json").exists():  # a run folder
            name = f"{Path(result.policy).stem}-{result.episodes}-{_drawn(self.seed, result.temperature)}"
            (self.policy / "evaluations").mkdir(exist_ok=True)  # for reports
            write_json(self.policy / "evaluations" / f"{name}.json", shown)
        if not self.json:
            del shown["scores"], shown["first_life_scores"]
        title = "scores of blind replay, under noise" if self.blind else "policy scores, under noise"
        emit(shown, as_json=self.json, title=title)
        return 0

    def _test_returns(self) -> int:
        from goexplore.policy_based import evaluate_returns
        from goexplore.runs import write_json

        for field in dataclasses.fields(self):
            if field.name not in OPTIONS_OF_RETURNS and getattr(self, field.name) != field.default:
                option = field.name.replace("_", "-")
                raise InputError(f"--{option} is not for runs of policy-based Go-Explore, whose returns are tested")
        with episodes_shown(self.episodes) as tell:
            result = evaluate_returns(
                self.policy,
                episodes=self.episodes,
                to=self.returns_to,
                seed=self.seed,
                temperature=self.temperature,
                trust=self.trust,
                video=self.video,
                on_episode=tell,
            )
        shown = dataclasses.asdict(result)
        (self.policy / "evaluations").mkdir(exist_ok=True)
        to = re.sub(r"[^\w=,.-]+", "-", result.to)
        name = f"returns-{to}-{result.steps_trained}-{result.episodes}-{_drawn(self.seed, result.temperature)}"
        write_json(self.policy / "evaluations" / f"{name}.json", shown)
        if not self.json:
            del shown["scores"]
        emit(shown, as_json=self.json, title="returns of the policy, under noise")
        return 0

    def _noise(self) -> View:
        """What robustify's presets train under, with changes."""
        from goexplore.demos import load_demonstrations
        from goexplore.robustification import robustify_preset
        from goexplore.training import altered

        env_id = load_demonstrations(self.policy, trust=self.trust)[0].env.id
        return altered(robustify_preset("laptop", env_id).view, parse_settings(self.noise))


def _drawn(seed: int, temperature: float) -> str:
    """How chance was drawn, as a part of a file's name."""
    return f"seed-{seed}-temperature-{temperature:g}"


def _returns(path: Path) -> bool:
    """Whether a path is a run of policy-based Go-Explore."""
    from goexplore.runs import read_json

    config = path / "config.json"
    return config.exists() and read_json(config).get("format") == "goexplore-policy-based"
