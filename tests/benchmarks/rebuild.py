"""Rebuilding every projection, against only reading the same rows.

`python -m tests.benchmarks.rebuild [--evaluations 50000]`
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID, uuid4

from failproof_es.events import Classified, Event, RequestSent, ResponseReceived, Scored, Usage
from failproof_es.store.reader import read_after
from failproof_es.store.store import Store
from projections.runner import rebuild
from tests.benchmarks.servers import benchmark_store

RUN = uuid4()
BATCH = 4_000


def _history(prompt: UUID) -> Iterator[Event]:
    """The four events of an evaluation that went well, of ordinary size."""
    stream = uuid4()

    def head(version: int) -> dict[str, object]:
        return {
            "originator_id": stream, "originator_version": version, "run_id": RUN,
            "timestamp": datetime.now(UTC), "prompt_id": prompt, "model_key": "model",
            "repetition": 1,
        }  # fmt: skip

    attempt = {"purpose": "target", "turn": 0, "attempt": 1}
    yield RequestSent(
        **head(1), **attempt, model="model", parameters={"max_tokens": 100},
        endpoint="http://127.0.0.1/v1/chat/completions", body='{"model": "m"}' * 20,
        body_sha256="0" * 64,
    )  # fmt: skip
    yield ResponseReceived(
        **head(2), **attempt, status=200, headers={"content-type": "application/json"},
        body='{"choices": []}' * 30, text="An answer of ordinary length. " * 5,
        finish_reason="stop", model="model", latency_ms=12.5,
        usage=Usage(input_tokens=50, output_tokens=30),
    )  # fmt: skip
    yield Classified(
        **head(3), primary="pass", details={"rule": "expected_response"}, classifier="c",
        classifier_version="1",
    )  # fmt: skip
    yield Scored(
        **head(4), scores={"accuracy": 1.0}, reason="", scorer="s", scorer_version="1"
    )  # fmt: skip


def _fill(store: Store, evaluations: int) -> int:
    waiting: list[Event] = []
    written = 0
    for _ in range(evaluations):
        waiting.extend(_history(RUN))
        if len(waiting) >= BATCH:
            store.log.events.put(waiting)
            written += len(waiting)
            waiting = []
    store.log.events.put(waiting)
    return written + len(waiting)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluations", type=int, default=50_000)
    arguments = parser.parse_args()
    with benchmark_store() as url, Store.open(url) as store, store.connect() as connection:
        events = _fill(store, arguments.evaluations)
        began = time.perf_counter()
        position = 0
        while batch := read_after(connection, position, 5_000):
            position = batch[-1].position
        reading = events / (time.perf_counter() - began)
        began = time.perf_counter()
        rebuild(connection)
        rebuilding = events / (time.perf_counter() - began)
    print(
        f"rebuild of all projections: {rebuilding:,.0f} events/s, only reading {reading:,.0f} "
        f"events/s, ratio {rebuilding / reading:.2f} (wanted >= 50,000 events/s)"
    )


if __name__ == "__main__":
    main()
