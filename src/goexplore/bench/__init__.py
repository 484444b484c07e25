"""Benchmarks: commands, not tests. Each measures its baseline and itself interleaved in one run."""

from goexplore.bench._explore import ExploreBenchmark, bench_explore

__all__ = ["ExploreBenchmark", "bench_explore"]
