"""The command line: `goexplore explore | resume | inspect | render | demos | robustify | evaluate | sweep | ...`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import tyro

from goexplore.cli._commands import Bench, CheckEnv, Explore, Inspect, Render, Resume
from goexplore.cli._demos import Demos, DemosExport, DemosImport, DemosShow
from goexplore.cli._evaluate import Evaluate
from goexplore.cli._report import Report
from goexplore.cli._sweep import Sweep
from goexplore.cli._training import Control, Policy, Robustify
from goexplore.errors import GoExploreError

Command = (
    Annotated[Explore, tyro.conf.subcommand("explore")]
    | Annotated[Resume, tyro.conf.subcommand("resume")]
    | Annotated[Inspect, tyro.conf.subcommand("inspect")]
    | Annotated[Render, tyro.conf.subcommand("render")]
    | Annotated[Demos, tyro.conf.subcommand("demos")]
    | Annotated[DemosShow, tyro.conf.subcommand("demos-show")]
    | Annotated[DemosExport, tyro.conf.subcommand("demos-export")]
    | Annotated[DemosImport, tyro.conf.subcommand("demos-import")]
    | Annotated[Robustify, tyro.conf.subcommand("robustify")]
    | Annotated[Control, tyro.conf.subcommand("control")]
    | Annotated[Policy, tyro.conf.subcommand("policy")]
    | Annotated[Evaluate, tyro.conf.subcommand("evaluate")]
    | Annotated[Sweep, tyro.conf.subcommand("sweep")]
    | Annotated[Report, tyro.conf.subcommand("report")]
    | Annotated[CheckEnv, tyro.conf.subcommand("check-env")]
    | Annotated[Bench, tyro.conf.subcommand("bench")]
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs a command and exits: 0 done, 2 bad input, 130 interrupted, 1 anything else."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments[:1] == ["demos"] and arguments[1:2] and arguments[1] in ("show", "export", "import"):
        arguments[:2] = [f"demos-{arguments[1]}"]
    try:
        command = tyro.cli(
            Command,
            prog="goexplore",
            description="Go-Explore: remember promising states, first return to them, then explore.",
            args=arguments,
            config=(tyro.conf.OmitSubcommandPrefixes, tyro.conf.FlagCreatePairsOff),
        )
    except BrokenPipeError:  # `goexplore explore --help | head`: who reads the help has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or flushing at exit fails once more
        sys.exit(0)
    try:
        code = command.run()
    except GoExploreError as error:
        print(f"goexplore: {error}", file=sys.stderr)
        code = error.exit_code
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
