"""Reads the status and counts of runs from their first event and the last ones on the status."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from psycopg.rows import tuple_row

from failproof_es.core.run import TELL_STATUS, Run, run_in_brief
from failproof_es.engine.history import UNREADABLE
from failproof_es.store.mapper import decode
from failproof_es.store.reading.reader import Connection, lenient
from failproof_es.store.writing.recorder import query


def read_runs_in_brief(connection: Connection, runs: Sequence[UUID]) -> dict[UUID, Run | Exception]:
    """The status and counts of each run, by id, or the error of reading the run.

    Only the first event and those on the status are folded. Costs the same however many cases a run
    planned. Runs without an event are left out.
    """
    topics = [event_class.__name__ for event_class in TELL_STATUS]
    stored: dict[UUID, list[tuple[int, str, bytes]]] = {}
    with lenient(connection.cursor(row_factory=tuple_row, binary=True)) as cursor:
        cursor.execute(query("runs_in_brief"), {"runs": list(map(str, runs)), "topics": topics})
        for run_id, version, topic, state in cursor:
            stored.setdefault(run_id, []).append((version, topic, state))
    briefs: dict[UUID, Run | Exception] = {}
    for run_id, rows in stored.items():
        try:
            briefs[run_id] = run_in_brief(
                decode(topic, state, run_id, version) for version, topic, state in rows
            )
        except UNREADABLE as error:
            briefs[run_id] = error
    return briefs
