"""Workers in the process of a test, and what they work on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

from failproof_es.engine.workers.worker import Worker
from failproof_es.engine.workers.worker_options import WorkerOptions
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration, write_suite
from tests.servers.mock_server import MockServer

CASES = 40
"""In twenty shards."""
LONGEST_S = 60
"""The bound of each wait. A test has several, and ends within three times as long."""


class Working:
    """A worker in this process, and what it said."""

    def __init__(self, store: Store, **options: Any) -> None:
        self.said: list[str] = []
        self.stop = asyncio.Event()
        self.worker = Worker(
            store,
            WorkerOptions(**{"lease_s": 3.0, **options}),
            observe=lambda event: None,
            stop=self.stop,
            say=self.said.append,
        )

    async def __aenter__(self) -> Working:
        self._task = asyncio.create_task(self.worker.work())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop.set()
        async with asyncio.timeout(LONGEST_S):
            await asyncio.gather(self._task, return_exceptions=True)

    async def left(self) -> None:
        """Wait until it has left by itself."""
        async with asyncio.timeout(LONGEST_S):
            await self._task


def plan(
    store: Store,
    folder: Path,
    url: str,
    cases: int = CASES,
    prompt: str = "Say {n}.",
    repetitions: int = 1,
) -> UUID:
    write_suite(folder, cases, prompt)
    execution = {
        "parallel_workers": 1,
        "retry_attempts": 0,
        "retry_delay_ms": 10,
        "repetitions": repetitions,
    }
    write_configuration(folder, url, execution=execution)
    done = invoke(store.url, "start", "run.yaml", "--detach", "--quiet", cwd=folder)
    assert done.exit_code == 0, done.output
    with store.connect() as connection:
        [(run_id,)] = connection.execute("SELECT run_id FROM failproof.run_list").fetchall()
    assert isinstance(run_id, UUID)
    return run_id


def number(store: Store, statement: str, *parameters: object) -> int:
    with store.connect() as connection:
        row = connection.execute(statement.encode(), parameters).fetchone()
    assert row is not None
    return int(row[0])


def jobs(store: Store) -> int:
    waiting = "SELECT count(*) FROM failproof_queue.procrastinate_jobs WHERE status = 'todo'"
    return number(store, waiting)


def count(store: Store, topic: str) -> int:
    return number(store, "SELECT count(*) FROM failproof.stored_events WHERE topic = %s", topic)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(LONGEST_S):
        while not await asyncio.to_thread(true):  # noqa: ASYNC110 - it is the database that tells
            await asyncio.sleep(0.05)


def drive(main: Callable[[MockServer], Awaitable[None]], latency_s: float = 0.0) -> None:
    async def with_server() -> None:
        server = MockServer(latency_s)
        await server.start()
        try:
            async with asyncio.timeout(3 * LONGEST_S):
                await main(server)
        finally:
            await server.stop()

    asyncio.run(with_server())
