"""Benchmarks: commands, not tests. Each measures its baseline and itself interleaved in one run."""

from goexplore.bench._cells import CellsBenchmark, bench_cells
from goexplore.bench._explore import ExploreBenchmark, bench_explore

__all__ = ["CellsBenchmark", "ExploreBenchmark", "bench_cells", "bench_explore"]
