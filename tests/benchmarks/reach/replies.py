"""Long replies, streamed and not; and many connections to a slow server."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from tests.benchmarks.installation import installation
from tests.benchmarks.measured import Benchmark, Measure, Measurement, Row, Sizes, TargetFigure
from tests.benchmarks.reach.bare import CONNECTIONS, measure_bare
from tests.benchmarks.reach.runs import facts, run_command, server, working_folder, write_run


@dataclass(frozen=True)
class RunKind:
    """One kind of run."""

    name: str
    what: str
    model: str = "mock"
    stream: bool = False
    connections: int = CONNECTIONS
    latency_ms: float = 0.0
    wanted: TargetFigure | None = None

    def cases(self, sizes: Sizes) -> int:
        """So many are asked."""
        if self.model == "mock":
            return sizes.cases
        return sizes.replies if self.model == "bytes-8192" else sizes.replies // 8

    @property
    def row(self) -> Row:
        """The row that it fills."""
        return Row(
            self.name, self.what, "of bare",
            "`failproof-es start`, evaluations/s from the first `RequestSent` to `RunCompleted`, "
            f"against the bare loop with the same replies and {self.connections} connections.",
            self.wanted,
        )  # fmt: skip


KINDS = (
    RunKind("reply-8k", "replies of 8 KB", "bytes-8192"),
    RunKind("reply-8k-streamed", "replies of 8 KB, streamed", "bytes-8192", stream=True),
    RunKind("reply-256k", "replies of 256 KB", "bytes-262144"),
    RunKind("reply-256k-streamed", "replies of 256 KB, streamed", "bytes-262144", stream=True),
    RunKind(
        "connections-500", "500 connections, a server that takes 200 ms", connections=500,
        latency_ms=200.0, wanted=TargetFigure(">=", 0.9),
    ),
)  # fmt: skip


def _benchmark(kind: RunKind) -> Benchmark:
    @contextlib.contextmanager
    def begin(python: str, sizes: Sizes) -> Iterator[Measure]:
        yield lambda: _measure(python, kind, kind.cases(sizes))

    return Benchmark(kind.name, (kind.row,), begin)


def _measure(python: str, kind: RunKind, cases: int) -> Iterator[Measurement]:
    with server(kind.latency_ms) as base_url, working_folder() as folder:
        write_run(folder, base_url, cases, kind.connections, model=kind.model, stream=kind.stream)
        bare = measure_bare(base_url, cases, kind.connections, kind.model, stream=kind.stream)
        with installation(python) as one:
            ran = run_command(one, folder, "start", "run.yaml", "--quiet")
            told = facts(one)
    assert told.scored == cases
    evaluating = told.completed - told.first_request
    rate = told.scored / evaluating
    mine, its = ran.watch.between(told.first_request, told.completed)
    each = 1000 / cases
    yield Measurement(
        kind.name, rate / bare.rate, evaluating, mine + its,
        f"{rate:,.0f} evaluations/s against {bare.rate:,.0f} requests/s bare; "
        f"{(mine + its) * each:.2f} ms of the processor each, bare {bare.cpu_s * each:.2f} ms",
    )  # fmt: skip


BENCHMARKS = tuple(_benchmark(kind) for kind in KINDS)
