"""One snapshot for each page, which can write nothing and takes no longer than it may."""

from __future__ import annotations

import threading
from typing import Any

import httpx
import psycopg
import pytest

from failproof_es.console import database
from failproof_es.console.database import ConsoleBusy, ReadOnlyDatabase
from failproof_es.reading.at_head import catch_up_problem
from failproof_es.store.schema.installation import AUDITOR, WRITER
from failproof_es.store.store import Store
from tests.conftest import as_administrator
from tests.console import console, settings_for

STATEMENTS = (
    "INSERT INTO failproof.events DEFAULT VALUES",
    "DELETE FROM failproof.events",
    "UPDATE failproof.events SET topic = 'x'",
    "TRUNCATE failproof.events",
    "CREATE TABLE public.x (n int)",
    "CREATE TEMP TABLE x (n int)",
    "DROP SCHEMA failproof CASCADE",
    "SELECT failproof.number_run(gen_random_uuid())",
    "DELETE FROM projections.runs",
    "SELECT nextval('failproof.events_notification_id_seq')",
    "COPY (SELECT 1) TO PROGRAM 'true'",
)


def reader(url: str, **settings: float) -> ReadOnlyDatabase:
    asked = {"connections": 2, "statement_timeout_s": 10.0} | settings
    return ReadOnlyDatabase(
        url,
        connections=int(asked["connections"]),
        statement_timeout_s=asked["statement_timeout_s"],
    )


@pytest.mark.parametrize("user", [WRITER, AUDITOR])
def test_nothing_can_be_written(store: Store, user: str) -> None:
    opened = reader(store.url.replace(f"//{WRITER}@", f"//{user}@"))
    for statement in STATEMENTS:
        with pytest.raises(psycopg.Error), opened.snapshot() as connection:
            connection.execute(statement)
    opened.close()


def test_not_even_a_superuser_who_is_no_auditor_can_write(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.connect() as connection:
        assert catch_up_problem(connection) is None
    monkeypatch.setattr(database, "_MAY_BE_AUDITOR", "SELECT false AND %(role)s::text IS NULL")
    opened = reader(as_administrator(store.url))
    with opened.snapshot() as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("postgres",)
    for statement in (
        "DELETE FROM failproof.run_numbers",
        "CREATE TABLE public.x (n int)",
        "DELETE FROM projections.positions",
        "TRUNCATE failproof.leases",
    ):
        with (
            pytest.raises(psycopg.errors.ReadOnlySqlTransaction),
            opened.snapshot() as connection,
        ):
            connection.execute(statement)
    opened.close()


def test_an_administrator_reads_as_the_auditor(store: Store) -> None:
    opened = reader(as_administrator(store.url))
    with opened.snapshot() as connection:
        assert connection.execute("SELECT current_user").fetchone() == (AUDITOR,)
        assert connection.execute("SHOW transaction_read_only").fetchone() == ("on",)
        assert connection.execute("SHOW transaction_isolation").fetchone() == ("repeatable read",)
    opened.close()


def test_a_statement_that_takes_too_long_is_ended(store: Store) -> None:
    opened = reader(store.url, statement_timeout_s=0.05)
    with pytest.raises(psycopg.errors.QueryCanceled), opened.snapshot() as connection:
        connection.execute("SELECT pg_sleep(30)")
    with opened.snapshot() as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    opened.close()


def test_a_connection_that_the_server_cut_is_replaced(store: Store) -> None:
    opened = reader(store.url)
    with opened.snapshot() as connection:
        pid = connection.info.backend_pid
    with psycopg.connect(as_administrator(store.url), autocommit=True) as administrator:
        administrator.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
    with opened.snapshot() as connection:
        assert connection.info.backend_pid != pid
    opened.close()


def test_a_connection_that_is_given_back_after_the_end_is_closed(store: Store) -> None:
    opened = reader(store.url)
    with opened.snapshot() as connection:
        opened.close()
    assert connection.closed


def test_a_connection_that_cannot_begin_is_closed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[psycopg.Connection[Any]] = []

    def refuse(connection: psycopg.Connection[Any]) -> None:
        made.append(connection)
        raise psycopg.OperationalError("the server went away")

    monkeypatch.setattr(database, "_begin", refuse)
    with pytest.raises(psycopg.OperationalError), reader(store.url).snapshot():
        pass
    assert [connection.closed for connection in made] == [True]


def test_who_waits_too_long_is_told_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "WAIT_S", 0.05)
    opened = reader(store.url, connections=1)
    with opened.snapshot(), pytest.raises(ConsoleBusy), opened.snapshot():
        pass
    opened.close()


def test_a_server_that_is_away_is_said_to_be_away() -> None:
    with (
        pytest.raises(psycopg.OperationalError),
        reader("postgresql://x@127.0.0.1:1/none").snapshot(),
    ):
        pass


def test_a_page_without_its_database_is_a_503_that_says_what_to_do() -> None:
    with console(database_url="postgresql://someone:secret@127.0.0.1:1/none") as url:
        for path in ("/runs", "/runs/1", "/runs.json", "/runs.csv"):
            found = httpx.get(url + path)
            assert found.status_code == 503
            assert found.headers["retry-after"] == "5"
            assert "failproof-es db status" in found.text
            assert "secret" not in found.text and "Traceback" not in found.text
        assert httpx.get(url + "/static/console.css").status_code == 200


def test_a_page_that_takes_too_long_is_a_504_that_says_what_to_do(console_log: str) -> None:
    locked, done = threading.Event(), threading.Event()

    def hold() -> None:
        with psycopg.connect(console_log) as administrator:
            administrator.execute("LOCK TABLE projections.positions IN ACCESS EXCLUSIVE MODE")
            locked.set()
            done.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    locked.wait(30)
    try:
        settings = settings_for(console_log) | {"follower_url": None}
        with console(statement_timeout_s=0.1, **settings) as url:
            found = httpx.get(url + "/runs", timeout=30)
            assert found.status_code == 504
            assert "took too long" in found.text
    finally:
        done.set()
        holder.join()
