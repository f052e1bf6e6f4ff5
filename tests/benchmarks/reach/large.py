"""Large runs: their plan, their memory, and going on with one that was killed half-way."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.installation import Installation, installation
from tests.benchmarks.measured import Benchmark, Measure, Measurement, Row, Sizes, TargetFigure
from tests.benchmarks.reach.runs import run_command, server, working_folder, write_run
from tests.benchmarks.reach.server import count_anew, counted
from tests.benchmarks.watch import Watch

_POLL_S = 0.1
MILLION = 1_000_000
_SIZE = "10,000 cases, 1,000,000 with `--large`, or as many as `--size` says"
MEMORY = tuple(
    Row(
        f"memory-{cases}",
        f"peak memory of the command, {cases:,} cases",
        "MB",
        "`failproof-es start`, the most that its process held (VmHWM). Wanted besides: within "
        "15 % of the other sizes.",
        TargetFigure("<=", 150),
    )
    for cases in (100_000, 1_000_000)
)
ROWS = (
    Row(
        "plan", "the plan of a large run is written: from the shell to the first request", "s",
        f"`failproof-es start` of {_SIZE}: until the server has the first request.",
        TargetFigure("<=", 60),
    ),
    Row(
        "resume", "resume of a half-done large run: first new request", "s",
        f"A run of {_SIZE}, killed (`kill -9`) when half of its requests are answered; then "
        "`failproof-es resume`, from the shell until the server has the next request.",
        TargetFigure("<=", 5),
    ),
)  # fmt: skip


@contextlib.contextmanager
def begin(python: str, sizes: Sizes) -> Iterator[Measure]:
    """A log of its own for each round."""
    yield lambda: _measure(python, sizes.large_cases)


def _measure(python: str, cases: int) -> Iterator[Measurement]:
    with server() as base_url, working_folder() as folder, installation(python) as one:
        write_run(folder, base_url, cases)
        count_anew(base_url, hold_after=cases // 2)
        began, watch = _run_to(one, folder, base_url, cases // 2, "start", "run.yaml", "--quiet")
        first = float(counted(base_url)["first_at"])
        used = sum(watch.between(began, first))
        enough, told = cases >= MILLION, f"{cases:,} cases"
        yield Measurement("plan", first - began, first - began, used, told, enough)
        count_anew(base_url)
        began, watch = _run_to(one, folder, base_url, 1, "resume", "1", "--quiet")
        first = float(counted(base_url)["first_at"])
        used = sum(watch.between(began, first))
        yield Measurement("resume", first - began, first - began, used, told, enough)


def _run_to(
    one: Installation, folder: Path, base_url: str, requests: int, *arguments: str
) -> tuple[float, Watch]:
    """Begin a command and kill it when the server has so many requests; when it began."""
    began = time.time()
    process = subprocess.Popen(
        one.command(*arguments), env=one.environment, cwd=folder, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    watch = Watch(process.pid, one.server_pid)
    try:
        while counted(base_url)["requests"] < requests:
            if process.poll() is not None:
                raise RuntimeError(f"{' '.join(arguments)} ended before {requests} requests")
            time.sleep(_POLL_S)
    finally:
        watch.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return began, watch


def _memory(row: Row, cases: int) -> Benchmark:
    @contextlib.contextmanager
    def begin(python: str, sizes: Sizes) -> Iterator[Measure]:
        def measure() -> Iterator[Measurement]:
            with server() as base_url, working_folder() as folder, installation(python) as one:
                write_run(folder, base_url, cases)
                ran = run_command(one, folder, "start", "run.yaml", "--quiet")
            yield Measurement(row.name, ran.watch.peak_mb, ran.wall_s, ran.cpu_s + ran.server_s)

        yield measure

    return Benchmark(row.name, (row,), begin, large=True)


BENCHMARKS = (
    *(_memory(row, cases) for row, cases in zip(MEMORY, (100_000, 1_000_000), strict=True)),
    Benchmark("large", ROWS, begin),
)
