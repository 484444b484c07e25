from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

# Networks in tests are tiny, and tests run side by side: threads would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from goexplore.archive import Archive
from goexplore.envs import env_spec, make_env, resolved
from goexplore.executors import Executor, SerialExecutor
from goexplore.exploration import ExplorationLoop, preset_config
from goexplore.runs import RunConfig, start


class Search:
    """A loop and an executor without a run folder around them."""

    def __init__(
        self,
        env_id: Any,
        cells: Any = "observation",
        *,
        seed: int = 0,
        executor: Executor | None = None,
        **settings: Any,
    ) -> None:
        spec = env_spec(env_id, kwargs=settings.pop("env_kwargs", {}))
        self.env = make_env(spec)
        self.config = RunConfig(resolved(spec, self.env), cells, preset_config("tiny", **settings), seed)
        self.loop, self.codec = start(self.config, self.env)
        self.executor = executor or SerialExecutor()
        self.opened = False

    @property
    def archive(self) -> Archive:
        return self.loop.archive

    def open(self) -> None:
        self.opened = True
        self.executor.open(self.config.worker_spec(self.loop, self.codec), self.loop.everything)

    def iterate(self, iterations: int) -> ExplorationLoop:
        if not self.opened:
            self.open()
        for _ in range(iterations):
            if self.loop.adapt() is not None:
                self.executor.publish(self.loop.news())
            self.executor.submit(self.loop.ask())
            self.loop.tell(self.executor.collect())
            self.executor.publish(self.loop.news())
        return self.loop


@pytest.fixture
def search():
    made: list[Search] = []

    def make(*arguments: Any, **settings: Any) -> Search:
        made.append(Search(*arguments, **settings))
        return made[-1]

    yield make
    for one in made:
        one.executor.close()


@pytest.fixture
def cli(tmp_path: Path):
    """Runs the command line in a process of its own, in a folder of its own."""

    def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "goexplore", *arguments],
            cwd=options.pop("cwd", tmp_path),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            **options,
        )

    return run


def last_json(completed: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert completed.returncode == 0, completed.stderr
    found: dict[str, Any] = json.loads(completed.stdout.strip().splitlines()[-1])
    return found


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
