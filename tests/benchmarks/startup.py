"""What the program takes to start, against the interpreter alone: a ratio to `python -c pass`.

`python -m tests.benchmarks.startup [PYTHON ...]`

Each PYTHON is another installation's interpreter (that of another commit's worktree): it is
measured in turn with this one, so that both have the same machine. `start` is that of 20 cases
of a server that answers at once, on a warm embedded server, from the shell to the shell; beside
it stands how long its first request took to be on record. Processor time is that of the command
and what it starts, without the database.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from failproof_es.store.store import Store
from tests.acceptance.commands import environment, mock_server, write_configuration, write_suite
from tests.benchmarks.servers import benchmark_store

ROUNDS = 10
CALLS = {
    "python -c pass": ("-c", "pass"),
    "--version": ("-m", "failproof_es.cli", "--version"),
    "--help": ("-m", "failproof_es.cli", "--help"),
    "runs": ("-m", "failproof_es.cli", "runs"),
    "start of 20 cases": ("-m", "failproof_es.cli", "start", "run.yaml", "--quiet"),
}


def timed(command: list[str], url: str, folder: Path) -> tuple[float, float]:
    """Seconds on the clock, and of the processor."""
    before, began = os.times(), time.perf_counter()
    subprocess.run(command, env=environment(url), cwd=folder, check=True, capture_output=True)
    took, after = time.perf_counter() - began, os.times()
    used = (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )
    return took, used


def first_request(url: str, since: float) -> float:
    """Seconds from `since` to the first request on record."""
    with Store(url).connect() as connection:
        row = connection.execute(
            "SELECT extract(epoch FROM min(recorded_at)) FROM failproof.stored_events "
            "WHERE topic = 'RequestSent' AND recorded_at > to_timestamp(%s)",
            (since,),
        ).fetchone()
    assert row is not None
    return float(row[0]) - since


def main() -> None:
    pythons = [sys.executable, *sys.argv[1:]]
    folder = Path(tempfile.mkdtemp())
    write_suite(folder, 20)
    found: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    firsts: dict[str, list[float]] = defaultdict(list)
    with mock_server(0) as base_url, benchmark_store() as url:
        write_configuration(folder, base_url)
        for number in range(ROUNDS + 1):  # the first one warms up
            for what, call in CALLS.items():
                for python in pythons:
                    began_at = time.time()
                    measured = timed([python, *call], url, folder)
                    if number:
                        found[python, what].append(measured)
                        if what.startswith("start"):
                            firsts[python].append(first_request(url, began_at))
    for python in pythons:
        print(python)
        [bare, _] = map(statistics.median, zip(*found[python, "python -c pass"], strict=True))
        for what in CALLS:
            [took, used] = map(statistics.median, zip(*found[python, what], strict=True))
            [own, _] = map(statistics.median, zip(*found[pythons[0], what], strict=True))
            print(
                f"  {what}: median of {ROUNDS} {took:.3f} s ({used:.3f} s of processor), "
                f"{took / bare:.1f} times `python -c pass`; this one / that one {own / took:.2f}"
            )
        print(f"  to the first request: {statistics.median(firsts[python]):.2f} s (wanted < 1.5 s)")


if __name__ == "__main__":
    main()
