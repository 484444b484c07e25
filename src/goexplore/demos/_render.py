"""From a run folder to a video of its best trajectory."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goexplore.archive import NEVER, Archive, Best
from goexplore.demos._replay import replay, require_same
from goexplore.demos._video import video_writer
from goexplore.envs import RestorableEnv, make_env
from goexplore.errors import InputError
from goexplore.runs import RunFolder, load, run_config

ATARI_FPS = 60
OTHER_STEPS_PER_SECOND = 10.0


@dataclass(frozen=True, slots=True)
class RenderResult:
    """A video and what it shows."""

    video: Path
    score: float
    """Score of the trajectory, replayed and found equal to the archive's."""
    steps: int
    frames: int
    ends_episode: bool
    seconds: float
    """Length of the video."""


def render(
    run: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    which: str = "best",
    speed: float = 2.0,
    every: int = 1,
    trust: bool = False,
    warn: Callable[[str], None] = lambda message: None,
    **objects: Any,
) -> RenderResult:
    """Films a trajectory of a run, replayed from reset and verified.

    Args:
        run: the run folder.
        out: an .mp4 or .gif; None writes `videos/<which>.mp4` in the run folder.
        which: "best" (highest score of any cell), "end" (best end of episode) or a cell's row number.
        speed: how much faster than the game; 1 is its own speed.
        every: film every n-th step.
        trust: import the code that the run names (`package.module:name`); for your own runs.
        warn: told in one line about damaged checkpoints.
        objects: Python objects that the run used, as for `resume`.

    Raises:
        InputError: there is no such trajectory.
        GoExploreError: the replay disagrees with the archive; no video is written.
    """
    if speed <= 0 or every < 1:
        raise InputError(f"speed {speed} and every {every}: expected more than 0, and at least 1")
    folder = RunFolder.open(Path(run))
    config = run_config(folder.read_config(), trust=trust, **objects)
    loop, _, _ = load(folder, config, warn=warn)
    expected, ends = _chosen(loop.archive, which)
    path = Path(out) if out is not None else folder.videos / f"{which}.mp4"
    env = make_env(config.env, render=True)
    frames_per_step = env.frames_per_step
    steps_per_second = ATARI_FPS / frames_per_step if frames_per_step > 1 else OTHER_STEPS_PER_SECOND
    fps = steps_per_second * speed / every
    filmed = 0
    with video_writer(path, fps=fps) as add:

        def film(env: RestorableEnv, score: float, steps: int) -> None:
            nonlocal filmed
            if steps % every == 0 or steps == expected.length:
                filmed += 1
                add(env.render(), f"score {score:,.0f}   step {steps:,}   frame {steps * frames_per_step:,}")

        actions = loop.archive.forest.actions(expected.trajectory)
        require_same(replay(env, actions, on_step=film), expected, ends=ends)
    return RenderResult(
        video=path,
        score=expected.score,
        steps=expected.length,
        frames=expected.length * frames_per_step,
        ends_episode=ends,
        seconds=round(filmed / fps, 2),
    )


def _chosen(archive: Archive, which: str) -> tuple[Best, bool]:
    if which == "best":
        return archive.best(), False
    if which == "end":
        if archive.end is NEVER:
            raise InputError("no episode has ended in this run yet; film --which best instead")
        return archive.end, True
    if which.isdigit() and int(which) < len(archive):
        row = int(which)
        table = archive.table
        return Best(float(table["score"][row]), int(table["length"][row]), archive.trajectory(row)), False
    raise InputError(f"which {which!r}: expected best, end, or a row from 0 to {len(archive) - 1}")
