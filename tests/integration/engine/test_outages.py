"""After an outage of the database a worker takes the next shard soon, whatever it drives."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from aiohttp import web

from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.schema.installation import WRITER, install
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration, write_suite
from tests.conftest import as_administrator
from tests.integration.engine.working import Working, number, until
from tests.own_server import own_server
from tests.servers.mock_server import MockServer
from tests.servers.postgres_proxy import Outage

SOON_S = 10.0
"""A shard is claimed so soon after the server is back."""
_CLAIMED = "SELECT count(*) FROM failproof.lease_list WHERE run_id = %s AND shard >= 0"
_TERMINATE = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


class OnHold(MockServer):
    """Wants to be asked again in ten minutes."""

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        self.asked["anything"] += 1
        return web.Response(status=503, headers={"Retry-After": "600"})


def plan(store: Store, folder: Path, url: str, cases: int) -> UUID:
    folder.mkdir()
    write_suite(folder, cases)
    write_configuration(
        folder,
        url,
        test_run={"name": folder.name},
        execution={"parallel_workers": 1, "rate_limit_wait_ms": 600_000},
    )
    done = invoke(store.url, "start", "run.yaml", "--detach", "--quiet", cwd=folder)
    assert done.exit_code == 0, done.output
    newest = "SELECT run_id FROM failproof.run_list ORDER BY run_number DESC LIMIT 1"
    with store.connect() as connection:
        [(run_id,)] = connection.execute(newest).fetchall()
    assert isinstance(run_id, UUID)
    return run_id


async def first_claim_s(
    store: Store, through: Store, folder: Path, fault: Callable[[], float]
) -> float:
    """How long after the outage the shards of a second run were claimed, while one of the first is
    on hold."""
    held, healthy = OnHold(), MockServer()
    await held.start()
    await healthy.start()
    try:
        slow = await asyncio.to_thread(plan, store, folder / "slow", held.url, 1)
        async with Working(through, lease_s=15.0):
            await until(lambda: number(store, _CLAIMED, slow) == 1 and held.asked["anything"] > 0)
            back = await asyncio.to_thread(fault)
            quick = await asyncio.to_thread(plan, store, folder / "quick", healthy.url, 4)
            planned = time.monotonic()
            await until(lambda: number(store, _CLAIMED, quick) > 0)
            return time.monotonic() - max(back, planned)
    finally:
        await held.stop()
        await healthy.stop()


@pytest.mark.slow
@pytest.mark.parametrize(
    "away_s",
    [
        2,
        pytest.param(45, marks=pytest.mark.wide),
        pytest.param(20, marks=pytest.mark.wide),
        pytest.param(300, marks=pytest.mark.wide),
    ],
)
def test_a_worker_that_drives_a_held_shard_takes_another_one_soon_after_an_outage(
    store: Store, postgres_server: EmbeddedServer, tmp_path: Path, away_s: float
) -> None:
    with Outage(postgres_server) as proxy, Store(proxy.url_of(store.url)) as through:

        def fault() -> float:
            proxy.begin()
            time.sleep(away_s)
            proxy.end()
            return time.monotonic()

        assert asyncio.run(first_claim_s(store, through, tmp_path, fault)) < SOON_S


def test_a_worker_that_drives_a_held_shard_takes_another_one_after_its_sessions_were_ended(
    store: Store, tmp_path: Path
) -> None:
    def fault() -> float:
        with psycopg.connect(as_administrator(store.url), autocommit=True) as administrator:
            administrator.execute(_TERMINATE)
        return time.monotonic()

    with Store(store.url) as through:
        assert asyncio.run(first_claim_s(store, through, tmp_path, fault)) < SOON_S


@pytest.mark.slow
def test_a_worker_that_drives_a_held_shard_takes_another_one_after_its_server_was_restarted(
    tmp_path: Path,
) -> None:
    with own_server() as server:
        with psycopg.connect(server.url, autocommit=True) as administrator:
            install(administrator, logins=True)

        def fault() -> float:
            server.stop()
            time.sleep(5)
            server.ensure_running()
            return time.monotonic()

        with Store(server.url_as(WRITER)) as store:
            assert asyncio.run(first_claim_s(store, store, tmp_path, fault)) < SOON_S
