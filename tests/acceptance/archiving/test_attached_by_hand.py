"""The function that puts events back, called by hand: the database lets no part of a run in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import psycopg
import pytest

from failproof_es.assurance.archiving.archive_file import matching_events
from failproof_es.core.case import operations_id
from failproof_es.ledger import bundle
from failproof_es.store.reading.archives import archived_rows
from failproof_es.store.store import Store
from tests.acceptance.archiving.conftest import Archive

_WHOLE = "SELECT failproof.attach_events(%s, %s::bigint[], %s::bytea[])"

Part = Callable[[list[int], list[bytes]], list[tuple[list[int], list[bytes]]]]

_PARTS: dict[str, Part] = {
    "one event": lambda places, states: [(places[:1], states[:1])],
    "all but the last": lambda places, states: [(places[:-1], states[:-1])],
    "all but the first": lambda places, states: [(places[1:], states[1:])],
    "two calls, one event short": lambda places, states: [
        (places[:2], states[:2]), (places[2:-1], states[2:-1])
    ],
}  # fmt: skip


def _read(archive: Archive, file: Path) -> tuple[list[int], list[bytes]]:
    """Positions and states of what the file holds, as `attach` gives them."""
    with Store.open(archive.url) as store, store.connect() as connection:
        rows = archived_rows(connection, archive.run_id())
    events = matching_events(bundle.read(file.read_bytes()).events, rows)
    return [row.position for row in rows], [event.state for event in events]


@contextmanager
def _transaction(url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(url) as connection, connection.transaction():
        yield connection


def _call(archive: Archive, connection: psycopg.Connection[Any], *part: Any) -> None:
    connection.execute(_WHOLE, (archive.run_id(), *part))


@contextmanager
def _refused(url: str) -> Iterator[psycopg.Connection[Any]]:
    """A transaction that the database does not let in, because it attaches a part."""
    part = pytest.raises(psycopg.DatabaseError, match="a part is not attached")
    with part as raised, _transaction(url) as connection:
        yield connection
    assert raised.value.sqlstate == "FP008"


def test_a_part_of_a_run_cannot_be_attached(archive: Archive) -> None:
    before = archive.rows()
    archive.does("archive", "1", "--to", "old")
    gone, whole = archive.rows(), _read(archive, archive.file())
    places, states = whole
    with Store.open(archive.url) as store:
        url = store.archiver_url
    for name, part in _PARTS.items():
        with _refused(url) as connection:
            for given in part(*whole):
                _call(archive, connection, *given)
        assert archive.rows() == gone, name
    # At once, where the transaction asks for that.
    with psycopg.connect(url) as connection:
        connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
        with pytest.raises(psycopg.DatabaseError, match="a part"):
            _call(archive, connection, places[:3], states[:3])
        connection.rollback()
    assert archive.rows() == gone
    # Hidden behind a whole run that a savepoint takes back.
    with _refused(url) as connection:
        _call(archive, connection, places[:3], states[:3])
        with connection.transaction(force_rollback=True):
            _call(archive, connection, places[3:], states[3:])
            connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
    assert archive.rows() == gone
    # All of it comes back, in as many calls as it takes, and nothing else is left of them.
    with _transaction(url) as connection:
        for place, state in zip(*whole, strict=True):
            _call(archive, connection, [place], [state])
    assert archive.query("SELECT * FROM failproof.runs_being_attached") == []
    assert archive.rows() == before
    archive.does("attach", archive.file())
    assert archive.rows() == before
    assert "genuine" in archive.does("verify")


def test_the_number_of_events_and_their_digest_are_both_compared(
    administrator: psycopg.Connection[Any],
) -> None:
    """A run without events, and what the event that archived it says of them."""
    nothing = sha256(b"").hexdigest()
    for events, digest, is_whole in ((0, nothing, True), (1, nothing, False), (0, "x", False)):
        run_id, said = uuid4(), orjson.dumps({"events": events, "rows_sha256": digest})
        with administrator.transaction(force_rollback=True):
            administrator.execute(
                "INSERT INTO failproof.events (originator_id, originator_version, topic, state, "
                "leaf_hash) VALUES (%s, 1, 'RunArchived', %s, %s)",
                (operations_id(run_id), said, bytes(32)),
            )
            administrator.execute(
                "INSERT INTO failproof.runs_being_attached VALUES (%s)", (run_id,)
            )
            part = pytest.raises(psycopg.DatabaseError, match="a part is not attached")
            with nullcontext() if is_whole else part:
                administrator.execute("SET CONSTRAINTS ALL IMMEDIATE")
