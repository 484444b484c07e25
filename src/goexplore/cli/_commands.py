"""The commands. Each is a dataclass: its fields are the options, their docstrings the help."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from rich.console import Console

from goexplore.cli._output import emit
from goexplore.cli._search_options import Preset, SearchOptions, parse_settings
from goexplore.errors import InputError

if TYPE_CHECKING:
    from goexplore.bench import CellsBenchmark, ExploreBenchmark
    from goexplore.bench._learn import LearnBenchmark
    from goexplore.bench._policy import PolicyBenchmark

Json = Annotated[bool, tyro.conf.arg(name="json")]
INTERRUPTED = 130


@dataclass
class Explore:
    """Explore an environment: remember, return, explore.

    For example:
      goexplore explore ALE/MontezumaRevenge-v5 --frames 2_000_000 --out runs/mz
      goexplore explore MiniGrid-MultiRoom-N6-v0 --cells my_module:cell --minutes 5
    """

    env_id: tyro.conf.Positional[str]
    """A Gymnasium id, an Atari game (search always runs it without sticky actions), or package.module:name."""
    cells: str | None = None
    """What counts as one place: dynamic[:WxHxD] (downscaled frames that adapt; starts as WxHxD), downscale[:WxHxD]
    (fixed), domain (what is known of Montezuma's Revenge or Pitfall, read from pixels), observation[:SIZE],
    ram:NAME=BYTE[/SIZE],..., shelves[:original][:lift][:VOXEL] (what is known of the robot), or package.module:name.
    Default: what the preset has for Atari (laptop: dynamic:11x8x8) and for the robot, downscale for other pictures,
    observation for whole numbers."""
    frames: int | None = None
    """Stop after this many raw frames (2,000,000 when no budget is given). Batches are not cut short."""
    minutes: float | None = None
    """Stop after this many minutes."""
    until_score: float | None = None
    """Stop once a score of at least this is reached."""
    seed: int = 0
    """One seed gives one archive, whatever the number of workers."""
    workers: int | None = None
    """Worker processes. Default: one for each core."""
    out: Path | None = None
    """The run folder. Default: a new one under runs/."""
    preset: Preset = "laptop"
    """Where the settings of the search come from: laptop (a few cores), paper (as published), original-code (as the
    authors' scripts ran) or tiny (tests). --print-config shows them."""
    search: SearchOptions = field(default_factory=SearchOptions)
    env_kwargs: tuple[str, ...] = ()
    """Settings of the environment as NAME=VALUE, for example end_on_life_loss=true frame_skip=4."""
    begin_with: Path | None = None
    """A demonstration, or a folder of them: the archive holds the cells that they go through before the search begins,
    for example those of a search for another target (--env-kwargs may differ)."""
    reset_seed: int = 0
    """Seed of every reset of a Gymnasium environment."""
    return_method: Literal["auto", "native", "mujoco", "copy", "replay"] = "auto"
    """How to return to a state of a Gymnasium environment."""
    checkpoint_seconds: float = 60.0
    """Time between checkpoints."""
    print_config: bool = False
    """Print what would be run, and stop."""
    json: Json = False
    """Print the result as one JSON object on the last line."""

    def run(self) -> int:
        """Explores."""
        from goexplore.envs import EnvSpec
        from goexplore.exploration import preset_config
        from goexplore.runs import explore, set_up

        if self.print_config:
            cells, _ = set_up(EnvSpec(self.env_id), self.cells, self.preset)
            chosen = preset_config(self.preset, cells=cells or "", **self.search.settings())
            emit(chosen, as_json=self.json, title=f"preset {self.preset}")
            return 0
        result = explore(
            self.env_id,
            cells=self.cells,
            frames=self.frames,
            minutes=self.minutes,
            until_score=self.until_score,
            out=self.out,
            seed=self.seed,
            workers=self.workers,
            preset=self.preset,
            env_kwargs=parse_settings(self.env_kwargs),
            reset_seed=self.reset_seed,
            return_method=self.return_method,
            checkpoint_seconds=self.checkpoint_seconds,
            begin_with=self._first_ways(),
            **self.search.settings(),
        )
        return _finish(result, as_json=self.json)

    def _first_ways(self) -> list[Any]:
        """The actions of the demonstrations to begin with."""
        if self.begin_with is None:
            return []
        from goexplore.demos import load_demonstrations
        from goexplore.envs import env_spec

        found = load_demonstrations(self.begin_with, trust=True)  # only their actions are used: nothing is imported
        if found[0].env.id != env_spec(self.env_id).id:
            raise InputError(
                f"{self.begin_with} holds demonstrations of {found[0].env.id}; expected some of {self.env_id}"
            )
        return [each.actions for each in found]


@dataclass
class Resume:
    """Go on with a run from its newest whole checkpoint.

    Example: goexplore resume runs/mz --frames 10_000_000
    """

    run_folder: tyro.conf.Positional[Path]
    """The run folder."""
    frames: int | None = None
    """New total of raw frames. Without any budget the run's own holds."""
    minutes: float | None = None
    """Stop after this many minutes of this session."""
    until_score: float | None = None
    """Stop once a score of at least this is reached."""
    workers: int | None = None
    """Worker processes; need not be what it was."""
    checkpoint_seconds: float = 60.0
    """Time between checkpoints."""
    trust: bool = False
    """Import the code that the run names (package.module:name). For your own runs, not for a stranger's."""
    json: Json = False
    """Print the result as one JSON object on the last line."""

    def run(self) -> int:
        """Resumes."""
        from goexplore.runs import resume

        result = resume(
            self.run_folder,
            frames=self.frames,
            minutes=self.minutes,
            until_score=self.until_score,
            workers=self.workers,
            checkpoint_seconds=self.checkpoint_seconds,
            trust=self.trust,
        )
        return _finish(result, as_json=self.json)


@dataclass
class Inspect:
    """Say what is in a run: cells, scores, digest; optionally replay some cells as a proof.

    Example: goexplore inspect runs/mz --verify 50
    """

    run_folder: tyro.conf.Positional[Path]
    """The run folder."""
    verify: int = 0
    """Replay this many cells, drawn at random, from reset in a fresh simulator."""
    seed: int = 0
    """Seed of that draw."""
    trust: bool = False
    """Import the code that the run names (package.module:name). For your own runs, not for a stranger's."""
    json: Json = False
    """Print the result as one JSON object on the last line."""

    def run(self) -> int:
        """Inspects."""
        from goexplore.demos import inspect_run

        with Console(stderr=True).status("reading and replaying ..."):
            found = inspect_run(self.run_folder, verify=self.verify, seed=self.seed, trust=self.trust, warn=warn)
        emit(
            found,
            as_json=self.json,
            next_commands=[
                f"goexplore render {self.run_folder}",
                f"goexplore resume {self.run_folder} --frames N",
            ],
        )
        return 1 if found.get("mismatches") else 0


@dataclass
class Render:
    """Film a trajectory of a run. It is replayed from reset, and no video is written if the replay disagrees.

    Example: goexplore render runs/mz --out best.mp4
    """

    run_folder: tyro.conf.Positional[Path]
    """The run folder."""
    out: Path | None = None
    """An .mp4 or .gif. Default: videos/ in the run folder."""
    which: str = "best"
    """best (highest score reached; the longest way if nothing scored), end (best end of episode), or a cell's row."""
    speed: float = 2.0
    """How much faster than the game."""
    every: int = 1
    """Film every n-th step."""
    trust: bool = False
    """Import the code that the run names (package.module:name). For your own runs, not for a stranger's."""
    json: Json = False
    """Print the result as one JSON object on the last line."""

    def run(self) -> int:
        """Renders."""
        from goexplore.demos import render

        with Console(stderr=True).status("replaying and filming ..."):
            result = render(
                self.run_folder,
                out=self.out,
                which=self.which,
                speed=self.speed,
                every=self.every,
                trust=self.trust,
                warn=warn,
            )
        emit(result, as_json=self.json, title="replayed and verified")
        return 0


@dataclass
class CheckEnv:
    """Test whether an environment keeps the promises the engine builds on; exit code 1 if it does not.

    Example: goexplore check-env my_package:MyEnv-v0
    """

    env_id: tyro.conf.Positional[str]
    """A Gymnasium id, an Atari game, or package.module:name."""
    steps: int = 2000
    """Length of the reference walk; a snapshot is taken before each step. More finds rarer faults."""
    seed: int = 0
    """Seed of the walk."""
    env_kwargs: tuple[str, ...] = ()
    """Settings of the environment as NAME=VALUE."""
    reset_seed: int = 0
    """Seed of every reset of a Gymnasium environment."""
    return_method: Literal["auto", "native", "mujoco", "copy", "replay"] = "auto"
    """How to return to a state of a Gymnasium environment."""
    json: Json = False
    """Print the result as one JSON object on the last line."""

    def run(self) -> int:
        """Checks."""
        from goexplore.envs import EnvSpec, check_env

        spec = EnvSpec(self.env_id, parse_settings(self.env_kwargs), self.reset_seed, self.return_method)
        console = Console(stderr=self.json)
        checks = []
        for check in check_env(spec, steps=self.steps, seed=self.seed):
            checks.append(check)
            mark = "[green]ok  [/]" if check.passed else "[red]FAIL[/]"
            console.print(f"{mark} {check.name}: {check.detail}", highlight=False, soft_wrap=True)
        passed = all(check.passed for check in checks)
        if self.json:
            answers = [{"name": check.name, "passed": check.passed, "detail": check.detail} for check in checks]
            emit({"env": self.env_id, "passed": passed, "checks": answers}, as_json=True)
        else:
            console.print("fit for exploration" if passed else "not fit: whatever it exports may be wrong")
        return 0 if passed else 1


@dataclass
class Bench:
    """Measure the engine against the bare simulator, or training against other programs, interleaved in one run.

    For example:
      goexplore bench explore --json
      goexplore bench explore ALE/Pitfall-v5 --cells domain
      goexplore bench cells --sample frames.npz
      goexplore bench learn --json
      goexplore bench policy --json
    """

    what: tyro.conf.Positional[Literal["explore", "cells", "learn", "policy"]]
    """explore: the exploration phase. cells: the search for the parameters of dynamic cells. learn: training, beside
    recurrent PPO in the shape of CleanRL's and that of sb3-contrib (if installed). policy: policy-based Go-Explore,
    beside plain PPO with the same network and batch."""
    env_id: tyro.conf.Positional[str] = "ALE/MontezumaRevenge-v5"
    """The environment."""
    cells: str | None = None
    """explore, policy: the cell function. Default: fixed downscaled frames, or the observation; for policy those that
    are known for the game."""
    preset: Preset = "paper"
    """explore: settings of the search."""
    workers: int | None = None
    """Processes. Default: one for each core."""
    rounds: int | None = None
    """Times each measurement is taken; medians are reported. Default: 16 for explore, 3 for cells, 5 for learn and
    policy."""
    seconds: float | None = None
    """Length of one slice of a measurement. Default: 3 for explore, 12 for learn and policy."""
    large_archive: int = 50_000
    """explore: cells in the large archive."""
    sample: Path | None = None
    """cells: a file of frames to search on; written if it is not there. Default: frames are gathered anew."""
    sample_frames: int = 10_000
    """cells: frames in the sample."""
    proposals: int = 3_000
    """cells: representations that a search tries."""
    near_best: float = 0.5
    """cells: share of proposals close to one of the few best (laptop: 0.5, paper: 0)."""
    seed: int = 0
    """Seed."""
    json: Json = False
    """Print the result as one JSON object on the last line."""

    def run(self) -> int:
        """Measures."""
        from goexplore.bench import bench_cells, bench_explore

        result: CellsBenchmark | ExploreBenchmark | LearnBenchmark | PolicyBenchmark
        if self.what == "learn":
            from goexplore.bench._learn import bench_learn  # needs PyTorch, which the others do not

            result = bench_learn(
                self.env_id,
                rounds=5 if self.rounds is None else self.rounds,
                seconds=12.0 if self.seconds is None else self.seconds,
                ranks=self.workers,
                say=warn,
            )
        elif self.what == "policy":
            from goexplore.bench._policy import bench_policy

            result = bench_policy(
                self.env_id,
                cells=self.cells,
                rounds=5 if self.rounds is None else self.rounds,
                seconds=12.0 if self.seconds is None else self.seconds,
                ranks=self.workers,
                say=warn,
            )
        elif self.what == "cells":
            result = bench_cells(
                self.env_id,
                sample=self.sample,
                frames=self.sample_frames,
                proposals=self.proposals,
                near_best=self.near_best,
                rounds=3 if self.rounds is None else self.rounds,
                workers=self.workers,
                seed=self.seed,
                say=warn,
            )
        else:
            result = bench_explore(
                self.env_id,
                cells=self.cells,
                preset=self.preset,
                workers=self.workers,
                rounds=16 if self.rounds is None else self.rounds,
                seconds=3.0 if self.seconds is None else self.seconds,
                large_archive=self.large_archive,
                seed=self.seed,
                say=warn,
            )
        emit(result, as_json=self.json, title=f"bench {self.what}")
        return 0


def _finish(result: Any, *, as_json: bool) -> int:
    interrupted = result.stopped_by == "interrupt"
    if interrupted:
        warn(f"stopped and saved; go on with: {result.resume_command or 'goexplore.resume(...)'}")
    shown = dataclasses.asdict(result)
    if not as_json:
        del shown["resume_command"]  # it is among the next commands
    trust = _trust(result.resume_command or "")
    emit(
        shown,
        as_json=as_json,
        next_commands=[
            f"goexplore render {result.run}{trust}",
            f"{result.resume_command} --frames {2 * result.frames}",
        ],
    )
    return INTERRUPTED if interrupted else 0


def _trust(command: str) -> str:
    return " --trust" if "--trust" in command else ""


def warn(message: str) -> None:
    """Prints a line on standard error."""
    print(message, file=sys.stderr, flush=True)
