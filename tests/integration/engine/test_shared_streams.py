"""Several writers of one stream: whoever is second is no error in the server's log."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from aiohttp import web

from failproof_es.engine.operations import record_operations
from failproof_es.events import WorkerLeft
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.errors import StreamConflict
from failproof_es.store.store import Store
from failproof_es.store.writing.appending import append_within
from failproof_es.store.writing.event_header import Draft, EventHeader
from tests.acceptance.commands import invoke, write_configuration, write_suite
from tests.integration.engine.working import Working, count
from tests.servers.mock_server import MockServer

_WORDS = {"ERROR:", "FATAL:", "PANIC:"}


@contextmanager
def errors_in_log(server: EmbeddedServer) -> Iterator[list[str]]:
    """The lines that say ERROR, FATAL or PANIC in what the server's log gets meanwhile."""
    begin = server.log_path.stat().st_size
    lines: list[str] = []
    yield lines
    with server.log_path.open("rb") as log:
        log.seek(begin)
        text = log.read().decode("utf-8", "replace")
    lines += [
        line for line in text.splitlines() if {"ERROR:", "FATAL:", "PANIC:"} & {*line.split()}
    ]


class SometimesBusy(MockServer):
    """Wants to be asked more slowly, every other time."""

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        self.asked["all"] += 1
        if self.asked["all"] % 2:
            return web.Response(status=429, headers={"Retry-After": "0"})
        return await super()._complete(request)


@pytest.mark.slow
def test_workers_whose_limits_change_leave_no_error_in_the_server_s_log(
    store: Store, postgres_server: EmbeddedServer, tmp_path: Path
) -> None:
    async def main() -> None:
        server = SometimesBusy()
        url = await server.start()
        try:
            write_suite(tmp_path, 30)
            execution = {"parallel_workers": 4, "retry_attempts": 5, "retry_delay_ms": 1}
            write_configuration(tmp_path, url, execution=execution)
            done = await asyncio.to_thread(
                invoke, store.url, "start", "run.yaml", "--detach", "--quiet", cwd=tmp_path
            )
            assert done.exit_code == 0, done.output
            with Store(store.url) as second, Store(store.url) as third:
                async with asyncio.timeout(120):
                    stores = (store, second, third)
                    workers = [Working(each, drain=True, lease_s=60.0) for each in stores]
                    for worker in workers:
                        await worker.__aenter__()
                    for worker in workers:
                        await worker.left()
        finally:
            await server.stop()

    with errors_in_log(postgres_server) as errors:
        asyncio.run(main())
    assert count(store, "Scored") == 30
    assert count(store, "LimitChanged") > 10
    # On a machine that stands still a worker may lose its lease: no limit made that.
    assert [each for each in errors if "lease of run" not in each] == []


def test_two_who_record_operations_of_one_run_at_once_leave_no_error_in_the_server_s_log(
    store: Store, postgres_server: EmbeddedServer
) -> None:
    run_id = uuid4()

    async def main() -> None:
        left = (WorkerLeft, {"worker": uuid4(), "evaluations": 0, "reason": "done"})
        await asyncio.gather(
            *(asyncio.to_thread(record_operations, store, run_id, [left]) for _ in range(20))
        )

    with errors_in_log(postgres_server) as errors:
        asyncio.run(main())
    assert count(store, "WorkerLeft") == 20
    assert errors == []


def test_who_appends_within_a_transaction_and_is_second_is_told_by_whom(
    store: Store,
) -> None:
    draft = Draft(
        WorkerLeft,
        EventHeader(uuid4(), None, about=uuid4(), who="me", where="here"),
        worker=uuid4(),
        evaluations=0,
        reason="done",
    )
    with store.connect() as connection, pytest.MonkeyPatch.context() as patched:
        append_within(store, connection, [draft])
        patched.setattr("failproof_es.store.writing.appending.stream_versions", lambda *_: {})
        with pytest.raises(StreamConflict, match="is at version 1"):
            append_within(store, connection, [draft])
