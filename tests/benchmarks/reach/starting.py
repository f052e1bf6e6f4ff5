"""What the program takes to start."""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.installation import Installation, installation
from tests.benchmarks.measured import Benchmark, Measure, Measurement, Row, Sizes, TargetFigure
from tests.benchmarks.reach.runs import server, working_folder, write_run
from tests.benchmarks.reach.server import count_anew, counted
from tests.benchmarks.watch import run_watched

CASES = 20
_OF_A_CALL = "From shell to shell, the median of five calls in each round."
ROWS = (
    Row("version", "`--version`", "s", _OF_A_CALL, TargetFigure("<=", 0.2)),
    Row("help", "`--help`", "s", _OF_A_CALL, TargetFigure("<=", 0.2)),
    Row("python", "the interpreter alone: `python -c pass`", "s", _OF_A_CALL),
    Row("runs", "`runs`, of a few runs", "s", _OF_A_CALL, TargetFigure("<=", 0.25)),
    Row("show", "`show RUN`", "s", _OF_A_CALL, TargetFigure("<=", 0.25)),
    Row(
        "first-request", "start to first request, 20 cases, warm server", "s",
        "`failproof-es start` of 20 cases, from the shell until the server has the first request; "
        "the median of five in each round.",
        TargetFigure("<=", 0.4),
    ),
    Row(
        "start-20", "`start` of 20 cases to its end", "s",
        "From shell to shell; the median of five in each round.",
    ),
)  # fmt: skip


@contextlib.contextmanager
def begin(python: str, sizes: Sizes) -> Iterator[Measure]:
    """One database for all rounds, warmed up."""
    with server() as base_url, working_folder() as folder, installation(python) as one:
        write_run(folder, base_url, CASES, connections=CASES)
        _start(one, folder, base_url)
        yield lambda: _measure(one, folder, base_url, sizes.calls)


def _measure(one: Installation, folder: Path, base_url: str, calls: int) -> Iterator[Measurement]:
    commands = {
        "python": [one.python, "-c", "pass"],
        "version": one.command("--version"),
        "help": one.command("--help"),
        "runs": one.command("runs"),
        "show": one.command("show", "1"),
    }
    for name, command in commands.items():
        ran = [run_watched(command, one.environment, folder) for _ in range(calls)]
        assert not any(each.code for each in ran), ran[0].output
        wall = statistics.median(each.wall_s for each in ran)
        yield Measurement(name, wall, wall, statistics.median(each.cpu_s for each in ran))
    starts = [_start(one, folder, base_url) for _ in range(calls)]
    first, whole, cpu = (statistics.median(column) for column in zip(*starts, strict=True))
    yield Measurement("first-request", first)
    yield Measurement("start-20", whole, whole, cpu)


def _start(one: Installation, folder: Path, base_url: str) -> tuple[float, float, float]:
    """Seconds to the first request and to the end, and of the processor to the end."""
    count_anew(base_url)
    command = one.command("start", "run.yaml", "--quiet")
    ran = run_watched(command, one.environment, folder, one.server_pid)
    assert ran.code == 0, ran.output
    return counted(base_url)["first_at"] - ran.began, ran.wall_s, ran.cpu_s + ran.server_s


BENCHMARKS = (Benchmark("starting", ROWS, begin),)
