"""From a run folder to a video of its best trajectory."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goexplore.archive import NEVER, Archive, Best
from goexplore.demos._demonstration import Demonstration, digest_of
from goexplore.demos._replay import Replayer
from goexplore.demos._video import shown_steps_per_second, video_writer
from goexplore.envs import AtariEnv, RestorableEnv, make_env
from goexplore.errors import InputError
from goexplore.runs import RunFolder, load, number, run_config


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
        which: "best" (highest score reached; the longest way if nothing scored), "end" (best end of episode) or
            a cell's row number.
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
    env = make_env(config.env)
    loop, codec, _ = load(folder, config, env, warn=warn)
    best = _chosen(loop.archive, which)
    path = Path(out) if out is not None else folder.videos / f"{which}.mp4"
    steps_per_second = shown_steps_per_second(env.frames_per_step, atari=isinstance(env, AtariEnv))
    fps = steps_per_second * speed / every
    filmed = 0
    with video_writer(path, fps=fps) as add:

        def film(simulator: RestorableEnv, score: float, steps: int) -> None:
            nonlocal filmed
            if steps % every == 0 or steps == best.length:
                filmed += 1
                frames = steps * env.frames_per_step
                add(simulator.render(), f"score {number(score)}   step {steps:,}   frame {frames:,}")

        replayed = Replayer(loop.archive, codec, config).verified(best, on_step=film, render=True)
    return RenderResult(
        video=path,
        score=replayed.score,
        steps=replayed.length,
        frames=replayed.length * env.frames_per_step,
        ends_episode=replayed.ended,
        seconds=round(filmed / fps, 2),
    )


def film_demonstration(
    demonstration: Demonstration, out: str | os.PathLike[str], *, speed: float = 2.0, every: int = 1
) -> Path:
    """Films a demonstration while replaying it.

    Raises:
        InputError: the replay disagrees with it; no video is written.
    """
    env = make_env(demonstration.env, render=True)
    path, score = Path(out), 0.0
    steps_per_second = shown_steps_per_second(env.frames_per_step, atari=isinstance(env, AtariEnv))
    with video_writer(path, fps=steps_per_second * speed / every) as add:
        env.reset()
        add(env.render(), "score 0   step 0")
        for step, row in enumerate(demonstration.actions, 1):
            score += env.step(env.action_space.to_env(row))[1]
            if step % every == 0 or step == len(demonstration):
                add(env.render(), f"score {number(score)}   step {step:,}")
        if score != demonstration.score or digest_of(env.fingerprint()) != demonstration.state:
            raise InputError(
                f"the demonstration does not replay here: it reaches {score:g} points instead of"
                f" {demonstration.score:g}, or ends in another state; it was recorded with {demonstration.facts}"
            )
    return path


def _chosen(archive: Archive, which: str) -> Best:
    if which == "best":
        best = archive.best()
        if best.length:
            return best
        # Nothing beats standing still: show the longest way instead of a single frame.
        return archive.cell(int(archive.table["length"].argmax()))
    if which == "end":
        if archive.end is NEVER:
            raise InputError("no episode has ended in this run yet; film --which best instead")
        return archive.end
    if which.isdigit() and int(which) < len(archive):
        return archive.cell(int(which))
    raise InputError(f"which {which!r}: expected best, end, or a row from 0 to {len(archive) - 1}")
