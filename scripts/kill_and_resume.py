"""One seed, one archive: whatever the number of workers, and after any number of kills.

python scripts/kill_and_resume.py ALE/Freeway-v5 --frames 800000
python scripts/kill_and_resume.py goexplore/KeyDoorMaze-v0 --frames 60000 --extra --preset tiny --batch-size 50
python scripts/kill_and_resume.py ALE/Freeway-v5 --frames 400000 --in-fits --kills 10 --extra --fitting growth=1.2

Runs with 1, 2 and 4 workers, then once more with the main process killed (SIGKILL) at random moments and
resumed each time, then once with a worker process killed in mid-batch, and compares the archive digests.
With --in-fits every kill strikes while the cells are being fitted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

WORKERS_KILLED = 5


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "goexplore", *arguments]


def digest(*arguments: str) -> str:
    finished = subprocess.run(
        command(*arguments, "--json"), check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    return json.loads(finished.stdout.splitlines()[-1])["archive_digest"]


def start(*arguments: str, log: Path | None = None) -> subprocess.Popen[bytes]:
    with open(log or os.devnull, "wb") as errors:
        return subprocess.Popen(command(*arguments), stdout=subprocess.DEVNULL, stderr=errors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("env")
    parser.add_argument("--frames", required=True)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--in-fits", action="store_true", help="kill only while cells are being fitted")
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments")
    parser.add_argument("--extra", nargs=argparse.REMAINDER, default=[], help="further options of explore")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        explore = ["explore", arguments.env, "--frames", arguments.frames, *arguments.extra]
        found = {}
        started = time.monotonic()
        for workers in ("1", "2", "4"):
            found[f"{workers} workers"] = digest(*explore, "--workers", workers, "--out", f"{folder}/{workers}")
        seconds = (time.monotonic() - started) / 3
        print(f"{seconds:.0f} s a run", file=sys.stderr)
        found[f"{arguments.kills} kills"] = _killed(explore, f"{folder}/killed", arguments, seconds)
        found["worker killed"] = _worker_killed(explore, f"{folder}/worker")
    same = len(set(found.values())) == 1
    print(json.dumps({"env": arguments.env, "digests": found, "same": same}))
    sys.exit(0 if same else 1)


def _killed(explore: list[str], out: str, arguments: argparse.Namespace, seconds: float) -> str:
    moments = random.Random(arguments.seed)
    now = [*explore, "--out", out]
    log = Path(out + ".log")
    for kill in range(arguments.kills):
        # Every second session goes through one fit and dies in the next: or the run would never get past the first.
        fits_before = kill % 2 if arguments.in_fits else None
        process = start(*now, "--workers", moments.choice("124"), "--checkpoint-seconds", "0.3", log=log)
        if fits_before is None:
            _wait_for_progress(process, Path(out, "metrics.jsonl"))
            time.sleep(moments.random() * 1.5 * seconds / arguments.kills)
        else:
            _wait_for_fit(process, log, fits_before)
            time.sleep(moments.random() * 0.3)
        running = process.poll() is None and (fits_before is None or _is_fitting(log))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if Path(out, "metrics.jsonl").exists():
            now = ["resume", out]
            iterations = len(Path(out, "metrics.jsonl").read_text().splitlines())
            doing = "running" if fits_before is None else "in a fit"
            print(f"kill {kill + 1}: {doing if running else 'TOO LATE'}, {iterations} iterations", file=sys.stderr)
    return digest("resume", out)


def _wait_for_progress(process: subprocess.Popen[bytes], metrics: Path) -> None:
    """Waits until the session has done an iteration of its own, so that no kill strikes a mere start."""
    started = time.time()
    while process.poll() is None and not (metrics.exists() and metrics.stat().st_size and _age(metrics) < 0.5):
        if time.time() - started > 60:
            return
        time.sleep(0.02)


def _wait_for_fit(process: subprocess.Popen[bytes], log: Path, fits_before: int) -> None:
    """Waits for the beginning of a fit, after some others of the same session."""
    while process.poll() is None and not (_is_fitting(log) and log.read_text().count("\ncells fitted") == fits_before):
        time.sleep(0.005)


def _is_fitting(log: Path) -> bool:
    said = [line for line in log.read_text().splitlines() if "fitting cells to" in line or "cells fitted to" in line]
    return bool(said) and said[-1].startswith("fitting cells to")


def _age(path: Path) -> float:
    return time.time() - path.stat().st_mtime


def _worker_killed(explore: list[str], out: str) -> str:
    process = start(*explore, "--workers", "2", "--out", out)
    killed = 0
    while process.poll() is None:
        time.sleep(4.0)
        if killed == WORKERS_KILLED:
            continue
        with contextlib.suppress(psutil.NoSuchProcess):
            workers = psutil.Process(process.pid).children()
            if workers and Path(out, "metrics.jsonl").exists():
                workers[0].kill()
                killed += 1
    print(f"workers killed: {killed}", file=sys.stderr)
    return digest("inspect", out)


if __name__ == "__main__":
    main()
