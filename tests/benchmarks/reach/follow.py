"""What following a run takes of the processor: the projections' process, and the database's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tests.benchmarks import rebuild
from tests.benchmarks.measured import Benchmark, Measure, Measurement, Row, Sizes

_HOW = (
    f"The log is written at {rebuild.EVENTS_PER_S:,} events/s, with 100 evaluations in flight; for "
    "100,000 events."
)
ROWS = (
    Row("following", "processor time of the projections that follow", "s", _HOW),
    Row("following-server", "processor time of the database's process for them", "s", _HOW),
)


@contextlib.contextmanager
def begin(python: str, sizes: Sizes) -> Iterator[Measure]:
    """A log of its own for each round."""
    yield lambda: _measure(max(sizes.events // 5, rebuild.IN_FLIGHT))


def _measure(evaluations: int) -> Iterator[Measurement]:
    follower, server = rebuild.following(evaluations, rebuild.EVENTS_PER_S)
    yield Measurement("following", follower)
    yield Measurement("following-server", server)


BENCHMARKS = (Benchmark("following", ROWS, begin, versions=False),)
