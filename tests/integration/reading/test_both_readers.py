"""What the rows of the projections tell is what a fold over the log tells, field by field."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import projections.batch as batching
from failproof_es.core.evaluation import EvaluationKey, ImpossibleHistory
from failproof_es.core.summary import RunSummary
from failproof_es.problems import InvalidInput
from failproof_es.reading.log import LogReader
from failproof_es.reading.recorded_run import reader_for
from failproof_es.reading.result_reader import ResultReader
from failproof_es.reading.rows import RowReader
from failproof_es.store.errors import UnreadableState
from failproof_es.store.reading.reader import max_position
from failproof_es.store.store import Store
from projections.log_comparison import compare_log, compare_run
from projections.runner import catch_up, prepare, rebuild
from tests.conftest import as_administrator
from tests.examples import examples
from tests.integration.projections.shared_rebuilds import in_this_process, noted
from tests.integration.projections.world import rows as every_row
from tests.integration.reading.lives import Life, portions_of

_RAISED = (ImpossibleHistory, UnreadableState, InvalidInput, KeyError)


@pytest.fixture
def store(store: Store) -> Iterator[Store]:
    """An administrator's store: runs are numbered here without being begun."""
    with Store(as_administrator(store.url)) as administrators:
        yield administrators


def told(ask: Callable[[], Any]) -> Any:
    """What is answered, or with what it is refused."""
    try:
        return ask()
    except _RAISED as error:
        return type(error), str(error)


def hold_equal(
    connection: psycopg.Connection[Any], run_id: UUID, keys: list[EvaluationKey]
) -> bool:
    """Compare everything that both tell of a run; whether the rows told it themselves."""
    log, rows = LogReader(connection), RowReader(connection)
    run = told(lambda: log.run(run_id))
    assert told(lambda: rows.run(run_id)) == run
    if isinstance(run, tuple):
        return False
    assert told(lambda: rows.summary(run)) == told(lambda: log.summary(run))
    assert told(lambda: rows.outcomes(run, keys)) == told(lambda: log.outcomes(run, keys))
    row = connection.execute(
        "SELECT told FROM projections.runs WHERE run_id = %s", (run_id,)
    ).fetchone()
    return row == (True,)


def record(store: Store, life: Life) -> Iterator[None]:
    with store.connect() as connection:
        connection.execute("SELECT failproof.number_run(%s)", (life.run_id,))
    for portion in portions_of(life.chance, life.entries):
        store.log.recorder.insert_events(list(portion))
        yield


@pytest.mark.slow
def test_rows_and_log_tell_the_same_of_any_history_however_it_is_cut(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_rows, runs = [], list[UUID]()
    numbers = iter(range(1, 10_000))
    with store.connect() as connection:
        prepare(connection)

        @settings(max_examples=examples(0.2))
        @given(st.integers(0, 2**32))
        def check(seed: int) -> None:
            first = Life(seed, next(numbers))
            chance = Random(seed)
            for life in (first, Life(seed + 1, next(numbers), first)):
                for _ in record(store, life):
                    size = chance.choice((1, 2, 3, 7, 1_000))
                    monkeypatch.setattr(batching, "BATCH_EVENTS", size)
                    while catch_up(connection):
                        pass
                    if chance.random() < 0.3:
                        hold_equal(connection, life.run_id, life.keys)
                by_rows.append(hold_equal(connection, life.run_id, life.keys))
                runs.append(life.run_id)
            hold_equal(connection, first.run_id, first.keys)

        check()
        followed = every_row(connection)
        monkeypatch.setattr(batching, "BATCH_EVENTS", 999)
        assert compare_log(connection, lambda *_: None).changed == []
        for run_id in runs:
            assert compare_run(connection, run_id).changed == []
        rebuild(connection)
        assert every_row(connection) == followed
        in_this_process(monkeypatch)
        monkeypatch.setattr(batching, "BATCH_EVENTS", 3)
        reached = noted(monkeypatch)
        rebuild(connection, processes=3)
        assert reached == [max_position(connection)]
        assert every_row(connection) == followed
        log, rows = LogReader(connection), RowReader(connection)
        assert told(lambda: list(rows.summaries(limit=3))) == told(
            lambda: list(log.summaries(limit=3))
        )
    assert sum(by_rows) > len(by_rows) * 0.8


def possible(life: Life) -> bool:
    """Whether nothing in it is damaged, and nothing follows the seal of its run."""
    if min(len(each.state) for each in life.entries) < 30:
        return False
    topics = [each.topic for each in life.entries if each.originator_id == life.run_id]
    return "RunSealed" not in topics or topics[-1] == "RunSealed"


def test_summaries_are_listed_newest_first_and_cost_as_many_queries_for_many_runs_as_for_few(
    store: Store,
) -> None:
    lives = [life for seed in range(12) if possible(life := Life(seed, seed + 1))]
    for life in lives:
        for _ in record(store, life):
            pass
    with store.connect() as connection:
        reader = reader_for(connection)
        assert reader.source == "projections" and reader.warning is None
        log = list(LogReader(connection).summaries())
        assert [each.run_id for each in log] == [life.run_id for life in reversed(lives)]
        assert list(reader.summaries()) == log
        assert list(reader.summaries(limit=3)) == log[:3]
        totals = [each.totals for each in log if isinstance(each, RunSummary)]
        assert list(reader.totals()) == totals and len(totals) == len(log)
        assert list(LogReader(connection).totals(before=3)) == list(reader.totals(before=3))
        fewer = counted(connection, lambda: list(reader.totals(limit=2)))
        assert counted(connection, lambda: list(reader.totals())) <= fewer + 1  # older prices
        messages_are_cut(reader, connection)
        assert list(reader.summaries(before=3)) == list(LogReader(connection).summaries(before=3))
        for limit in (2**63 - 1, 2**63, 10**30):
            assert list(reader.summaries(limit=limit)) == log
            assert list(LogReader(connection).summaries(limit=limit)) == log
        few = counted(connection, lambda: list(reader.summaries(limit=2)))
        assert counted(connection, lambda: list(reader.summaries())) <= few + 1  # older prices


def messages_are_cut(reader: ResultReader, connection: psycopg.Connection[Any]) -> None:
    """Of the messages of failed requests as many as are wanted, whoever is asked."""
    most = 0
    for whole in reader.summaries():
        assert isinstance(whole, RunSummary)
        for each in (reader, LogReader(connection)):
            cut = each.summary(whole.run, messages=1)
            said = whole.messages()
            most = max(most, len(said))
            assert len(cut.messages()) == min(len(said), 1)
            assert cut.more_messages == max(len(said) - 1, 0)
            assert [count for _, count in cut.messages()] == [count for _, count in said[:1]]
            assert cut.total == whole.total
            short = each.summary(whole.run, messages=0, reviews=False)
            assert (short.counts.errors, short.reviews) == ({}, {})
            assert short.more_messages == len(said)
            assert each.summaries_of([whole.run_id]) == {
                whole.run_id: replace(short, more_messages=0)
            }
            assert each.totals_of([whole.run_id]) == {whole.run_id: whole.totals}
    assert most > 1


def counted(connection: psycopg.Connection[Any], ask: Callable[[], Any]) -> int:
    """How many queries that takes."""
    queries: list[Any] = []

    class Counting(psycopg.Cursor[Any]):
        def execute(self, *arguments: Any, **options: Any) -> Counting:
            queries.append(arguments[0])
            super().execute(*arguments, **options)
            return self

    factory, connection.cursor_factory = connection.cursor_factory, Counting
    try:
        ask()
    finally:
        connection.cursor_factory = factory
    return len(queries)
