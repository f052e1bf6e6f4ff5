"""A run that the benchmark copies is, in the log and in the rows, what the engine would write."""

from __future__ import annotations

from typing import Any

import orjson
import psycopg
import pytest

from failproof_es.ledger.leaf import leaf_hash
from failproof_es.reading.log import LogReader
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.reading.rows import RowReader
from failproof_es.store.reading.reader import Connection
from failproof_es.store.store import Store
from projections.log_comparison import compare_run
from projections.runner import rebuild, status
from tests.benchmarks import filling
from tests.benchmarks.console import log
from tests.benchmarks.filling import Filler
from tests.benchmarks.rebuild import begun, history

_TABLES = (
    "prompts", "evaluations", "runs", "planned_cases", "run_groups", "run_classes", "run_asking",
    "token_usage", "run_errors", "run_unscored", "run_latencies", "run_clusters", "unplaced_events",
    "audit_trail",
)  # fmt: skip


def rows(connection: Connection) -> dict[str, list[Any]]:
    """Every row of the read models, as text."""
    return {
        table: connection.execute(
            f"SELECT row_to_json(t)::text FROM projections.{table} AS t ORDER BY 1".encode()
        ).fetchall()
        for table in _TABLES
    }


def test_the_rows_of_a_copied_run_are_those_of_a_rebuild(
    store: Store, administrator: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "AT_ONCE", 20)
    with store.connect() as connection:
        filler = Filler(store, connection)
        filler.fill(3, "another")
        run_id = filler.copied(administrator, 60, "read")
        filler.beside(2, 3)
        filler.finish()
        assert not any(each.behind for each in status(connection))
        copied = rows(connection)
        run = RecordedRun.read(connection, run_id)
        by_rows, outcomes = run.summary, list(run.outcomes())
        assert run.reader.source == "projections"
        assert by_rows.total.scored == len(outcomes) == 60
        log = LogReader(connection)
        assert by_rows == log.summary(log.run(run_id))
        by_events = RecordedRun.read_events(connection, run_id)
        assert list(by_events.counted_outcomes()) == outcomes
        assert "summary" in vars(by_events) and by_events.summary == by_rows
        assert compare_run(connection, run_id).changed == []
        keys = [each.key for each in run.evaluations()]
        assert [each.outcome for each in outcomes] == log.outcomes(run.run, keys)
        rebuild(connection)
        assert rows(connection) == copied


def test_the_events_of_a_copied_run_are_those_that_the_engine_records(
    store: Store, administrator: psycopg.Connection[Any]
) -> None:
    with store.connect() as connection:
        run_id = Filler(store, connection).copied(administrator, 30, "read")
        stored = connection.execute(
            "SELECT originator_id, originator_version, topic, state, run_id, leaf_hash "
            "FROM failproof.stored_events ORDER BY notification_id"
        ).fetchall()
    events, cases = begun(30, run_id, 1, "read")
    events += [event for case in cases for event in history(case, run_id)]
    recorded = [store.log.mapper.to_stored_event(event) for event in events]
    assert [(row[0], row[1], row[2], _timeless(row[3])) for row in stored] == [
        (each.originator_id, each.originator_version, each.topic, _timeless(each.state))
        for each in recorded
    ]
    assert [row[4] for row in stored] == [event.run_id for event in events]
    for stream, version, topic, state, _, leaf in stored:
        assert leaf == leaf_hash(stream.bytes, version, topic.encode(), state)


def _timeless(state: bytes) -> dict[str, Any]:
    told: dict[str, Any] = orjson.loads(state)
    assert told.pop("timestamp")
    return told


@pytest.mark.slow
@pytest.mark.wide
def test_the_console_s_log_is_one_that_the_engine_could_have_written(
    store: Store, administrator: psycopg.Connection[Any]
) -> None:
    filled = log.fill(store, administrator, 800, 60)
    with store.connect() as connection:
        odd = connection.execute(
            "SELECT (SELECT count(*) FROM projections.unplaced_events), "
            "(SELECT count(*) FROM projections.runs WHERE NOT told OR impossible > 0), "
            "(SELECT count(*) FROM projections.runs), "
            "(SELECT count(*) FROM failproof.run_asked_list WHERE asking_id IS NULL)"
        ).fetchone()
        assert odd == (0, 0, 60, 0)
        rows, events = RowReader(connection), LogReader(connection)
        for run_id in (filled.large, filled.other, filled.going):
            assert rows.summary(rows.run(run_id)) == events.summary(events.run(run_id))
        whole = rows.summary(rows.run(filled.large))
        assert whole.total.passed and whole.total.failed and whole.total.awaiting
        assert whole.total.lost and len(whole.messages()) > 3 and len(whole.by_suite()) == 40
        states = {run_id for (run_id,) in connection.execute("SELECT status FROM projections.runs")}
        assert states == {"running", "completed", "failed", "paused"}
