"""Readers beside rebuilds: neither breaks the other, and nobody reads half of a table."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import psycopg
import pytest

from failproof_es.console.database import ReadOnlyDatabase, ask_again
from failproof_es.console.errors import _describe_error
from failproof_es.problems import InvalidInput
from failproof_es.store.connecting import connect
from failproof_es.store.outage import CONTENTION
from failproof_es.store.store import Store
from projections import PROJECTIONS, runner
from projections.runner import prepare, rebuild
from tests.conftest import as_administrator
from tests.console import console, settings_for

PAGES = ("/runs", "/runs/1", "/runs/1/results", "/runs/1.json")
REBUILDS = 3


def _error_in(page: str) -> str:
    """The words of a page without its markup, which a failed assertion would cut off."""
    main = page.partition("<main")[2].partition("</main")[0] or page
    return " ".join(re.sub(r"<[^>]*>", " ", main).split())


@contextmanager
def viewers(url: str, count: int) -> Iterator[Counter[tuple[int, str]]]:
    """People who look at one page after the other; yields what they saw: status and first words."""
    seen: Counter[tuple[int, str]] = Counter()
    over = threading.Event()

    def look(first: int) -> None:
        with httpx.Client(base_url=url, timeout=60) as client:
            number = first
            while not over.is_set():
                answer = client.get(PAGES[number % len(PAGES)])
                told = "" if answer.status_code == 200 else _error_in(answer.text)
                seen[answer.status_code, told] += 1
                number += 1

    threads = [threading.Thread(target=look, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        over.set()
        for thread in threads:
            thread.join()


def upgrade(connection: psycopg.Connection[Any]) -> None:
    """As a program of another version finds the tables."""
    with connection.transaction():
        connection.execute("SET LOCAL ROLE failproof_projector")
        connection.execute("UPDATE projections.positions SET version = 0")
    prepare(connection)


@pytest.mark.usefixtures("mock_runs")
@pytest.mark.parametrize("replaced", [rebuild, upgrade], ids=["rebuilt", "upgraded"])
@pytest.mark.slow
@pytest.mark.thinned(whole=1)
def test_rebuilds_beside_two_viewers_break_no_page_and_none_of_them_fails(
    store: Store, replaced: Callable[[psycopg.Connection[Any]], object]
) -> None:
    with store.connect() as connection:
        prepare(connection)
        with console(**settings_for(store.url)) as url, viewers(url, 2) as seen:
            for _ in range(REBUILDS):
                replaced(connection)
            time.sleep(0.5)
    shown = {status for status, told in seen if "built by another version" not in told}
    assert shown == {200}, seen
    assert {status for status, _ in seen} <= {200, 503}, "lists of results wait for their version"


def blocked(store: Store) -> bool:
    """Whether a session waits for a lock."""
    with psycopg.connect(as_administrator(store.url), autocommit=True) as administrator:
        row = administrator.execute(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ).fetchone()
    return row is not None and row[0] > 0


@pytest.mark.usefixtures("mock_runs")
def test_a_reader_that_takes_its_tables_one_by_one_is_no_rebuild_s_victim(store: Store) -> None:
    """Old rebuilds took theirs in another order: one of both was ended."""
    with (
        store.connect() as connection,
        store.connect() as reader,
        ThreadPoolExecutor(1) as beside,
    ):
        prepare(connection)
        for first, second in (("token_usage", "evaluations"), ("evaluations", "token_usage")):
            with reader.transaction():
                reader.execute(f"SELECT count(*) FROM projections.{first}".encode())
                rebuilding: Future[int] = beside.submit(rebuild, connection)
                deadline = time.monotonic() + 30
                while not blocked(store):
                    assert time.monotonic() < deadline
                    time.sleep(0.01)
                reader.execute(f"SELECT count(*) FROM projections.{second}".encode())
            assert rebuilding.result(timeout=60) > 0


@pytest.mark.usefixtures("mock_runs")
def test_a_snapshot_that_began_before_a_swap_reads_whole_tables(store: Store) -> None:
    """The new tables were filled after it began: to it they would be empty."""
    database = ReadOnlyDatabase(
        settings_for(store.url)["database_url"], connections=1, statement_timeout_s=60
    )
    count = "SELECT count(*) FROM projections.evaluations"
    with store.connect() as connection, ThreadPoolExecutor(1) as beside:
        prepare(connection)
        while runner.catch_up(connection):
            pass
        [(whole,)] = connection.execute(count).fetchall()
        assert whole > 0
        with database.snapshot() as reader:
            reader.execute("SELECT 1")
            rebuilding = beside.submit(rebuild, connection)
            with pytest.raises(TimeoutError):
                rebuilding.result(timeout=2)
            assert reader.execute(count).fetchall() == [(whole,)]
        rebuilding.result(timeout=60)
        assert connection.execute(count).fetchall() == [(whole,)]
    database.close()


@pytest.mark.usefixtures("mock_runs")
def test_a_rebuild_that_finds_no_moment_without_readers_says_so_and_leaves_the_old_rows(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "SWAP_WITHIN_S", 1.0)
    with store.connect() as connection, connect(store.url) as reader:
        prepare(connection)
        with reader.transaction():
            reader.execute("SELECT count(*) FROM projections.runs")
            with pytest.raises(InvalidInput, match="read without a pause"):
                rebuild(connection)
        rebuild(connection)
        assert len(runner.status(connection)) == len(PROJECTIONS)


@pytest.mark.parametrize(
    "error",
    [
        psycopg.errors.DeadlockDetected("deadlock detected"),
        psycopg.errors.SerializationFailure("could not serialize access"),
        psycopg.errors.LockNotAvailable("canceling statement due to lock timeout"),
        psycopg.errors.DiskFull("could not extend file"),
        psycopg.errors.OutOfMemory("out of memory"),
    ],
)
def test_what_a_server_that_runs_refuses_is_never_told_as_a_server_that_is_away(
    error: psycopg.Error,
) -> None:
    page = _describe_error(error)
    assert page.status == 503 and page.code in ("database-busy", "database-refused")


def test_a_server_that_is_away_is_told_as_that() -> None:
    for error in (psycopg.OperationalError("refused"), psycopg.errors.AdminShutdown("ended")):
        assert _describe_error(error).code == "database-unreachable"


@pytest.mark.parametrize("kind", CONTENTION)
def test_a_reader_that_was_a_deadlock_s_victim_is_asked_again_and_not_for_ever(
    kind: type[psycopg.Error],
) -> None:
    tries: list[int] = []

    def read(succeeds_at: int) -> str:
        tries.append(len(tries) + 1)
        if tries[-1] < succeeds_at:
            raise kind("held by another session")
        return "the page"

    assert ask_again(lambda: read(3)) == "the page"
    tries.clear()
    with pytest.raises(kind):
        ask_again(lambda: read(100))
    assert 3 <= len(tries) <= 5
