"""`bench explore`: the whole engine against the bare simulator, and how it fares as the archive grows.

Everything that is compared is measured in turns within one run, because the machine may be shared.
"""

from __future__ import annotations

import math
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from goexplore.bench._breakdown import breakdown
from goexplore.bench._compare import compare
from goexplore.bench._engine import Engine
from goexplore.bench._memory import release_free_memory, resident_bytes
from goexplore.bench._raw import RawSimulators, steps_bare_mujoco
from goexplore.cells import Fitting
from goexplore.envs import RestorableEnv, env_spec, make_env, resolved
from goexplore.errors import InputError
from goexplore.executors import available_cores
from goexplore.exploration import ExplorationLoop, preset_config
from goexplore.runs import CHECKPOINT_SECONDS, RunConfig, default_cells, set_up, write_checkpoint

WARM_UP_ITERATIONS = 8
SMALL_ARCHIVE = 500
FIXED_CELLS_PRESET = "tiny"
"""Whose cells are taken if none are named: fits depend on how long a run is."""
FINE_CELLS = "downscale:16x21x8"
"""Cells fine enough that a minute of exploring a picture finds tens of thousands."""
MEMORY_SEARCH_CELLS = 20_000
MEMORY_SEARCH_SECONDS = 180.0
HORIZON_STEPS = 5_000_000
FULL_SAMPLE_PROBABILITY = 0.2
FULL_SAMPLE_ITERATIONS = 40


@dataclass(frozen=True, slots=True)
class ExploreBenchmark:
    """Medians over all rounds. Steps are agent steps, all cores together."""

    env: str
    cells: str
    workers: int
    raw_steps_per_second: float
    engine_steps_per_second: float
    ratio_to_raw_emulator: float
    """Median over rounds of the engine's rate over the bare simulator's, measured in turns."""
    ratio_to_raw_interval: tuple[float, float]
    """95% bootstrap interval of that median."""
    emulator_share: float
    """Where a worker's time goes, measured in one process: the simulator itself ..."""
    observation_share: float
    """... reading the observation ..."""
    cell_key_share: float
    snapshot_share: float
    return_share: float
    bookkeeping_share: float
    """... and the rest of the rollout."""
    small_archive: int
    large_archive: int
    small_steps_per_second: float
    large_steps_per_second: float
    ratio_large_archive: float
    ratio_large_interval: tuple[float, float]
    serial_us_per_step: float
    """Select and merge, with the large archive."""
    select_us_per_step: float
    merge_us_per_step: float
    main_process_us_per_step: float
    """All the main process's processor time, messages included, with the large archive."""
    ratio_between_fits: float | None
    """For cells that adapt themselves: the engine's rate over the bare simulator's while nothing is fitted;
    `ratio_to_raw_emulator` then includes the fits."""
    fit_seconds: float | None
    """One fit to a full sample, conversion of the archive included."""
    fits: int | None
    """Fits that the schedule has within the horizon."""
    horizon_steps: int | None
    """Agent steps over which fits are counted."""
    bytes_per_cell: float | None
    """Growth of the main process for each cell, over a real search with fine cells."""
    worker_bytes_per_cell: float | None
    """Growth of one worker, which knows each cell's key, score and length."""
    bytes_measured_over_cells: int | None
    checkpoint_seconds: float
    """Time to write a checkpoint of the large archive."""
    checkpoint_share: float
    """Its share of a long run, at the default interval."""


def bench_explore(
    env_id: str = "ALE/MontezumaRevenge-v5",
    *,
    cells: str | None = None,
    preset: str = "paper",
    workers: int | None = None,
    rounds: int = 16,
    seconds: float = 3.0,
    large_archive: int = 50_000,
    seed: int = 0,
    say: Callable[[str], None] = lambda message: None,
) -> ExploreBenchmark:
    """Measures; takes some minutes with the defaults.

    Args:
        env_id: the environment.
        cells: the cell function; None takes fixed downscaled frames, or the observation.
        preset: settings of the search.
        workers: processes; None takes one for each core.
        rounds: times that each measurement is taken.
        seconds: length of one slice.
        large_archive: cells in the large archive.
        seed: seed of the runs.
        say: told what is going on.
    """
    if rounds < 1 or seconds <= 0 or large_archive <= SMALL_ARCHIVE:
        raise InputError(
            f"rounds {rounds}, seconds {seconds}, large_archive {large_archive}: expected at least 1, above 0, and"
            f" above {SMALL_ARCHIVE}"
        )
    workers = available_cores() if workers is None else workers
    chosen, spec = set_up(env_spec(env_id), cells, preset)
    env = make_env(spec)
    chosen = default_cells(env, FIXED_CELLS_PRESET) if chosen is None else chosen
    config = RunConfig(resolved(spec, env), chosen, preset_config(preset, cells=chosen), seed)

    say("memory: a search with fine cells ...")
    memory = None
    if _is_gray_picture(env):
        more_cells = min(MEMORY_SEARCH_CELLS, large_archive)
        memory = _memory_per_cell(replace(config, cells=FINE_CELLS), env, workers, more_cells)
    say("warming up ...")
    engine = Engine(config, env, workers)
    for _ in range(WARM_UP_ITERATIONS):
        engine.iterate()
    fit_seconds = None
    if engine.loop.adaptation is not None:
        say("fitting cells to a full sample ...")
        saved, fit_seconds = _fitted(config, env, workers)
        engine.close()
        engine = Engine(config, env, workers, saved=saved)
        engine.iterate()
    say("where a worker's time goes ...")
    shares = breakdown(engine)
    raw = RawSimulators(
        config.env,
        workers,
        starts=engine.starts() if steps_bare_mujoco(env) else (),
        stretch=config.exploration.explore_steps,
    )
    to_raw = compare(("bare", raw), ("engine", engine), rounds=rounds, seconds=seconds, say=say)
    raw.close()
    saved = engine.loop.save()
    engine.close()

    small = Engine(config, env, workers, saved=saved, padded_to=SMALL_ARCHIVE)
    large = Engine(config, env, workers, saved=saved, padded_to=large_archive)
    small.iterate()  # the first message carries the whole archive; a long run pays for that once
    large.iterate()
    large.forget_timings()
    names = f"{SMALL_ARCHIVE} cells", f"{large_archive:,} cells"
    growth = compare((names[0], small), (names[1], large), rounds=rounds, seconds=seconds, say=say)
    checkpoint_seconds = _checkpoint_seconds(large.loop)
    fits = None if fit_seconds is None else _fits_within(config.exploration.fitting, HORIZON_STEPS)
    fitting_share = (fits or 0) * (fit_seconds or 0.0) * to_raw.baseline_rate / HORIZON_STEPS
    small.close()
    large.close()
    return ExploreBenchmark(
        env=env_id,
        cells=str(config.cells),
        workers=workers,
        raw_steps_per_second=to_raw.baseline_rate,
        engine_steps_per_second=to_raw.rate,
        ratio_to_raw_emulator=round(1.0 / (1.0 / to_raw.ratio + fitting_share), 4),
        ratio_to_raw_interval=to_raw.interval,
        **shares,
        small_archive=SMALL_ARCHIVE,
        large_archive=large_archive,
        small_steps_per_second=growth.baseline_rate,
        large_steps_per_second=growth.rate,
        ratio_large_archive=growth.ratio,
        ratio_large_interval=growth.interval,
        serial_us_per_step=round(1e6 * (large.select_seconds + large.merge_seconds) / large.timed_steps, 3),
        select_us_per_step=round(1e6 * large.select_seconds / large.timed_steps, 3),
        merge_us_per_step=round(1e6 * large.merge_seconds / large.timed_steps, 3),
        main_process_us_per_step=round(1e6 * large.process_seconds / large.timed_steps, 3),
        ratio_between_fits=None if fits is None else to_raw.ratio,
        fit_seconds=None if fit_seconds is None else round(fit_seconds, 2),
        fits=fits,
        horizon_steps=None if fits is None else HORIZON_STEPS,
        bytes_per_cell=memory[0] if memory else None,
        worker_bytes_per_cell=memory[1] if memory else None,
        bytes_measured_over_cells=memory[2] if memory else None,
        checkpoint_seconds=round(checkpoint_seconds, 4),
        checkpoint_share=round(checkpoint_seconds / CHECKPOINT_SECONDS, 5),
    )


def _fitted(config: RunConfig, env: RestorableEnv, workers: int) -> tuple[dict[str, Any], float]:
    """A search whose sample is full, fitted to it; and the seconds that took."""
    fitting = replace(config.exploration.fitting, sample_probability=FULL_SAMPLE_PROBABILITY)
    engine = Engine(replace(config, exploration=replace(config.exploration, fitting=fitting)), env, workers)
    adaptation = engine.loop.adaptation
    if adaptation is None:
        raise ValueError("these cells do not adapt")
    try:
        for _ in range(FULL_SAMPLE_ITERATIONS):
            engine.iterate()
            if adaptation.sampled >= fitting.sample_frames:
                break
        started = time.perf_counter()
        adaptation.refit(engine.loop.archive, engine.loop.steps, np.random.default_rng(config.seed))
        return engine.loop.save(), time.perf_counter() - started
    finally:
        engine.close()


def _fits_within(fitting: Fitting, horizon: int) -> int:
    """Fits that the schedule has within some steps, if the archive stays below its limit."""
    fits, at = 0, float(fitting.first_steps)
    while at < horizon:
        fits += 1
        at = min(at + fitting.every_steps, at * fitting.growth if fitting.growth else math.inf)
    return fits


def _memory_per_cell(config: RunConfig, env: RestorableEnv, workers: int, more_cells: int) -> tuple[float, float, int]:
    """Bytes that the main process and one worker grow by for each cell of a real search."""
    engine = Engine(config, env, workers)
    try:
        engine.iterate()
        before = _resident(engine)
        cells_before = len(engine.loop.archive)
        deadline = time.monotonic() + MEMORY_SEARCH_SECONDS
        while len(engine.loop.archive) < cells_before + more_cells and time.monotonic() < deadline:
            engine.iterate()
        after = _resident(engine)
    finally:
        engine.close()
    grown = max(1, len(engine.loop.archive) - cells_before)
    main, worker = ((late - early) / grown for early, late in zip(before, after, strict=True))
    return round(main, 1), round(worker, 1), grown


def _resident(engine: Engine) -> tuple[int, int]:
    release_free_memory()
    return resident_bytes(), resident_bytes(engine.executor.worker_pids()[0])


def _checkpoint_seconds(loop: ExplorationLoop) -> float:
    with tempfile.TemporaryDirectory() as folder:
        times = []
        for _ in range(3):
            started = time.perf_counter()
            write_checkpoint(Path(folder), loop.iteration, loop.save())
            times.append(time.perf_counter() - started)
    return statistics.median(times)


def _is_gray_picture(env: RestorableEnv) -> bool:
    if getattr(env, "observation_kind", "gray") != "gray":
        return False
    observation = env.reset()
    return isinstance(observation, np.ndarray) and observation.dtype == np.uint8 and observation.ndim >= 2
