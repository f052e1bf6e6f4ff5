"""Who asks for some streams reads those streams, also where no server has analyzed the log yet.

Without statistics a planner takes a stream for a large part of the log. So it is counted how many
rows of the log each reader made the server read one after the other: none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import scalar_row

from failproof_es.core.case import prompt_id
from failproof_es.events import EVALUATION_ENDINGS
from failproof_es.store.reading import reader
from failproof_es.store.reading.stream_leaves import stream_leaves
from failproof_es.store.store import Store
from failproof_es.store.writing.recorder import query
from projections.protocol import sql_file
from tests.benchmarks.rebuild import asked_of, stored_prompt

CASES = 6_000
ASKED = 300

Connection = psycopg.Connection[Any]
Ask = Callable[[Connection, list[UUID]], int]


def _rows(statement: str, *more: object) -> Ask:
    return lambda log, ids: len(log.execute(statement.encode(), (ids, *more)).fetchall())


READERS: dict[str, Ask] = {
    "read_streams": lambda log, ids: len(reader.read_streams(log, ids)),
    "stream_versions": lambda log, ids: len(reader.stream_versions(log, ids)),
    "existing_streams": lambda log, ids: len(reader.existing_streams(log, ids)),
    "read_beginnings": lambda log, ids: len(reader.read_beginnings(log, ids, "PromptStored")),
    "portions": lambda log, ids: sum(map(len, reader.portions(log, ids[:-1]))),
    "stream_leaves": lambda log, ids: len(stream_leaves(log, ids, None)),
    "endings": lambda log, ids: len(
        log.execute(query("endings"), (ids, 2**62, list(EVALUATION_ENDINGS))).fetchall()
    ),
    "carried_over": _rows(sql_file("carried_over"), ["PromptStored"]),
}


def _read_one_after_the_other(administrator: Connection) -> int:
    """Rows of the log, by all who have said what they read: the statement flushes its own."""
    administrator.execute("SELECT pg_stat_force_next_flush()")
    cursor = administrator.cursor(row_factory=scalar_row)
    found = cursor.execute(
        "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'events'"
    ).fetchone()
    assert isinstance(found, int)
    return found


@pytest.fixture
def streams(store: Store, administrator: Connection) -> list[UUID]:
    """Streams of a log that nobody has analyzed."""
    with administrator.transaction():
        administrator.execute("SET LOCAL event_triggers = off")
        administrator.execute("ALTER TABLE failproof.events SET (autovacuum_enabled = false)")
    cases = [(case.digest(), case) for case in asked_of(CASES, "plans")]
    for first in range(0, CASES, 1_000):
        prompts = [stored_prompt(*each) for each in cases[first : first + 1_000]]
        store.log.recorder.insert_events(list(map(store.log.mapper.to_stored_event, prompts)))
    return [prompt_id(digest) for digest, _ in cases[:ASKED]]


def test_a_log_that_was_never_analyzed_is_not_read_whole(
    store: Store, administrator: Connection, streams: list[UUID]
) -> None:
    """And where a statement asks as each of them once did, the count shows it."""
    whole = {}
    naive = _rows("SELECT count(state) FROM failproof.stored_events WHERE originator_id = ANY (%s)")
    for name, ask in {**READERS, "naive": naive}.items():
        before = _read_one_after_the_other(administrator)
        with store.connect() as log:
            found = ask(log, [*streams, streams[0]])  # one of them twice
            log.execute("SELECT pg_stat_force_next_flush()")
        whole[name] = _read_one_after_the_other(administrator) - before
        assert found == (1 if name == "naive" else ASKED), name
    assert whole.pop("naive") >= CASES
    assert whole == dict.fromkeys(READERS, 0)
