"""The commands that lead from runs to policies: `demos`, `robustify`, `control`, `evaluate`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tyro
from rich.console import Console
from rich.table import Table

from goexplore.cli._commands import INTERRUPTED, Json, warn
from goexplore.cli._output import emit
from goexplore.cli._search_options import parse_settings
from goexplore.errors import InputError

if TYPE_CHECKING:
    from goexplore.control import ControlResult
    from goexplore.demos import Demonstration
    from goexplore.play import View
    from goexplore.robustification import RobustifyResult


@dataclass
class Demos:
    """Take demonstrations out of runs: each is replayed from reset before it is written.

    For example:
      goexplore demos runs/mz-* --out demos/mz
      goexplore demos runs/mz-* --until-score 400 --out demos/door
      goexplore demos show demos/mz
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders."""
    out: Path = Path("demos")
    """Folder of the demonstrations; files are numbered on from those in it."""
    which: Literal["end", "best"] = "end"
    """end: the shortest among the best that reach an end of episode, as in the paper. best: at any cell."""
    until_score: float | None = None
    """The shortest way to this score instead, cut where it is reached."""
    to_last_reward: bool = False
    """Cut after the last reward."""
    count: int = 1
    """Demonstrations from each run: the shortest, then those that share least of their history."""
    trust: bool = False
    """Import the code that the runs name (package.module:name). For your own runs, not for a stranger's."""
    json: Json = False
    """Print the result as one JSON object on the last line."""

    def run(self) -> int:
        """Extracts."""
        from goexplore.demos import Choice, Demonstration, extract

        if not self.runs:
            raise InputError("no run was given: goexplore demos RUN... --out FOLDER")
        choice = Choice(self.which, self.until_score, self.to_last_reward, self.count)
        with Console(stderr=True).status("replaying ..."):
            paths = extract(list(self.runs), out=self.out, choice=choice, trust=self.trust, warn=warn)
        found = [(path, Demonstration.load(path, trust=self.trust)) for path in paths]
        if self.json:
            written = [
                {"file": str(path), "score": each.score, "steps": len(each), "ends_episode": each.ends_episode}
                for path, each in found
            ]
            emit({"out": str(self.out), "demonstrations": written}, as_json=True)
            return 0
        _table([(path.name, each) for path, each in found])
        Console().print(f"next: goexplore robustify {self.out} --out runs/policy", highlight=False, soft_wrap=True)
        return 0


@dataclass
class DemosShow:
    """Say what demonstrations are, replay them, and film one.

    Example: goexplore demos show demos/mz/demo-000.demo.npz --video key.mp4
    """

    path: tyro.conf.Positional[Path]
    """A demonstration, or a folder of them."""
    video: Path | None = None
    """Film the first one: an .mp4 or .gif."""
    trust: bool = False
    """Import the environment that it names (package.module:name)."""
    json: Json = False
    """Print the result as one JSON object on the last line."""

    def run(self) -> int:
        """Shows."""
        from goexplore.demos import film_demonstration, load_demonstrations

        found = load_demonstrations(self.path, trust=self.trust)
        if self.video is not None:
            with Console(stderr=True).status("replaying and filming ..."):
                film_demonstration(found[0], self.video)
        if self.json:
            shown = [
                {
                    "env": each.env.id,
                    "score": each.score,
                    "steps": len(each),
                    "ends_episode": each.ends_episode,
                    **each.facts,
                    **each.source,
                }
                for each in found
            ]
            emit({"demonstrations": shown, "video": str(self.video) if self.video else None}, as_json=True)
        else:
            _table([(str(index), each) for index, each in enumerate(found)])
        return 0


@dataclass
class DemosExport:
    """Write demonstrations as a local Minari dataset, with observations, for people who train with other libraries.

    Example: goexplore demos export demos/mz montezuma/first-key-v0
    """

    path: tyro.conf.Positional[Path]
    """A demonstration, or a folder of them."""
    dataset: tyro.conf.Positional[str]
    """Name of the dataset: NAMESPACE/NAME-vN."""
    trust: bool = False
    """Import the environment that they name (package.module:name)."""
    json: Json = False
    """Print the result as one JSON object on the last line."""

    def run(self) -> int:
        """Exports."""
        from goexplore.demos import load_demonstrations, to_minari

        found = load_demonstrations(self.path, trust=self.trust)
        with Console(stderr=True).status("replaying ..."):
            to_minari(found, self.dataset)
        emit({"dataset": self.dataset, "episodes": len(found), "steps": sum(map(len, found))}, as_json=self.json)
        return 0


@dataclass
class DemosImport:
    """Read demonstrations from a local Minari dataset; those of others are replayed to see that they mean the same.

    Example: goexplore demos import montezuma/first-key-v0 --out demos/mz
    """

    dataset: tyro.conf.Positional[str]
    """Name of the dataset."""
    out: Path = Path("demos")
    """Folder of the demonstrations."""
    env_id: str | None = None
    """The environment, where the dataset does not say which."""
    trust: bool = False
    """Import the environment that it names (package.module:name)."""
    json: Json = False
    """Print the result as one JSON object on the last line."""

    def run(self) -> int:
        """Imports."""
        from goexplore.demos import from_minari, save_demonstrations

        paths = save_demonstrations(from_minari(self.dataset, env_id=self.env_id, trust=self.trust), self.out)
        emit({"out": str(self.out), "files": [path.name for path in paths]}, as_json=self.json)
        return 0


@dataclass(kw_only=True)
class Training:
    """What trainings have in common."""

    out: Path = Path("runs/policy")
    """The run folder."""
    resume: Path | None = None
    """Go on with this run folder instead."""
    preset: Literal["laptop", "paper", "original-code"] = "laptop"
    """laptop (a few cores), paper (as published; for GPUs) or original-code (as the authors' scripts ran)."""
    steps: int | None = None
    """Agent steps to train for, of all actors together. Default: the preset's."""
    minutes: float | None = None
    """Stop after this many minutes of this session, if that comes first."""
    seed: int = 0
    """One seed and one number of ranks give one training."""
    ranks: int | None = None
    """Processes that train together. Default: one for each core or GPU. Under torchrun those that it started."""
    workers: int | None = None
    """Processes beside each rank that step its games. Default: some where there are GPUs, none elsewhere."""
    set: tuple[str, ...] = ()
    """Settings that differ from the preset's, as NAME=VALUE: view.random_actions=0.1 ppo.learning_rate=1e-3."""
    checkpoint_seconds: float = 120.0
    """Time between checkpoints."""
    trust: bool = False
    """Import the environment that the demonstrations or the run name (package.module:name)."""
    json: Json = False
    """Print the result as one JSON object on the last line."""

    def check(self, given: object, what: str) -> None:
        """Whether it is clear what to train."""
        if (given is None) == (self.resume is None):
            raise InputError(f"expected {what}, or --resume RUN, and not both")
        if self.resume is not None and self.set:
            raise InputError("--set belongs to a new run: one that goes on keeps its settings")


@dataclass
class Robustify(Training):
    """Train a policy that matches demonstrations under sticky actions and no-ops, with the backward algorithm.

    For example:
      goexplore robustify demos/mz --out runs/mz-policy
      goexplore robustify demos/mz --minutes 15 --seed 1 --out runs/mz-policy-1
      goexplore robustify --resume runs/mz-policy --steps 3_000_000
    """

    demonstrations: tyro.conf.Positional[Path | None] = None
    """A folder of demonstrations, or one file."""

    def run(self) -> int:
        """Trains."""
        from goexplore.robustification import resume_robustify, robustify

        self.check(self.demonstrations, "a folder of demonstrations")
        if self.resume is not None:
            result = resume_robustify(
                self.resume,
                steps=self.steps,
                minutes=self.minutes,
                ranks=self.ranks,
                trust=self.trust,
                checkpoint_seconds=self.checkpoint_seconds,
            )
        else:
            result = robustify(
                self.demonstrations or "",
                out=self.out,
                preset=self.preset,
                steps=self.steps,
                minutes=self.minutes,
                seed=self.seed,
                ranks=self.ranks,
                workers=self.workers,
                trust=self.trust,
                checkpoint_seconds=self.checkpoint_seconds,
                settings=parse_settings(self.set),
            )
        return _say(result, as_json=self.json)


@dataclass
class Control(Training):
    """Train what learns without going back, beside which Go-Explore is judged: the same network, learner and steps.

    For example:
      goexplore control ppo ALE/MontezumaRevenge-v5 --steps 1_500_000 --out runs/mz-ppo
      goexplore control ppo --resume runs/mz-ppo --steps 3_000_000
    """

    method: tyro.conf.Positional[Literal["ppo"]]
    """ppo: plain PPO from reset."""
    env_id: tyro.conf.Positional[str | None] = None
    """A Gymnasium id, an Atari game, or package.module:name."""
    env_kwargs: tuple[str, ...] = ()
    """Settings of the environment as NAME=VALUE."""

    def run(self) -> int:
        """Trains."""
        from goexplore.control import control, resume_control

        self.check(self.env_id, "an environment")
        limits: dict[str, Any] = {"minutes": self.minutes, "checkpoint_seconds": self.checkpoint_seconds}
        if self.resume is not None:
            result = resume_control(self.resume, steps=self.steps, trust=self.trust, **limits)
        else:
            result = control(
                self.env_id or "",
                out=self.out,
                preset=self.preset,
                steps=self.steps,
                seed=self.seed,
                ranks=self.ranks,
                workers=self.workers,
                env_kwargs=parse_settings(self.env_kwargs),
                settings=parse_settings(self.set),
                **limits,
            )
        return _say(result, as_json=self.json)


@dataclass
class Evaluate:
    """Test a policy: episodes from reset under sticky actions and no-ops, all lives, until 400,000 frames.

    For example:
      goexplore evaluate runs/mz-policy --episodes 1000 --at-least 100
      goexplore evaluate runs/mz-policy --select --temperature 0.5 --video median.mp4
      goexplore evaluate demos/mz --blind --at-least 100
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
    """Film an episode with the median score: an .mp4 or .gif."""
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
        from goexplore.evaluation import best_policy, evaluate, evaluate_replay
        from goexplore.runs import write_json

        with Console(stderr=True).status("playing ...") as status:

            def tell(done: int, mean: float) -> None:
                status.update(f"{done:,} of {self.episodes:,} episodes, mean {mean:,.1f}")

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
                chosen = best_policy(self.policy, say=warn, **settings) if self.select else self.policy
                limits: dict[str, Any] = {"until_score": self.until_score, "max_steps": self.max_steps}
                result = evaluate(chosen, temperature=self.temperature, video=self.video, **limits, **common)
        shown = dataclasses.asdict(result)
        if not self.blind and self.policy.is_dir():
            name = f"{Path(result.policy).stem}-{result.episodes}-seed-{self.seed}-temperature-{result.temperature:g}"
            (self.policy / "evaluations").mkdir(exist_ok=True)  # for reports
            write_json(self.policy / "evaluations" / f"{name}.json", shown)
        if not self.json:
            del shown["scores"], shown["first_life_scores"]
        title = "scores of blind replay, under noise" if self.blind else "policy scores, under noise"
        emit(shown, as_json=self.json, title=title)
        return 0

    def _noise(self) -> View:
        """What robustify's presets train under, with changes."""
        from goexplore.demos import load_demonstrations
        from goexplore.robustification import robustify_preset
        from goexplore.training import altered

        env_id = load_demonstrations(self.policy, trust=self.trust)[0].env.id
        return altered(robustify_preset("laptop", env_id).view, parse_settings(self.noise))


def _say(result: RobustifyResult | ControlResult, *, as_json: bool) -> int:
    interrupted = result.stopped_by == "interrupt"
    if interrupted:
        warn(f"stopped and saved; go on with: {result.resume_command}")
    next_commands = [f"goexplore evaluate {result.run}", result.resume_command]
    emit(dataclasses.asdict(result), as_json=as_json, next_commands=next_commands)
    return INTERRUPTED if interrupted else 0


def _table(found: list[tuple[str, Demonstration]]) -> None:
    table = Table(title="demonstrations (search scores)", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for name in ("file", "environment", "score", "steps", "frames", "ends episode", "from"):
        table.add_column(name, justify="right" if name in ("score", "steps", "frames") else "left", overflow="fold")
    for name, each in found:
        table.add_row(
            name,
            each.env.id,
            f"{each.score:,.6g}",
            f"{len(each):,}",
            f"{len(each) * each.frames_per_step:,}",
            "yes" if each.ends_episode else "no",
            str(each.source.get("run", "")),
        )
    Console().print(table)
