"""What a worker may not do more often because its run has more shards."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from failproof_es.configuration.loading import load_configuration
from failproof_es.engine.drive.evaluation_drive import EvaluationDrive
from failproof_es.engine.lifecycle import create
from failproof_es.engine.workers import ending
from failproof_es.engine.workers.shard_queue import begin_for_workers
from failproof_es.engine.workers.worker import Worker
from failproof_es.engine.workers.worker_options import WorkerOptions
from failproof_es.events import Event, RunSealed
from failproof_es.store.connecting import connect
from failproof_es.store.store import Store
from tests.acceptance.commands import within, write_configuration, write_suite
from tests.servers.mock_server import MockServer

CASES = 48
SHARDS = 16
AT_ONCE = 4
CONNECTIONS = 20
"""For joining, claiming, ending, telling of itself; a shard had six of its own before."""


def test_a_worker_s_shards_share_its_connections_its_requests_and_the_reading_at_the_end(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, active = 0, [0]
    carry_on = EvaluationDrive._carry_on

    def counted(*arguments: Any, **options: Any) -> Any:
        nonlocal opened
        opened += 1
        return connect(*arguments, **options)

    async def watched(self: EvaluationDrive, *arguments: Any) -> None:
        active.append(active[-1] + 1)
        try:
            await carry_on(self, *arguments)
        finally:
            active.append(active[-1] - 1)

    def never(*_: Any) -> None:
        raise AssertionError("the reading that ends the run counts it, too")

    monkeypatch.setattr("failproof_es.store.store.connect", counted)
    monkeypatch.setattr(EvaluationDrive, "_carry_on", watched)
    monkeypatch.setattr(ending, "_count", never)
    seen: list[Event] = []

    async def main() -> None:
        nonlocal opened
        server = MockServer(latency_s=0.02)
        url = await server.start()
        try:
            write_suite(tmp_path, CASES)
            write_configuration(tmp_path, url, execution={"parallel_workers": AT_ONCE})
            with within(tmp_path):
                loaded = load_configuration(Path("run.yaml"))
                await create(loaded, store, say=lambda said: None, also=begin_for_workers)
            opened = 0
            worker = Worker(
                store,
                WorkerOptions(drain=True),
                observe=seen.append,
                stop=asyncio.Event(),
                say=lambda said: None,
            )
            await worker.work()
            assert worker.finished == CASES
            assert server.most_in_flight <= AT_ONCE
        finally:
            await server.stop()

    asyncio.run(main())
    assert sum(isinstance(event, RunSealed) for event in seen) == 1
    assert opened <= CONNECTIONS, f"{opened} connections for {SHARDS} shards"
    assert max(active) == AT_ONCE, "the tasks of two shards do not wait for the same requests"
