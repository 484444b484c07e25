"""Many runs, each in a process of its own, started and watched from here.

The loop it lives in:

    while waiting or running:
        start runs until `jobs` are under way
        note what the running ones have said; write it down
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

from goexplore.errors import GoExploreError, InputError
from goexplore.executors import available_cores
from goexplore.plugins import import_paths
from goexplore.runs import CHECKPOINT_SECONDS, RunFolder, number, provenance
from goexplore.runs._interrupt import StopRequest
from goexplore.sweeps._job import INTERRUPTED, Job
from goexplore.sweeps._plan import Settings, Target, checked_seeds, checked_settings, targets
from goexplore.sweeps._records import RunRecord, read_sweep, write_sweep
from goexplore.sweeps._view import RunStatus, SweepStatus, View, last_metrics, make_view

POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What a sweep came to. Its scores are search scores."""

    out: Path
    records: list[RunRecord]
    """Every run asked for, in order."""
    seconds: float
    """Time of this session."""
    stopped_by: str
    """done or interrupt."""
    failed: list[str]
    """Runs that failed, with the reason; the same call tries them again."""
    unverified: list[str]
    """Runs of which a score did not replay, with what differed."""

    @property
    def table(self) -> Path:
        """The table for people."""
        return self.out / "sweep.md"


def sweep(
    games: str | Sequence[str],
    *,
    seeds: int | Sequence[int] = 0,
    frames: int = 2_000_000,
    out: str | os.PathLike[str],
    jobs: int = 1,
    preset: str = "laptop",
    cells: str | Callable[..., Any] | None = None,
    env_kwargs: dict[str, Any] | None = None,
    verify: bool = True,
    random: bool = False,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    progress: bool = True,
    **settings: Any,
) -> SweepResult:
    """Explores many games with many seeds, each as a run folder `OUT/<game>/seed-<n>`, and writes one table.

    The same call goes on where the last one stopped: finished runs are left alone, half-done ones are resumed from
    their checkpoint, failed ones are tried again. More games, more seeds or more frames may be asked for.

    Args:
        games: names or ids of environments, "focus" (the paper's 11) or "all" (its 55).
        seeds: seeds for each game.
        frames: raw frames of each run.
        out: folder of the sweep.
        jobs: runs side by side; the cores are shared out evenly, at least one worker each.
        preset: "laptop", "paper", "original-code" or "tiny".
        cells: as for `explore`, by name.
        env_kwargs: arguments of every environment.
        verify: replay the best and the best end-of-episode score of each run from reset.
        random: play as many frames at random in the same environment, on one core, to compare with.
        checkpoint_seconds: time between checkpoints of a run.
        progress: show progress on standard error.
        settings: fields of ExplorationConfig that differ from the preset; parts by name.

    Raises:
        InputError: something about the arguments or the folder is wrong; nothing has been started.
    """
    if jobs < 1:
        raise InputError(f"jobs {jobs}: expected at least 1")
    if frames <= 0:
        raise InputError(f"frames {frames:,}: expected a budget above 0, for example 2_000_000")
    chosen = checked_settings(preset, cells, env_kwargs, settings)
    listed, numbers = targets(games, chosen.env_kwargs), checked_seeds(seeds)
    folder = _open(Path(out))
    view = make_view(progress=progress)
    try:
        book = _Book(folder.path, chosen, frames, listed, numbers)
        stages = {record.run: record.stages_left(frames=frames, verify=verify, random=random) for record in book.asked}
        driver = _Driver(book, chosen, view, stages, frames=frames, jobs=jobs, checkpoint_seconds=checkpoint_seconds)
        return driver.drive()
    except OSError as error:
        raise GoExploreError(
            f"{folder.path} cannot be written ({error.strerror or error}); the runs keep their last checkpoints. Make"
            " room, and start the sweep again to go on"
        ) from error
    finally:
        view.close()
        folder.unlock()


def _open(out: Path) -> RunFolder:
    """Makes or opens the folder of a sweep, and claims it."""
    if (out / "config.json").exists():
        raise InputError(f"{out} is a run folder, not a sweep; give another --out")
    try:
        if not (out / "sweep.json").exists() and out.exists():
            if not out.is_dir():
                raise InputError(f"{out} is a file; expected a folder for the sweep")
            if any(not child.name.startswith(".") for child in out.iterdir()):
                raise InputError(f"{out} is not empty and holds no sweep; give another --out")
        out.mkdir(parents=True, exist_ok=True)
        folder = RunFolder(out)
        folder.lock()
    except OSError as error:
        raise InputError(f"the sweep folder {out} cannot be made: {error.strerror or error}") from error
    return folder


class _Book:
    """The sweep's records, on disk after every change."""

    def __init__(self, out: Path, settings: Settings, frames: int, listed: list[Target], seeds: list[int]) -> None:
        self.out = out
        known: dict[str, RunRecord] = {}
        if (out / "sweep.json").exists():
            saved, records = read_sweep(out)
            before, now = saved.get("settings"), settings.to_json()
            if not isinstance(before, dict):
                raise InputError(f"{out / 'sweep.json'} is damaged: it has no settings")
            for name in now:
                if before.get(name) != now[name]:
                    raise InputError(
                        f"{out} holds a sweep with {name} {json.dumps(before.get(name))}, and got"
                        f" {json.dumps(now[name])}: its table would compare different things; give another --out"
                    )
            # A run whose folder is gone has to be run again.
            known = {record.run: record for record in records if (out / record.run / "config.json").exists()}
        for seed in seeds:  # every game once before any game twice
            for target in listed:
                fresh = RunRecord(target.label, target.env_id, seed, f"{target.label}/seed-{seed}")
                known.setdefault(fresh.run, fresh)
        self._names = [f"{target.label}/seed-{seed}" for seed in seeds for target in listed]
        self._records = known
        self._about = {"settings": settings.to_json(), "frames": frames, "provenance": provenance()}
        self.write()

    @property
    def asked(self) -> list[RunRecord]:
        """The runs that were asked for this time, in the order to run them."""
        return [self._records[name] for name in self._names]

    def __getitem__(self, name: str) -> RunRecord:
        """The run in that folder."""
        return self._records[name]

    def update(self, name: str, **values: Any) -> None:
        """Notes something about a run."""
        self._records[name] = replace(self._records[name], **values)
        self.write()

    def write(self) -> None:
        """Writes the files of the sweep."""
        write_sweep(self.out, self._about, sorted(self._records.values(), key=lambda run: (run.game, run.seed)))


class _Driver:
    """Starts runs, listens to them, and stops them."""

    def __init__(
        self,
        book: _Book,
        settings: Settings,
        view: View,
        stages: dict[str, tuple[str, ...]],
        *,
        frames: int,
        jobs: int,
        checkpoint_seconds: float,
    ) -> None:
        self._book, self._settings, self._view, self._stages = book, settings, view, stages
        self._frames, self._checkpoint_seconds = frames, checkpoint_seconds
        self._waiting = deque(record for record in book.asked if stages[record.run])
        self._finished = len(book.asked) - len(self._waiting)
        self._jobs = max(1, min(jobs, len(self._waiting)))
        self._workers = max(1, available_cores() // self._jobs)
        self._running: list[_Process] = []
        self._failed: set[str] = set()
        self._started = time.monotonic()
        self._frames_at_start: int | None = None

    def drive(self) -> SweepResult:
        """Runs everything that is left."""
        self._introduce()
        with StopRequest() as stop:
            try:
                while (self._waiting or self._running) and not stop.requested:
                    while self._waiting and len(self._running) < self._jobs:
                        self._start(self._waiting.popleft())
                    self._listen()
                    self._view.show(self._status())
                    time.sleep(POLL_SECONDS)
                if self._running:
                    self._view.say(f"saving {len(self._running)} run{'s' * (len(self._running) > 1)} ...")
                    for process in self._running:
                        process.ask_to_stop()
                while self._running:  # a second Ctrl-C does not wait, and kills them
                    self._listen(stopping=True)
                    time.sleep(POLL_SECONDS)
            finally:
                for process in self._running:
                    process.kill()
        records = self._book.asked
        return SweepResult(
            out=self._book.out,
            records=records,
            seconds=round(time.monotonic() - self._started, 2),
            stopped_by="interrupt" if stop.requested else "done",
            failed=[f"{record.label}: {record.error}" for record in records if record.error is not None],
            unverified=[f"{record.label}: {record.mismatch}" for record in records if record.mismatch is not None],
        )

    def _introduce(self) -> None:
        asked, into = len(self._book.asked), f"{self._frames:,} frames each, in {self._book.out}"
        if not self._waiting:
            self._view.say(f"all {asked} runs of {into} are finished; for more, ask for more frames, games or seeds")
            return
        finished = f", {self._finished} of them finished already" if self._finished else ""
        self._view.say(f"sweep of {asked} run{'s' * (asked > 1)} of {into}{finished}")
        self._view.say(
            f"{self._jobs} at a time, with {self._workers} worker{'s' * (self._workers > 1)} each; what each one says"
            " is in its .log"
        )

    def _start(self, record: RunRecord) -> None:
        self._book.update(record.run, error=None)
        job = Job(
            run=str(self._book.out / record.run),
            env_id=record.env_id,
            seed=record.seed,
            frames=self._frames,
            workers=self._workers,
            **self._settings.to_json(),
            checkpoint_seconds=self._checkpoint_seconds,
            stages=self._stages[record.run],
            explored_frames=record.frames,
        )
        self._running.append(_Process(record, job))

    def _listen(self, *, stopping: bool = False) -> None:
        """Notes what runs have said, and which have ended."""
        for process in list(self._running):
            ended = process.popen.poll() is not None
            for answer in process.answers():  # after the poll, so that nothing said before the end is missed
                process.stage = answer.pop("stage", process.stage)
                if answer:
                    self._book.update(process.record.run, **answer)
            if ended:
                self._running.remove(process)
                self._ended(process, stopping=stopping)

    def _ended(self, process: _Process, *, stopping: bool) -> None:
        process.close()
        name, code = process.record.run, process.popen.returncode
        record = self._book[name]
        if code == 0:
            self._finished += 1
            self._view.say(_told(record))
            return
        if stopping and (code == INTERRUPTED or code < 0):
            return
        self._failed.add(name)
        if record.error is None:  # it died without a word
            told = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            self._book.update(name, error=f"its process {told}; see {process.log}")
        self._view.say(f"{record.label}: FAILED: {self._book[name].error}")

    def _status(self) -> SweepStatus:
        running = tuple(process.status() for process in self._running)
        now = {process.record.run: status.frames for process, status in zip(self._running, running, strict=True)}
        records = [record for record in self._book.asked if record.run not in self._failed]
        frames = sum(min(self._frames, max(record.frames, now.get(record.run, 0))) for record in records)
        if self._frames_at_start is None:
            self._frames_at_start = frames
        rate = (frames - self._frames_at_start) / (time.monotonic() - self._started)
        total = max(1, self._frames * len(records))
        return SweepStatus(
            runs=len(self._book.asked),
            finished=self._finished,
            failed=len(self._failed),
            share_done=frames / total,
            seconds_left=(total - frames) / rate if rate > 0 else None,
            running=running,
        )


class _Process:
    """A run under way.

    It has a process group of its own, so that Ctrl-C is ours to handle, and a pipe to us as its standard input:
    if we are killed, the pipe closes and the run saves and leaves.
    """

    def __init__(self, record: RunRecord, job: Job) -> None:
        self.record, self._run = record, Path(job.run)
        self.stage = "exploring" if "explore" in job.stages else "replaying"
        self.log = self._run.with_name(f"{self._run.name}.log")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._log: IO[bytes] = self.log.open("ab")
        self._started, self._unread = time.monotonic(), b""
        self.popen = subprocess.Popen(
            [sys.executable, "-P", "-m", "goexplore.sweeps._child", json.dumps(asdict(job))],
            env=os.environ | {"PYTHONPATH": import_paths()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            process_group=0,
            bufsize=0,
        )
        assert self.popen.stdout is not None
        self._answers = self.popen.stdout
        os.set_blocking(self._answers.fileno(), False)

    def answers(self) -> list[dict[str, Any]]:
        """What it has said since the last time."""
        while chunk := self._answers.read(65536):
            self._unread += chunk
        *lines, self._unread = self._unread.split(b"\n")
        return [json.loads(line) for line in lines]

    def status(self) -> RunStatus:
        """Where it stands, from its metrics."""
        metrics = last_metrics(self._run)
        return RunStatus(
            label=self.record.label,
            stage=self.stage,
            frames=int(metrics.get("frames", 0)),
            frames_per_second=float(metrics.get("frames_per_second", 0.0)),
            cells=int(metrics.get("cells", 0)),
            best_score=metrics.get("best_score"),
            end_score=metrics.get("end_score"),
        )

    def ask_to_stop(self) -> None:
        """Asks it to save and leave."""
        self.popen.terminate()

    def kill(self) -> None:
        """Ends it at once; its workers leave with it."""
        self.popen.kill()
        self.popen.wait()
        self.close()

    def close(self) -> None:
        """Gives its files back."""
        self._log.close()
        self._answers.close()
        if self.popen.stdin is not None:
            self.popen.stdin.close()


def _told(record: RunRecord) -> str:
    end = "no end of episode" if record.end_score is None else f"{number(record.end_score)} at end of episode"
    replayed = {"yes": ", replayed", "NO": ", DOES NOT REPLAY"}.get(record.replayed, "")
    return (
        f"{record.label}: done · {record.frames:,} frames · {record.cells:,} cells · best {number(record.best_score)},"
        f" {end}{replayed}"
    )
