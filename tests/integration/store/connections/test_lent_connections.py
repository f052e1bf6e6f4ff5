"""Connections that a store lends: one after the other gets the same, and none that is broken."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from failproof_es.engine.drive.retrying_reader import RetryingReader
from failproof_es.store.store import Store

Connection = psycopg.Connection[Any]


def session_of(connection: Connection) -> int:
    return connection.info.backend_pid


def end_session(store: Store, session: int) -> None:
    with psycopg.connect(store.url, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s, 5000)", (session,))


def test_one_after_the_other_gets_the_same_connection(store: Store) -> None:
    with store.lend() as first:
        session = session_of(first)
        with store.lend() as beside:
            assert session_of(beside) != session, "two at once do not share one"
    sessions = set()
    for _ in range(5):
        with store.lend() as connection:
            sessions.add(session_of(connection))
    assert sessions == {session}


def test_of_three_at_once_two_are_kept(store: Store) -> None:
    with store.lend() as first, store.lend() as second, store.lend() as third:
        pass
    assert [lent.closed for lent in (first, second, third)] == [True, False, False]


def test_a_lent_connection_comes_back_as_it_was(store: Store) -> None:
    with store.lend() as left_open:
        left_open.execute("BEGIN")
    assert left_open.closed, "nobody gets a transaction of somebody else"
    with pytest.raises(psycopg.errors.UndefinedTable), store.lend() as failed:
        failed.execute("SELECT * FROM nothing_of_this_name")
    assert failed.closed
    with store.lend() as connection:
        for _ in range(8):
            connection.execute("SELECT 1")
        prepared = connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()
        assert prepared == (0,), "a plan from before would outlive a change of what is there"


def test_an_idle_connection_that_the_server_has_ended_is_not_lent(store: Store) -> None:
    with store.lend() as connection:
        session = session_of(connection)
    end_session(store, session)
    with store.lend() as connection:
        assert connection.execute("SELECT pg_backend_pid()").fetchone() == (session_of(connection),)
        assert session_of(connection) != session


def test_a_reader_goes_on_when_the_server_has_cut_what_was_kept(store: Store) -> None:
    async def main() -> None:
        reader = RetryingReader(store)
        session = await reader.read(session_of)
        assert await reader.read(session_of) == session
        await asyncio.to_thread(end_session, store, session)

        def asked(connection: Connection) -> int:
            connection.execute("SELECT 1")
            return session_of(connection)

        assert await reader.read(asked) != session

    asyncio.run(main())


def test_a_store_that_is_closed_keeps_no_connection(store: Store) -> None:
    with Store(store.url) as short, short.lend() as lent:
        pass
    assert lent.closed
