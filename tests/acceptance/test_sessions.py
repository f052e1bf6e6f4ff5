"""Sessions that commands of this process hand on are as new ones."""

from __future__ import annotations

import psycopg
import pytest

from failproof_es.store.connecting import connect
from failproof_es.store.store import Store
from tests.acceptance.sessions import end_idle_sessions, handed_on
from tests.conftest import as_administrator

LEFT = """
SELECT current_setting('search_path'), current_setting('work_mem'), current_user,
    to_regclass('pg_temp.mine'), current_setting('statement_timeout'),
    (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()),
    (SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM pg_listening_channels())
"""


def session_of(connection: psycopg.Connection[object]) -> int:
    return connection.info.backend_pid


def test_a_session_is_handed_on_as_a_new_one(store: Store) -> None:
    url = as_administrator(store.url)
    with handed_on():
        with connect(url) as first:
            new = first.execute(LEFT, prepare=False).fetchone()
            session = session_of(first)
            first.execute("SET work_mem = '1MB'; SET search_path = public; SET ROLE pg_monitor")
            first.execute("LISTEN heard; SELECT pg_advisory_lock(1)")
            first.execute("CREATE TEMPORARY TABLE mine ()")
            first.execute("SELECT 1", prepare=True)
            assert first.execute(LEFT, prepare=False).fetchone() != new
        with connect(url, autocommit=False) as open_one:
            assert session_of(open_one) == session
            open_one.execute("CREATE TABLE public.undone ()")
            open_one.close()
        with connect(url) as second, connect(url) as beside:
            assert session_of(second) == session != session_of(beside)
            assert second.execute(LEFT, prepare=False).fetchone() == new
            assert second.execute("SELECT to_regclass('public.undone')").fetchone() == (None,)
        with pytest.raises(psycopg.OperationalError, match="closed"):
            first.execute("SELECT 1")


def test_a_session_that_is_over_busy_or_in_use_is_not_handed_on(store: Store) -> None:
    with handed_on():
        with connect(store.url) as ended:
            session = session_of(ended)
        with psycopg.connect(as_administrator(store.url), autocommit=True) as administrator:
            statement = "SELECT pg_terminate_backend(%s, 30000)"
            assert administrator.execute(statement, (session,)).fetchone() == (True,)
        with connect(store.url) as busy:
            assert session_of(busy) != session
            session = session_of(busy)
            busy.pgconn.send_query(b"SELECT pg_sleep(0)")
            busy.close()
        with connect(store.url) as read:
            assert session_of(read) != session
            session = session_of(read)
            cursor = read.execute("SELECT 1")
        with connect(store.url) as other:
            assert session_of(other) != session and cursor.closed is False


def test_only_commands_have_sessions_that_were_handed_on(store: Store) -> None:
    with handed_on(), connect(store.url) as command:
        session = session_of(command)
    with connect(store.url) as test:
        assert session_of(test) != session
    end_idle_sessions()
    with handed_on(), connect(store.url) as command:
        assert session_of(command) != session
