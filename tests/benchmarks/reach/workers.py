"""Several workers on one run: their rate, and what working together costs one of them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

import psutil

from tests.acceptance.commands import mock_server
from tests.benchmarks.installation import installation
from tests.benchmarks.measured import Benchmark, Measure, Measurement, Row, Sizes, TargetFigure
from tests.benchmarks.reach.runs import Facts, facts, run_command, working_folder, write_run
from tests.benchmarks.watch import Ran

SERVER = "tests.benchmarks.reach.light_server"
LATENCY_MS = 50.0
CONNECTIONS = 200
"""Of each worker: so many replies of 50 ms are more than one core asks for."""
_FEW = 20
"""Cases of the run that tells what a start takes by itself."""
_RUN = (
    "A run of 10,000 cases of 600 bytes, whose replies come after 50 ms from a server that takes "
    "hardly any of the processor; each worker may have 200 requests in flight. "
)
_RATE = (
    "From the first `RequestSent` to `RunCompleted` by the log's own times, against one worker in "
    "the same round."
)
ROWS = (
    Row("workers-1", "evaluations by one worker", "evaluations/s", _RUN + "`worker --drain`."),
    Row(
        "workers-2", "evaluations by two workers, against one", "times",
        f"{_RUN}`start --workers 2 --quiet`. {_RATE}",
        TargetFigure(">=", 1.5),
    ),
    Row(
        "workers-4", "evaluations by four workers, against one", "times",
        f"{_RUN}`start --workers 4 --quiet`. {_RATE}",
    ),
)  # fmt: skip
COORDINATION = Row(
    "coordination", "processor time that coordination costs one worker", "%",
    f"{_RUN}Driven by `start --detach` and one `worker --drain`, against a plain `start` in "
    "the same round: the processor time of the commands, of what they start, and of the "
    f"database. Of each way the same with {_FEW} cases is taken off, which is what starting "
    "takes; the note tells it.",
    TargetFigure("<=", 3.0),
)  # fmt: skip


@dataclass(frozen=True)
class Driven:
    """A run that has ended."""

    told: Facts
    began: float
    ran: tuple[Ran, ...]
    stolen: float
    """The part of this machine's cores that others on its host had meanwhile."""

    @property
    def cpu_s(self) -> float:
        """Of the commands, what they start, and the database."""
        return sum(each.cpu_s + each.server_s for each in self.ran)

    @property
    def wall_s(self) -> float:
        """From the first request to the run's end."""
        return self.told.completed - self.told.first_request

    @property
    def asking_s(self) -> float:
        """From the first request to the last score."""
        return self.told.last_score - self.told.first_request


@contextlib.contextmanager
def begin(python: str, sizes: Sizes) -> Iterator[Measure]:
    """A log of its own for each run."""
    yield lambda: _rates(python, sizes.cases)


@contextlib.contextmanager
def begin_coordination(python: str, sizes: Sizes) -> Iterator[Measure]:
    """The same."""
    yield lambda: _coordination(python, sizes.cases)


def _rates(python: str, cases: int) -> Iterator[Measurement]:
    alone = drive(python, cases, PLAIN)
    one = drive(python, cases, worker(1))
    yield Measurement(
        "workers-1", cases / one.wall_s, one.wall_s, one.cpu_s,
        f"{cases / alone.wall_s:,.0f} evaluations/s by a plain `start`",
    )  # fmt: skip
    for count in (2, 4):
        several = drive(python, cases, worker(count))
        yield Measurement(
            f"workers-{count}", one.wall_s / several.wall_s, several.wall_s, several.cpu_s,
            f"{cases / several.wall_s:,.0f} evaluations/s; until the last score "
            f"{one.asking_s / several.asking_s:.2f} times; others on the host had "
            f"{several.stolen:.0%} of the cores, and {one.stolen:.0%} with one worker",
        )  # fmt: skip


def _coordination(python: str, cases: int) -> Iterator[Measurement]:
    alone, one = drive(python, cases, PLAIN), drive(python, cases, worker(1))
    few, few_one = drive(python, _FEW, PLAIN), drive(python, _FEW, worker(1))
    plain_s, shared_s = alone.cpu_s - few.cpu_s, one.cpu_s - few_one.cpu_s
    yield Measurement(
        "coordination", 100 * (shared_s / plain_s - 1), one.wall_s, one.cpu_s,
        f"{shared_s:.2f} s against {plain_s:.2f} s; a start takes {few_one.cpu_s:.2f} s against "
        f"{few.cpu_s:.2f} s",
    )  # fmt: skip


PLAIN = (("start", "run.yaml", "--quiet"),)


def worker(count: int) -> tuple[tuple[str, ...], ...]:
    """The commands that drive the run by so many workers."""
    if count == 1:
        return ("start", "run.yaml", "--detach"), ("worker", "--run", "1", "--drain", "--quiet")
    return (("start", "run.yaml", "--workers", str(count), "--quiet"),)


def drive(python: str, cases: int, commands: tuple[tuple[str, ...], ...]) -> Driven:
    """A run in a log of its own, by these commands one after the other."""
    with (
        mock_server(LATENCY_MS, SERVER, warm=False) as base_url,
        working_folder() as folder,
        installation(python) as one,
    ):
        write_run(folder, base_url, cases, CONNECTIONS)
        before, began = _stolen_s(), time.monotonic()
        ran = tuple(run_command(one, folder, *command) for command in commands)
        cores_s = (time.monotonic() - began) * (psutil.cpu_count() or 1)
        stolen = (_stolen_s() - before) / cores_s
        told = facts(one)
    assert told.scored == cases
    return Driven(told, ran[0].began, ran, stolen)


def _stolen_s() -> float:
    """Seconds in which a core had work and the host gave it to others; 0 where that is not told."""
    return float(getattr(psutil.cpu_times(), "steal", 0.0))


BENCHMARKS = (
    Benchmark("workers", ROWS, begin),
    Benchmark("coordinating", (COORDINATION,), begin_coordination),
)
