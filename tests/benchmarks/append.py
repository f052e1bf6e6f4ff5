"""Durable appends per second from 500 concurrent tasks, against one client committing alone."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import uuid4

from failproof_es.events import Scored
from failproof_es.store.store import Store
from failproof_es.store.writing.journal import Journal
from tests.benchmarks.measured import Benchmark, Measure, Measurement, Row, Sizes, TargetFigure
from tests.benchmarks.servers import benchmark_store

TASKS = 500
RUN = uuid4()
_HOW = "50,000 events of about 400 bytes. Processor time is that of this process alone."
ROWS = (
    Row(
        "append", "appending from 500 tasks at once, each event durable", "events/s", _HOW,
        TargetFigure(">=", 20_000),
    ),
    Row("append-alone", "one client that commits each event alone", "events/s", _HOW),
)  # fmt: skip


def _event() -> Scored:
    return Scored(
        originator_id=uuid4(), originator_version=1, run_id=RUN, timestamp=datetime.now(UTC),
        prompt_id=RUN, model_key="m", repetition=1, scores={"accuracy": 1.0},
        passed=True, reason="",
        scorer="s", scorer_version="1",
    )  # fmt: skip


async def _grouped(store: Store, events: list[Scored]) -> float:
    journal = Journal(store.log)
    waiting = iter(events)

    async def work() -> None:
        for event in waiting:
            await journal.append(event)

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(TASKS)))
    elapsed = time.perf_counter() - began
    await journal.close()
    return len(events) / elapsed


@contextlib.contextmanager
def begin(python: str, sizes: Sizes) -> Iterator[Measure]:
    """A log of its own for each round."""
    yield lambda: _measure(sizes.events)


def _measure(events: int) -> Iterator[Measurement]:
    with benchmark_store() as url, Store.open(url) as store:
        alone = [_event() for _ in range(max(events // 25, 10))]
        began, used = time.perf_counter(), time.process_time()
        for event in alone:
            store.log.events.put([event])
        wall = time.perf_counter() - began
        yield Measurement("append-alone", len(alone) / wall, wall, time.process_time() - used)
        many = [_event() for _ in range(events)]
        began, used = time.perf_counter(), time.process_time()
        rate = asyncio.run(_grouped(store, many))
        wall = time.perf_counter() - began
        yield Measurement("append", rate, wall, time.process_time() - used)


BENCHMARKS = (Benchmark("append", ROWS, begin, versions=False),)
