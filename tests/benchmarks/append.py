"""Durable appends per second from 500 concurrent tasks, against one client committing alone.

`python -m tests.benchmarks.append [--events 50000]`
"""

from __future__ import annotations

import argparse
import asyncio
import time
from datetime import UTC, datetime
from uuid import uuid4

from failproof_es.events import Scored
from failproof_es.store.store import Store
from failproof_es.store.writing.journal import Journal
from tests.benchmarks.servers import benchmark_store

TASKS = 500
RUN = uuid4()


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=50_000)
    arguments = parser.parse_args()
    with benchmark_store() as url, Store.open(url) as store:
        alone = [_event() for _ in range(2_000)]
        began = time.perf_counter()
        for event in alone:
            store.log.events.put([event])
        single = len(alone) / (time.perf_counter() - began)
        grouped = asyncio.run(_grouped(store, [_event() for _ in range(arguments.events)]))
    print(
        f"append: {grouped:,.0f} events/s from {TASKS} tasks, {single:,.0f} commits/s alone, "
        f"ratio {grouped / single:.1f} (wanted >= 20,000 events/s)"
    )


if __name__ == "__main__":
    main()
