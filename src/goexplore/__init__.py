"""Go-Explore: remember promising states, first return to them, then explore.

import goexplore

result = goexplore.explore("ALE/MontezumaRevenge-v5", until_score=100)
goexplore.render(result.run)

These are the calls behind the command line. Below them, for people who build their own: `envs`,
`cells`, `archive`, `exploration` (`ExplorationLoop.ask()` and `.tell()`), `executors`, `runs`, `demos`.
"""

from goexplore.cells import CellFunction
from goexplore.demos import inspect_run, render
from goexplore.envs import check_env
from goexplore.errors import GoExploreError, InputError
from goexplore.exploration import ExplorationConfig, ExplorationLoop
from goexplore.runs import RunResult, explore, resume

__all__ = [
    "CellFunction",
    "ExplorationConfig",
    "ExplorationLoop",
    "GoExploreError",
    "InputError",
    "RunResult",
    "check_env",
    "explore",
    "inspect_run",
    "render",
    "resume",
]
