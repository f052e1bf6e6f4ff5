"""What live viewers cost a run: a run that is looked at, against one that nobody looks at."""

from __future__ import annotations

import contextlib
import http.client
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

from tests.benchmarks.installation import Installation, installation
from tests.benchmarks.measured import Benchmark, Measure, Measurement, Row, Sizes, TargetFigure
from tests.benchmarks.reach.runs import facts, server, working_folder, write_run
from tests.benchmarks.watch import processor_s
from tests.console import console, settings_for

VIEWERS = 10
ROWS = (
    Row(
        "console-viewers",
        "what ten live viewers of a run take of the processor",
        "% of a core",
        "`start` of 10,000 cases, from shell, its page looked at live by ten viewers from its "
        "first event to its last, and by nobody, in turn. The processor time of the run, of the "
        "database, of the console and of the viewers themselves, less that without viewers, by "
        "the seconds that they looked. A run keeps 1.6 cores busy: 5 % of its throughput are 8.",
        TargetFigure("<=", 8),
    ),
    Row(
        "console-viewers-throughput",
        "what ten live viewers of a run take of its throughput",
        "%",
        "The same two runs by the clock: how many evaluations a second fewer, of those without "
        "viewers. Console and viewers run on the same machine as the run and its database, and "
        "two runs of one size differ by some per cent by themselves: judge it by many rounds.",
        TargetFigure("<=", 5),
    ),
)


@contextlib.contextmanager
def begin(python: str, sizes: Sizes) -> Iterator[Measure]:
    """A log of its own for each run."""
    yield lambda: _measure(python, sizes.cases)


def _measure(python: str, cases: int) -> Iterator[Measurement]:
    alone, alone_wall, _ = _spent(python, cases, 0)
    looked_at, wall, seen = _spent(python, cases, VIEWERS)
    note = (
        f"{looked_at:.1f} s with viewers, {alone:.1f} s without; {seen:,} events were sent to them "
        f"in {wall:.0f} s"
    )
    yield Measurement("console-viewers", 100 * (looked_at - alone) / wall, wall, looked_at, note)
    lost = 100 * (1 - alone_wall / wall)
    note = f"{wall:.1f} s with viewers, {alone_wall:.1f} s without"
    yield Measurement("console-viewers-throughput", lost, wall, looked_at, note)


def _spent(python: str, cases: int, viewers: int) -> tuple[float, float, int]:
    """Seconds of the processor, of the clock, and how many events viewers got."""
    with server() as base_url, working_folder() as folder, installation(python) as one:
        write_run(folder, base_url, cases)
        with _looking(one, viewers) as seen:
            own, database = time.process_time(), processor_s(one.server_pid)
            began = time.perf_counter()
            command = one.command("start", "run.yaml", "--quiet")
            with subprocess.Popen(command, env=one.environment, cwd=folder) as process:
                _, code, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(code)
            wall = time.perf_counter() - began
            database = processor_s(one.server_pid) - database
            own = time.process_time() - own
        assert facts(one).scored == cases
    return used.ru_utime + used.ru_stime + database + own, wall, sum(seen)


@contextlib.contextmanager
def _looking(one: Installation, viewers: int) -> Iterator[list[int]]:
    """So many viewers of the first run, until it is left: how many events each of them got."""
    seen = [0] * viewers
    if not viewers:
        yield seen
        return
    over, begun = threading.Event(), threading.Event()
    with console(**settings_for(one.url)) as base:
        threads = [
            threading.Thread(target=_look, args=(base, begun, over, seen, n))
            for n in range(viewers)
        ]
        for each in threads:
            each.start()
        try:
            yield seen
        finally:
            over.set()
            begun.set()
            for each in threads:
                each.join()


def _look(
    base: str, begun: threading.Event, over: threading.Event, seen: list[int], number: int
) -> None:
    """Look at the run as soon as it has begun; a viewer whose stream ends looks again.

    The first viewer finds out whether it has: nobody looks at what is not there.
    """
    at = urlsplit(base)
    if number:
        begun.wait()
    while not over.wait(0.2):
        client = http.client.HTTPConnection(at.hostname or "", at.port, timeout=5)
        with contextlib.suppress(OSError, http.client.HTTPException):
            client.request("GET", "/runs/1/live")
            response = client.getresponse()
            if response.status == 200:
                begun.set()
            while response.status == 200 and not over.is_set():
                line = response.fp.readline() if response.fp else b""
                if not line or line.startswith(b"event: end"):
                    over.wait(1)
                    break
                seen[number] += line.startswith(b"data:")
        client.close()


BENCHMARKS = (Benchmark("viewers", ROWS, begin),)
