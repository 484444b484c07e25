"""The commands about demonstrations: `demos`, `demos show`, `demos export`, `demos import`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import tyro
from rich.console import Console
from rich.table import Table

from goexplore.cli._commands import Json, warn
from goexplore.cli._output import emit
from goexplore.errors import InputError

if TYPE_CHECKING:
    from goexplore.demos import Demonstration


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
