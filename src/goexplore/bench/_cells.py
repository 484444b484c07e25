"""`bench cells`: the search for downscaling parameters, on a sample of real frames."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from goexplore.cells import Sample, search
from goexplore.envs import env_spec, make_env, resolved
from goexplore.errors import InputError
from goexplore.executors import ProcessExecutor, available_cores
from goexplore.exploration import preset_config
from goexplore.runs import RunConfig, start

GATHERING = {"sample_probability": 0.1, "first_steps": 1 << 60}
"""The sample of a search with fixed cells, filled in about 100,000 steps."""
START_CELLS = "dynamic:11x8x8"
FRACTION = 10
"""How many times more proposals the long search tries."""


@dataclass(frozen=True, slots=True)
class CellsBenchmark:
    """One search of the usual length for each seed, and one that is ten times as long."""

    env: str
    frames: int
    proposals: int
    near_best: float
    search_seconds: float
    """Median over seeds; integrating the frames included."""
    search_seconds_each: tuple[float, ...]
    score: float
    """Median objective that the search reaches."""
    score_each: tuple[float, ...]
    long_score: float
    """Objective of a search ten times as long, with the first seed."""
    score_ratio: float
    """The worst seed's objective over that of the long search."""
    found_each: tuple[str, ...]
    """Width, height and depth that each came to."""


def bench_cells(
    env_id: str = "ALE/MontezumaRevenge-v5",
    *,
    sample: Path | None = None,
    frames: int = 10_000,
    proposals: int = 3_000,
    near_best: float = 0.5,
    rounds: int = 3,
    workers: int | None = None,
    seed: int = 0,
    say: Callable[[str], None] = lambda message: None,
) -> CellsBenchmark:
    """Measures; takes some minutes with the defaults.

    Args:
        env_id: the environment the frames come from.
        sample: a file of frames; made if it is not there.
        frames: frames in the sample.
        proposals: representations that a search tries.
        near_best: share of proposals drawn close to one of the few best.
        rounds: searches, each with a seed of its own.
        workers: processes that gather frames; None takes one for each core.
        seed: the first seed.
        say: told what is going on.
    """
    if frames < 2 or proposals < 1 or rounds < 1:
        raise InputError(f"frames {frames}, proposals {proposals}, rounds {rounds}: expected at least 2, 1 and 1")
    if not 0 <= near_best <= 1:
        raise InputError(f"near_best {near_best}: expected 0 to 1")
    pictures = _read(sample) if sample is not None and sample.exists() else None
    if pictures is None:
        say(f"gathering {frames:,} frames of {env_id} ...")
        pictures = _gathered(env_id, frames, workers or available_cores(), seed)
        if sample is not None:
            np.savez_compressed(sample, frames=pictures)
    Sample(pictures[:2]).counts(2, 2, 2)  # the kernel is compiled once for all time
    times, found = [], []
    for number in range(rounds):
        started = time.perf_counter()
        rng = np.random.default_rng(seed + number)
        found.append(search(Sample(pictures), rng, proposals=proposals, near_best=near_best))
        times.append(round(time.perf_counter() - started, 2))
        say(f"{times[-1]:.1f} s: {found[-1]}")
    say(f"a search {FRACTION} times as long ...")
    rng = np.random.default_rng(seed)
    long = search(Sample(pictures), rng, proposals=FRACTION * proposals, near_best=near_best)
    say(str(long))
    scores = [one.score for one in found]
    return CellsBenchmark(
        env=env_id,
        frames=len(pictures),
        proposals=proposals,
        near_best=near_best,
        search_seconds=float(np.median(times)),
        search_seconds_each=tuple(times),
        score=round(float(np.median(scores)), 4),
        score_each=tuple(round(score, 4) for score in scores),
        long_score=round(long.score, 4),
        score_ratio=round(min(scores) / long.score, 4),
        found_each=tuple(f"{one.width}x{one.height}x{one.depth}" for one in found),
    )


def _gathered(env_id: str, frames: int, workers: int, seed: int) -> NDArray[np.uint8]:
    spec = env_spec(env_id)
    env = make_env(spec)
    fitting = GATHERING | {"sample_frames": frames, "least_frames": min(frames, 1_000)}
    config = RunConfig(resolved(spec, env), START_CELLS, preset_config("paper", fitting=fitting), seed)
    loop, codec = start(config, env)
    if loop.adaptation is None:
        raise ValueError("these cells do not adapt")
    executor = ProcessExecutor(workers)
    executor.open(config.worker_spec(loop, codec), loop.everything)
    try:
        while loop.adaptation.sampled < frames:
            executor.submit(loop.ask())
            loop.tell(executor.collect())
            executor.publish(loop.news())
        return loop.adaptation.sample()
    finally:
        executor.close()


def _read(path: Path) -> NDArray[np.uint8]:
    try:
        with np.load(path, allow_pickle=False) as saved:
            frames: NDArray[np.uint8] = saved["frames"]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path} holds no frames that `bench cells` wrote ({error})") from error
    if frames.ndim != 3 or frames.dtype != np.uint8:
        raise InputError(f"{path}: expected uint8 frames, (n, height, width); got {frames.dtype} {frames.shape}")
    return frames
