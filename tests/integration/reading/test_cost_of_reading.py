"""What is read for an answer depends on the answer alone, not on the rest of the log.

Rows are counted, not milliseconds: every row and index entry that the server looked at, and every
statement.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import psycopg
import pytest

from failproof_es.catalogue.run_document import run_document
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.report.data.judge_agreement import agreements
from failproof_es.store.reading.experiments import list_attempts, list_overlapping
from failproof_es.store.store import Store
from tests.benchmarks.filling import Filler
from tests.benchmarks.reading import readings

_ROWS = (
    "SELECT relname::text, seq_tup_read FROM pg_stat_user_tables "
    "UNION ALL SELECT indexrelname::text, idx_tup_read FROM pg_stat_user_indexes"
)
_OTHERS = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
    "AND backend_type = 'client backend' AND pid NOT IN (pg_backend_pid(), %s)"
)
MARGIN = 1.25
"""More than that is growth: there are four times as many runs, ten times as many evaluations."""


class Cost(NamedTuple):
    """What the server was asked, and what it looked at."""

    statements: int
    rows: int
    where: dict[str, int]
    """The same rows, by table where all of it was read, else by index."""


class Meter:
    """Counts what one thing costs after the other."""

    def __init__(
        self, store: Store, administrator: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self._store = store
        self._administrator = administrator
        self._statements = 0
        for kind in (psycopg.Cursor, psycopg.ServerCursor):
            monkeypatch.setattr(kind, "execute", self._counting(kind.execute))

    def _counting(self, execute: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*arguments: Any, **options: Any) -> Any:
            self._statements += 1
            return execute(*arguments, **options)

        return counting

    def _settle(self, connection: psycopg.Connection[Any]) -> None:
        """Wait for what every session counted: one tells it when it is asked to, or ends."""
        self._store.close()
        connection.execute("SELECT pg_stat_force_next_flush()")
        deadline = time.monotonic() + 20
        while self._administrator.execute(_OTHERS, (connection.info.backend_pid,)).fetchall():
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def rows(self) -> Counter[str]:
        """So many rows and entries the server looked at until now, catalogs left out."""
        return Counter(dict(self._administrator.execute(_ROWS).fetchall()))

    def each(self, number: int) -> dict[str, Cost]:
        """What each way to read that run costs the second time."""
        found = {}
        with self._store.connect() as connection:
            run_id = resolved(connection, number)
            for name, do in readings(self._store, connection, run_id).items():
                do()
                self._settle(connection)
                rows, statements = self.rows(), self._statements
                do()
                said = self._statements - statements
                self._settle(connection)
                read = self.rows() - rows
                found[name] = Cost(said, read.total(), dict(read))
        return found


def resolved(connection: psycopg.Connection[Any], number: int) -> Any:
    row = connection.execute(
        "SELECT run_id FROM failproof.run_list WHERE run_number = %s", (number,)
    ).fetchone()
    assert row is not None
    return row[0]


def plan_as_for_large_tables(administrator: psycopg.Connection[Any]) -> None:
    """Small ones are read as a whole where that is cheaper; from now on they are not."""
    for way in ("enable_seqscan", "enable_hashjoin", "enable_mergejoin"):
        statement = f"ALTER DATABASE %I SET {way} = off"
        administrator.execute(
            f"DO $$ BEGIN EXECUTE format('{statement}', current_database()); END $$".encode()
        )


def grown(before: dict[str, Cost], after: dict[str, Cost]) -> dict[str, object]:
    """Where more was asked or read than before, and of what."""
    return {
        name: (least[:2], more[:2], Counter(more.where) - Counter(least.where))
        for name, least in before.items()
        if (more := after[name]).statements > least.statements
        or more.rows > least.rows * MARGIN + 20
    }


def grown_for_good(
    meter: Meter, number: int, before: dict[str, Cost], after: dict[str, Cost]
) -> dict[str, object]:
    """Where more was asked or read than before, each time: other threads may ask something once."""
    found = grown(before, after)
    for _ in range(2):
        if found:
            found = {
                name: more
                for name, more in found.items()
                if name in grown(before, meter.each(number))
            }
    return found


def test_what_is_read_grows_neither_with_the_log_nor_with_the_run(
    store: Store, administrator: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """21 and 81 runs beside, that are attempts, overlap, or are unrelated; 40 and 400
    evaluations in the run."""
    plan_as_for_large_tables(administrator)
    meter = Meter(store, administrator, monkeypatch)
    assert run_document.__kwdefaults__ is not None
    monkeypatch.setitem(run_document.__kwdefaults__, "newest", 5)
    with store.connect() as connection:
        filler = Filler(store, connection)
        filler.fill(40, "read")
        filler.fill(400)
        filler.beside(21)
        filler.finish()
    administrator.execute("ANALYZE")
    few, long = meter.each(1), meter.each(2)
    with store.connect() as connection:
        filler.connection = connection
        filler.number += 2 * 2  # those that were begun
        filler.beside(60)
        filler.finish()
    administrator.execute("ANALYZE")
    many = meter.each(1)
    assert grown_for_good(meter, 1, few, many) == {}
    assert grown_for_good(meter, 2, few, long) == {}


def test_whether_anybody_reviewed_anything_is_asked_of_an_index(
    store: Store, administrator: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.connect() as connection:
        filler = Filler(store, connection)
        run_id = filler.fill(40)
        filler.finish()
        connection.execute("SET enable_seqscan = off")
        meter = Meter(store, administrator, monkeypatch)
        run = RecordedRun.read(connection, run_id).run
        connection.execute("SELECT pg_stat_force_next_flush()")
        before = meter.rows()
        assert agreements(connection, [run]) == ((), ())
        connection.execute("SELECT pg_stat_force_next_flush()")
        assert (meter.rows() - before).total() < 5


_MORE_RUNS = """
INSERT INTO failproof.runs_asked (run_number, run_id, asking_id, experiment, place)
SELECT
    noted.run_number + 5 * n, gen_random_uuid(), noted.asking_id, noted.experiment, noted.place + n
FROM failproof.runs_asked AS noted, generate_series(1, 1500) AS n
WHERE noted.run_number <= 3
"""


def test_of_runs_that_asked_alike_no_more_are_read_than_are_named(
    store: Store, administrator: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the planner chooses, beside 4,500 runs: of an experiment that asked once, of one that
    asked a third of all, and of one that those overlap with."""
    few = 5
    with store.connect() as connection:
        filler = Filler(store, connection)
        run_ids = [filler.fill(2, "one"), filler.fill(2, "another"), filler.fill(2, "third")]
        alone = filler.fill(2, "alone")
        overlapping = filler.fill(3, "one")
        filler.finish()
        administrator.execute(_MORE_RUNS)
        administrator.execute("VACUUM (ANALYZE) failproof.runs_asked")
        meter = Meter(store, administrator, monkeypatch)

        def read(do: Callable[[], list[Any]]) -> tuple[int, int]:
            do()
            connection.execute("SELECT pg_stat_force_next_flush()")
            before = meter.rows()
            found = len(do())
            connection.execute("SELECT pg_stat_force_next_flush()")
            return found, (meter.rows() - before).total()

        many = [read(partial(list_attempts, connection, run, few)) for run in run_ids]
        assert [found for found, _ in many] == [few] * 3
        found, once = read(lambda: list_attempts(connection, alone, few))
        assert found == 0
        found, beside = read(lambda: list_overlapping(connection, overlapping, few))
        assert found == few
        assert max(once, beside, *(rows for _, rows in many)) < 60
