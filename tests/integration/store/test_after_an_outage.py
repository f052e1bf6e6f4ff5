"""How soon appends go on after an outage, however long it was."""

from __future__ import annotations

import asyncio
import time

import psycopg
import pytest

from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.outage import Outage as Patience
from failproof_es.store.schema.installation import WRITER, install
from failproof_es.store.store import Store
from failproof_es.store.writing.journal import Journal
from failproof_es.store.writing.recorder import CONNECTION_ERRORS
from tests.integration.store.test_journal import an_event
from tests.own_server import own_server
from tests.servers.postgres_proxy import Outage

SOON_S = 5.0
"""What is appended is recorded so soon after the server is back."""
BUSY_S = 3.0
"""What a busy machine adds to it."""


def test_who_asks_again_when_the_server_is_back_gets_a_connection_at_once(
    store: Store, postgres_server: EmbeddedServer
) -> None:
    """However often it failed before: no pool waits by its own clock meanwhile."""
    with Outage(postgres_server) as proxy, Store(proxy.url_of(store.url)) as through:
        pool = through.log.factory.datastore  # type: ignore[attr-defined]
        with pool.get_connection() as connection:
            connection.execute("SELECT 1")
        proxy.begin()
        began = time.monotonic()
        for _ in range(30):
            with pytest.raises(CONNECTION_ERRORS), pool.get_connection() as connection:
                connection.execute("SELECT 1")
        assert time.monotonic() - began < 30, "a failure is told at once"
        proxy.end()
        began = time.monotonic()
        with pool.get_connection() as connection:
            connection.execute("SELECT 1")
        assert time.monotonic() - began < SOON_S


def test_the_pauses_between_two_tries_are_bounded() -> None:
    pauses: list[float] = []
    tries = iter(range(20))

    def fail() -> int:
        if (number := next(tries)) < 19:
            raise CONNECTION_ERRORS[0]
        return number

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(time, "sleep", pauses.append)
        assert Patience().retry(fail, CONNECTION_ERRORS) == 19
    assert len(pauses) == 19 and max(pauses) == SOON_S


@pytest.mark.slow
@pytest.mark.parametrize("away_s", [pytest.param(35, marks=pytest.mark.wide), 80])
def test_appends_go_on_soon_after_a_server_that_was_stopped_is_back(away_s: float) -> None:
    async def main(store: Store, server: EmbeddedServer) -> float:
        journal = Journal(store.log, outage=Patience())
        try:
            await journal.append(an_event())
            await asyncio.to_thread(server.stop)
            appending = asyncio.ensure_future(journal.append(an_event()))
            done, _ = await asyncio.wait({appending}, timeout=away_s)
            assert not done
            await asyncio.to_thread(server.ensure_running)
            back = time.monotonic()
            await appending
            return time.monotonic() - back
        finally:
            await journal.close()

    with own_server() as server:
        with psycopg.connect(server.url, autocommit=True) as administrator:
            install(administrator, logins=True)
        with Store(server.url_as(WRITER)) as store:
            assert asyncio.run(main(store, server)) < SOON_S + BUSY_S
