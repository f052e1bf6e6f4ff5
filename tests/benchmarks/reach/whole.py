"""A run of 10,000 cases as one command: its rate, its processor time, its memory, its size."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tests.benchmarks.installation import installation
from tests.benchmarks.measured import Benchmark, Measure, Measurement, Row, Sizes, TargetFigure
from tests.benchmarks.reach.bare import Bare, measure_bare
from tests.benchmarks.reach.runs import (
    Facts,
    behind,
    facts,
    run_command,
    server,
    working_folder,
    write_run,
)
from tests.benchmarks.reach.server import count_anew, counted
from tests.benchmarks.watch import Ran

_COMMAND = "The run of 10,000"
"""The page says what that is."""
ROWS = (
    Row(
        "evaluations",
        "evaluations to `RunCompleted` against the bare loop, everything on",
        "of bare",
        f"{_COMMAND}: from the first `RequestSent` to `RunCompleted` by the log's own times. The "
        "note says how far behind the projections were when the command ended.",
        TargetFigure(">=", 0.7),
    ),
    Row(
        "whole-command",
        "the whole command, 10,000 cases, from shell to shell, against the bare loop",
        "of bare",
        f"{_COMMAND}: from start to exit; the bare loop without its start.",
        TargetFigure(">=", 0.55),
    ),
    Row(
        "cpu-per-evaluation",
        "processor time of an evaluation above that of the bare request",
        "ms",
        f"{_COMMAND}: from the first `RequestSent` to `RunCompleted`, less that of the bare loop. "
        "It counts the command, what it starts and the database's processes.",
        TargetFigure("<=", 0.3),
    ),
    Row(
        "memory-10000",
        "peak memory of the command, 10,000 cases",
        "MB",
        f"{_COMMAND}: the most that its process held (VmHWM).",
        TargetFigure("<=", 150),
    ),
    Row(
        "validation-and-seal",
        "validation and seal of a finished run",
        "events/s",
        f"{_COMMAND}: all events of the log through the seconds from the last `Scored` to "
        "`RunSealed`.",
        TargetFigure(">=", 100_000),
    ),
    Row(
        "database-size",
        "size of the database for an evaluation, against its bodies",
        "times",
        f"{_COMMAND}: what the database grew by, indexes and projections included, through the "
        "bytes of all request and reply bodies as the server counted them.",
        TargetFigure("<=", 3),
    ),
    Row(
        "silence-before",
        "from the start of the command to its first request",
        "s",
        f"{_COMMAND}: until the first `RequestSent` is on record.",
    ),
    Row(
        "silence-after",
        "from the last score to the end of the command",
        "s",
        f"{_COMMAND}: from the last `Scored` to the exit.",
    ),
)  # fmt: skip


@contextlib.contextmanager
def begin(python: str, sizes: Sizes) -> Iterator[Measure]:
    """See `Benchmark`: each round has a log of its own."""
    yield lambda: _measure(python, sizes.cases)


def _measure(python: str, cases: int) -> Iterator[Measurement]:
    with server() as base_url, working_folder() as folder, installation(python) as one:
        write_run(folder, base_url, cases)
        bare = measure_bare(base_url, cases)
        count_anew(base_url)
        [size] = one.ask("SELECT pg_database_size(current_database())")
        ran = run_command(one, folder, "start", "run.yaml")
        left_behind = behind(one)
        told = facts(one)
        bodies = counted(base_url)
    assert told.scored == cases
    yield from _rates(ran, told, bare, left_behind)
    carried = bodies["request_bytes"] + bodies["reply_bytes"]
    grown = told.database_bytes - size
    yield Measurement(
        "database-size",
        grown / carried,
        note=f"{grown / cases:,.0f} bytes an evaluation, {carried / cases:,.0f} of bodies",
    )


def _rates(ran: Ran, told: Facts, bare: Bare, left_behind: int) -> Iterator[Measurement]:
    evaluating = told.completed - told.first_request
    mine, its = ran.watch.between(told.first_request, told.completed)
    rate = told.scored / evaluating
    yield Measurement(
        "evaluations", rate / bare.rate, evaluating, mine + its,
        f"{rate:,.0f} evaluations/s against {bare.rate:,.0f} requests/s bare; the projections "
        f"ended {left_behind:,} positions behind",
    )  # fmt: skip
    cpu = ran.cpu_s + ran.server_s
    yield Measurement(
        "whole-command", told.scored / ran.wall_s / bare.rate, ran.wall_s, cpu,
        f"the bare loop took {bare.wall_s:.2f} s",
    )  # fmt: skip
    each = 1000 / told.scored
    yield Measurement(
        "cpu-per-evaluation", (mine + its - bare.cpu_s) * each, evaluating, mine + its,
        f"the command and what it starts {mine * each:.2f} ms, the database {its * each:.2f} ms, "
        f"bare {bare.cpu_s * each:.2f} ms",
    )  # fmt: skip
    yield Measurement("memory-10000", ran.watch.peak_mb)
    ending = told.sealed - told.last_score
    yield Measurement(
        "validation-and-seal", told.events / max(ending, 1e-3), ending,
        sum(ran.watch.between(told.last_score, told.sealed)), f"{told.events:,} events",
    )  # fmt: skip
    silence = told.first_request - ran.began
    yield Measurement(
        "silence-before", silence, silence,
        sum(ran.watch.between(ran.began, told.first_request)),
    )  # fmt: skip
    ended = ran.began + ran.wall_s
    yield Measurement(
        "silence-after", ended - told.last_score, ended - told.last_score,
        sum(ran.watch.between(told.last_score, ended)),
    )  # fmt: skip


BENCHMARKS = (Benchmark("whole", ROWS, begin),)
