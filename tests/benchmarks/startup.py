"""What the program takes to start, against the interpreter alone: a ratio to `python -c pass`.

`python -m tests.benchmarks.startup [PYTHON ...]`

Each PYTHON is another installation's interpreter (that of another commit's worktree): it is
measured in turn with this one, so that both have the same machine. Each runs its own code, on an
embedded server of its own that its own code has installed: schemas differ. `start` is that of 20
cases of a server that answers at once, on a warm embedded server, from the shell to the shell;
beside it stands how long its first request took to be on record. Processor time is that of the
command and what it starts, without the database.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg

from failproof_es.store.embedded.server import HOME, EmbeddedServer
from tests.acceptance.commands import environment, mock_server, write_configuration, write_suite

ROUNDS = int(os.environ.get("ROUNDS", "10"))
CALLS = {
    "python -c pass": ("-c", "pass"),
    "--version": ("-m", "failproof_es.cli", "--version"),
    "--help": ("-m", "failproof_es.cli", "--help"),
    "runs": ("-m", "failproof_es.cli", "runs"),
    "start of 20 cases": ("-m", "failproof_es.cli", "start", "run.yaml", "--quiet"),
}


@dataclass(frozen=True)
class Installation:
    """An interpreter, and the embedded server that it has for itself."""

    python: str
    server: EmbeddedServer
    url: str
    """As the writer."""


@contextlib.contextmanager
def installation(python: str) -> Iterator[Installation]:
    """The interpreter, with a database that its own code has made; gone afterwards."""
    home = Path(tempfile.mkdtemp(prefix="failproof-es-benchmark-"))
    home.chmod(0o755)
    # An empty folder as the current one: no other code is found there.
    place = {"PATH": os.environ["PATH"], "HOME": str(home), HOME: str(home)}
    server = EmbeddedServer(home)

    def db(*arguments: str) -> str:
        command = [python, "-m", "failproof_es.cli", "db", *arguments]
        done = subprocess.run(
            command, env=place, cwd=home, check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout.strip()

    try:
        db("start")
        yield Installation(python, server, db("url", "--as", "writer"))
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


def timed(command: list[str], url: str, folder: Path) -> tuple[float, float]:
    """Seconds on the clock, and of the processor."""
    before, began = os.times(), time.perf_counter()
    subprocess.run(command, env=environment(url), cwd=folder, check=True, capture_output=True)
    took, after = time.perf_counter() - began, os.times()
    used = (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )
    return took, used


def first_request(server: EmbeddedServer, since: float) -> float:
    """Seconds from `since` to the first request on record."""
    with psycopg.connect(server.url) as connection:
        row = connection.execute(
            "SELECT extract(epoch FROM min(recorded_at)) FROM failproof.stored_events "
            "WHERE topic = 'RequestSent' AND recorded_at > to_timestamp(%s)",
            (since,),
        ).fetchone()
    assert row is not None
    return float(row[0]) - since


def ratio(this: float, that: float) -> str:
    """The clock of processes counts in hundredths of a second: of less there is no ratio."""
    return f"{this / that:.2f}" if that >= 0.02 else "-"


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    write_suite(folder, 20)
    found: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    firsts: dict[str, list[float]] = defaultdict(list)
    with contextlib.ExitStack() as stack:
        base_url = stack.enter_context(mock_server(0))
        measured_ones = [
            stack.enter_context(installation(python)) for python in [sys.executable, *sys.argv[1:]]
        ]
        write_configuration(folder, base_url)
        for number in range(ROUNDS + 1):  # the first one warms up
            for what, call in CALLS.items():
                for each in measured_ones:
                    began_at = time.time()
                    measured = timed([each.python, *call], each.url, folder)
                    if number:
                        found[each.python, what].append(measured)
                        if what.startswith("start"):
                            firsts[each.python].append(first_request(each.server, began_at))
    pythons = [each.python for each in measured_ones]
    for python in pythons:
        print(python)
        [bare, _] = map(statistics.median, zip(*found[python, "python -c pass"], strict=True))
        for what in CALLS:
            [took, used] = map(statistics.median, zip(*found[python, what], strict=True))
            [own, own_used] = map(statistics.median, zip(*found[pythons[0], what], strict=True))
            least = min(used for _, used in found[python, what])
            own_least = min(used for _, used in found[pythons[0], what])
            print(
                f"  {what}: median of {ROUNDS} {used:.3f} s of processor (least {least:.3f}), "
                f"{took:.3f} s on the clock, {took / bare:.1f} times `python -c pass`; this one / "
                f"that one: processor {ratio(own_used, used)} (least {ratio(own_least, least)}), "
                f"clock {ratio(own, took)}"
            )
        print(f"  to the first request: {statistics.median(firsts[python]):.2f} s (wanted < 1.5 s)")


if __name__ == "__main__":
    main()
