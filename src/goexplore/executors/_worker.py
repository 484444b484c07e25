"""The worker process: `python -m goexplore.executors._worker FD`.

A program of its own rather than a `multiprocessing` child, so that a user's script needs no
`if __name__ == "__main__"` guard and a notebook works as well. FD is its end of a pipe to the parent;
when that closes, whatever became of the parent, the worker leaves.
"""

from __future__ import annotations

import contextlib
import sys
import traceback
from multiprocessing.connection import Connection
from typing import Any


def main() -> None:
    """Serves rollouts until the parent goes away."""
    with Connection(int(sys.argv[1])) as connection, contextlib.suppress(EOFError, ConnectionError):
        _serve(connection)  # until the parent is gone


def _serve(connection: Connection[Any, Any]) -> None:
    from goexplore.errors import GoExploreError
    from goexplore.exploration import Roller

    try:
        roller = Roller(connection.recv())
        connection.send(("ready", None))
        while True:
            updates, tasks = connection.recv()
            for update in updates:
                roller.learn(update)
            connection.send(("results", [roller.run(task) for task in tasks]))
    except GoExploreError as error:
        connection.send(("error", error))
    except (EOFError, ConnectionError):
        raise
    except Exception:
        connection.send(("crash", traceback.format_exc()))


if __name__ == "__main__":
    main()
