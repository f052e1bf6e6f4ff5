"""Which way is read: rows that stand at the head of the log, or else the log, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from failproof_es.reading.at_head import is_at_head
from failproof_es.reading.log import LogReader
from failproof_es.reading.recorded_run import reader_for
from failproof_es.store.mapper import LogEntry
from failproof_es.store.schema.installation import AUDITOR
from failproof_es.store.store import Store
from projections.follower import Follower
from tests.conftest import as_administrator
from tests.integration.reading.lives import Life
from tests.integration.reading.test_both_readers import possible


@pytest.fixture
def life(store: Store) -> Life:
    life = next(each for each in (Life(n, 1) for n in range(1, 99)) if whole(each))
    with psycopg.connect(as_administrator(store.url), autocommit=True) as connection:
        connection.execute("SELECT failproof.number_run(%s)", (life.run_id,))
    store.log.recorder.insert_events(list(life.entries))
    return life


def whole(life: Life) -> bool:
    """Whether its log is as the engine writes it."""
    return len(life.keys) > 2 and all(entry.state.startswith(b"{") for entry in life.entries)


@pytest.fixture
def auditor(store: Store) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A connection that may only read."""
    with psycopg.connect(as_administrator(store.url), autocommit=True) as connection:
        connection.execute(f"SET SESSION AUTHORIZATION {AUDITOR}")
        yield connection


def test_rows_are_read_after_they_were_caught_up(store: Store, life: Life) -> None:
    with store.connect() as connection:
        assert not is_at_head(connection)
        reader = reader_for(connection)
        assert (reader.source, reader.warning) == ("projections", None)
        assert is_at_head(connection)
        run = reader.run(life.run_id)
        assert reader.summary(run) == LogReader(connection).summary(run)


def test_the_past_is_read_from_the_log(store: Store, life: Life) -> None:
    with store.connect() as connection:
        reader = reader_for(connection, 3)
        assert (reader.source, reader.up_to, reader.warning) == ("log", 3, None)
        assert not is_at_head(connection), "nothing was written for it"


def test_who_may_not_write_reads_rows_that_are_current_and_else_the_log(
    store: Store, life: Life, auditor: psycopg.Connection[tuple[object, ...]]
) -> None:
    reader = reader_for(auditor)
    assert reader.source == "log" and reader.warning and "not current" in reader.warning
    by_log = reader.summary(reader.run(life.run_id))
    with store.connect() as connection:
        reader_for(connection)
    reader = reader_for(auditor)
    assert (reader.source, reader.warning) == ("projections", None)
    assert reader.summary(reader.run(life.run_id)) == by_log


def test_an_event_of_a_newer_program_leaves_the_log_to_be_read_and_says_so(
    store: Store, life: Life
) -> None:
    newer = LogEntry(uuid4(), 1, "PromptStored", b'{"schema_version":99}', run_id=None)
    store.log.recorder.insert_events([newer])
    with store.connect() as connection:
        reader = reader_for(connection)
        assert reader.source == "log" and reader.warning and "newer" in reader.warning
        assert reader.run(life.run_id).manifest is not None


def test_a_damaged_event_stops_no_row_but_its_own(store: Store, life: Life) -> None:
    damaged = LogEntry(uuid4(), 1, "Scored", b"no json", run_id=uuid4())
    store.log.recorder.insert_events([damaged])
    with store.connect() as connection:
        assert reader_for(connection).source == "projections"
        noted = connection.execute("SELECT topic FROM projections.unplaced_events").fetchall()
        assert ("Scored",) in noted


def test_tables_that_cannot_be_replaced_leave_the_log_to_be_read_and_say_so(
    store: Store, life: Life
) -> None:
    with psycopg.connect(as_administrator(store.url), autocommit=True) as administrator:
        with store.connect() as connection:
            reader_for(connection)
        administrator.execute("CREATE VIEW public.mine AS SELECT * FROM projections.runs")
        administrator.execute("UPDATE projections.positions SET version = 1")
        with store.connect() as connection:
            reader = reader_for(connection)
            assert reader.source == "log" and reader.warning and "mine" in reader.warning


def test_nothing_new_costs_one_query(store: Store, life: Life) -> None:
    with store.connect() as connection:
        reader_for(connection)
        asked: list[object] = []

        class Counting(psycopg.Cursor[Any]):
            def execute(self, *arguments: Any, **options: Any) -> Counting:
                asked.append(arguments[0])
                super().execute(*arguments, **options)
                return self

        connection.cursor_factory = Counting
        assert reader_for(connection).source == "projections"
        assert len(asked) == 1


def both(life: Life) -> bool:
    return whole(life) and possible(life)


def test_readers_and_a_follower_at_once_take_in_every_event_once(store: Store) -> None:
    life = next(each for each in (Life(n, 1) for n in range(200, 299)) if both(each))
    with Follower(store.url), store.connect() as connection:
        for entry in life.entries:
            store.log.recorder.insert_events([entry])
            reader_for(connection)
        reader = reader_for(connection)
        run = reader.run(life.run_id)
        assert reader.summary(run) == LogReader(connection).summary(run)
