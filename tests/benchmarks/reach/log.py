"""Reading a log again: projections, proofs, a report, a replay, and only fetching its rows."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import psycopg

from tests.benchmarks.installation import Installation, installation
from tests.benchmarks.measured import Benchmark, Measure, Measurement, Row, Sizes, TargetFigure
from tests.benchmarks.reach.runs import run_command, server, working_folder, write_run
from tests.benchmarks.watch import Ran, run_watched

_LOG = "the log of a run of 20,000 cases of 600 bytes, about 100,000 events, as the engine wrote it"
_LESS = "less what the same command takes on an empty log"
_BATCH = 5_000
ROWS = (
    Row(
        "rebuild", "rebuild of all projections", "events/s",
        f"`failproof-es projections rebuild` of {_LOG}, {_LESS}.",
        TargetFigure(">=", 120_000),
    ),
    Row(
        "rebuild-cores", "cores that a rebuild keeps busy", "cores",
        "Of the rebuild above: seconds of the processor, the database's included, through those on "
        "the clock.",
    ),
    Row(
        "reading-rows", "only fetching the rows of a log, undecoded", "events/s",
        f"One client fetches the columns of {_LOG}, in batches of 5,000.",
    ),
    Row(
        "verify", "`verify` of the whole log", "events/s",
        f"`failproof-es verify` of {_LOG}, {_LESS}.",
        TargetFigure(">=", 250_000),
    ),
    Row(
        "verify-run", "`verify RUN`, of the one run in the log", "events/s",
        f"`failproof-es verify 1` of {_LOG}, {_LESS}.",
        TargetFigure(">=", 100_000),
    ),
    Row(
        "report", "`report RUN`, of 20,000 evaluations", "s of processor",
        f"`failproof-es report 1` of {_LOG}.",
    ),
    Row(
        "report-memory", "peak memory of `report RUN`, of 20,000 evaluations", "MB",
        "Of the report above: the most that its process held (VmHWM), without the child process "
        "that draws its charts.",
        TargetFigure("<=", 160),
    ),
    Row(
        "replay", "`replay RUN`, of 20,000 evaluations", "evaluations/s of processor",
        f"`failproof-es replay 1` of {_LOG}.",
    ),
)  # fmt: skip
_COMMANDS = {
    "rebuild": ("projections", "rebuild"),
    "verify": ("verify",),
    "verify-run": ("verify", "1"),
}


@contextlib.contextmanager
def begin(python: str, sizes: Sizes) -> Iterator[Measure]:
    """One log for all rounds."""
    with server() as base_url, working_folder() as folder, installation(python) as one:
        times = min(sizes.calls, 3)
        empty = {name: _on_an_empty_log(one, name, times) for name in ("rebuild", "verify")}
        empty["verify-run"] = empty["verify"]
        write_run(folder, base_url, sizes.log_cases)
        run_command(one, folder, "start", "run.yaml", "--quiet")
        [events] = one.ask("SELECT count(*) FROM failproof.stored_events")
        yield lambda: (
            *_measure(one, empty, events), *_measure_run(one, sizes.log_cases),
        )  # fmt: skip


def _on_an_empty_log(one: Installation, name: str, times: int) -> Ran:
    """The least of so many calls; an empty log is unsigned, which `verify` says by its code."""
    command = one.command(*_COMMANDS[name])
    calls = [run_watched(command, one.environment, one.home, one.server_pid) for _ in range(times)]
    return min(calls, key=lambda ran: ran.wall_s)


def _measure(one: Installation, empty: dict[str, Ran], events: int) -> Iterator[Measurement]:
    for name, arguments in _COMMANDS.items():
        ran = run_command(one, one.home, *arguments)
        wall = max(ran.wall_s - empty[name].wall_s, 1e-3)
        cpu = ran.cpu_s + ran.server_s - empty[name].cpu_s - empty[name].server_s
        yield Measurement(name, events / wall, wall, max(cpu, 0.0), f"{events:,} events")
        if name == "rebuild":
            yield Measurement("rebuild-cores", max(cpu, 0.0) / wall)
    began, used = time.perf_counter(), time.process_time()
    read = _fetch(one)
    wall = time.perf_counter() - began
    yield Measurement(
        "reading-rows", read / wall, wall, time.process_time() - used, "one client alone"
    )


def _measure_run(one: Installation, evaluations: int) -> Iterator[Measurement]:
    report = run_command(one, one.home, "report", "1", "-o", "report.html")
    yield Measurement("report", _cpu_s(report), report.wall_s, _cpu_s(report))
    yield Measurement("report-memory", report.watch.peak_mb)
    replay = run_command(one, one.home, "replay", "1")
    cpu_s = _cpu_s(replay)
    yield Measurement("replay", evaluations / cpu_s, replay.wall_s, cpu_s)


def _cpu_s(command: Ran) -> float:
    """Seconds of the processor, of children that the command killed, too."""
    return sum(command.watch.between(command.began, command.began + command.wall_s))


def _fetch(one: Installation) -> int:
    """How many rows there were."""
    read = position = 0
    query = (
        "SELECT notification_id, originator_id, originator_version, topic, state, run_id "
        "FROM failproof.stored_events WHERE notification_id > %s ORDER BY notification_id LIMIT %s"
    )
    with psycopg.connect(one.server.url) as connection:
        while rows := connection.execute(query, (position, _BATCH), binary=True).fetchall():
            read, position = read + len(rows), rows[-1][0]
    return read


BENCHMARKS = (Benchmark("log", ROWS, begin),)
