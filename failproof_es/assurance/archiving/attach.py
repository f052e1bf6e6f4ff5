"""Attaches an archived run: every row goes back as it was, or none does.

The file is not trusted: it must have the SHA-256 that the log records, and every event in it must
hash to the leaf that is kept of its row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import psycopg
from psycopg.rows import tuple_row

from failproof_es.assurance.archiving.archive import (
    REFUSED,
    ArchivingContext,
    held_alone,
    record_attached,
    refused,
    require_archiver,
    require_whole,
    rows_in_log,
)
from failproof_es.assurance.archiving.archive_file import (
    matching_events,
    read_archive,
    rows_sha256,
)
from failproof_es.core.run import fold_run
from failproof_es.events import RunArchived
from failproof_es.ledger import bundle
from failproof_es.ledger.bundle import Bundle
from failproof_es.ledger.contents import EvidenceError
from failproof_es.ledger.event_line import ProvenEvent
from failproof_es.problems import InvalidInput
from failproof_es.store import ledger
from failproof_es.store.connecting import connect
from failproof_es.store.ledger import Connection
from failproof_es.store.reading.archives import ArchivedRow, archive_of, archived_rows
from failproof_es.store.reading.reader import existing_streams, iterate_stream
from failproof_es.store.store import Store

_ATTACH = "SELECT failproof.attach_events(%b, %b::bigint[], %b::bytea[])"
_NUMBER = "SELECT run_number FROM failproof.run_list WHERE run_id = %s"
_AT_ONCE = 500
_BYTES_AT_ONCE = 1 << 23


@dataclass(frozen=True, slots=True)
class AttachedRun:
    """A run whose events are in the log again."""

    run_id: UUID
    run_number: int
    events: int


def attach_file(store: Store, path: Path, by: ArchivingContext) -> AttachedRun:
    """Attach the run that the file archives, or finish an interrupted attempt.

    Raises `InvalidInput` where the file is no archive, is of another log, was changed, or is of a
    run that is not archived; and where this user may not attach. Nothing was changed then.
    """
    data = read_archive(path)
    read, run_id = _parse_archive(path, data)
    require_archiver(store)
    with store.lend() as connection:
        number = _require_this_log(connection, path, read, run_id)
    with held_alone(store, run_id, by):
        with store.lend() as connection:
            archive_event = _require_said(connection, path, data, run_id, number)
            rows = archived_rows(connection, run_id)
            if rows:
                _require_untouched(rows, archive_event)
                events = _matching(path, read, rows)
                _require_sources(connection, run_id, events, number)
        if rows:
            _put_back(store, archive_event, rows, events)
        with store.lend() as connection:
            back = rows_in_log(connection, run_id)
        require_whole(back, archive_event)
        record_attached(store, archive_event, by)
    return AttachedRun(run_id, number, archive_event.events)


def _parse_archive(path: Path, data: bytes) -> tuple[Bundle, UUID]:
    try:
        read = bundle.read(data)
        return read, UUID(str(read.manifest.get("run_id")))
    except (EvidenceError, ValueError) as error:
        raise InvalidInput.because(
            "not-an-archive",
            f"{path} is not the archive of a run: {error}",
            remedy="name a file that `failproof-es archive` wrote, unchanged",
        ) from None


def _require_this_log(connection: Connection, path: Path, read: Bundle, run_id: UUID) -> int:
    """The number of the run. Raises `InvalidInput` where the file is of another log."""
    origin = read.manifest.get("origin")
    origins = {tree.origin for tree in ledger.trees(connection)}
    with connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(_NUMBER, (run_id,)).fetchone()
    if origin not in origins or row is None:
        raise InvalidInput.because(
            "wrong-archive",
            f"{path} is the archive of a run of another log, {json.dumps(origin)[:200]}",
            remedy="attach it to the database that it was taken from (--database-url)",
        )
    return int(row[0])


def _require_said(
    connection: Connection, path: Path, data: bytes, run_id: UUID, number: int
) -> RunArchived:
    archive_event = archive_of(connection, run_id)
    if archive_event is None:
        raise InvalidInput.because(
            "run-not-archived", f"run {number} is not archived", remedy="there is nothing to attach"
        )
    digest = hashlib.sha256(data).hexdigest()
    if digest != archive_event.sha256:
        raise InvalidInput.because(
            "wrong-archive",
            f"{path} is not the file that run {number} was archived in: its SHA-256 is {digest}, "
            f"on record is {archive_event.sha256}",
            remedy=f"find the file that was written to {archive_event.file}",
        )
    return archive_event


def _require_untouched(rows: Sequence[ArchivedRow], archive_event: RunArchived) -> None:
    if len(rows) != archive_event.events or rows_sha256(rows) != archive_event.rows_sha256:
        raise InvalidInput.because(
            "log-changed",
            f"what is kept of the rows of run {archive_event.run_number} is not what was taken out",
            remedy="`failproof-es verify` says what was changed",
        )


def _matching(path: Path, read: Bundle, rows: Sequence[ArchivedRow]) -> list[ProvenEvent]:
    try:
        return list(matching_events(read.events, rows))
    except EvidenceError as error:
        raise InvalidInput.because(
            "log-changed",
            f"{path} is the archived file; "
            f"what the database kept of the run's rows was changed: {error}",
            remedy="`failproof-es verify --archive` says what was changed",
        ) from None


def _require_sources(
    connection: Connection, run_id: UUID, events: Sequence[ProvenEvent], number: int
) -> None:
    """Raise `InvalidInput` where the run that this one was branched from is archived."""
    branch = fold_run(row.event() for row in iterate_stream(connection, run_id)).started
    sources = {
        UUID(json.loads(event.state)["source_evaluation_id"])
        for event in events
        if event.topic == "CarriedOver"
    }
    parent = None if branch.branched_from is None else branch.branched_from.run_id
    if sources - existing_streams(connection, list(sources)) or (
        parent is not None and archive_of(connection, parent) is not None
    ):
        raise InvalidInput.because(
            "run-archived",
            f"run {number} refers to evaluations of the run that it was branched from, which is "
            "archived",
            remedy="attach that run first",
        )


def _put_back(
    store: Store,
    archive_event: RunArchived,
    rows: Sequence[ArchivedRow],
    events: Sequence[ProvenEvent],
) -> None:
    """Put all rows back in one transaction. The database compares each with its kept leaf."""
    try:
        with connect(store.archiver_url) as connection, connection.transaction():
            for positions, states in _batches(rows, events):
                connection.execute(_ATTACH, (archive_event.about, positions, states))
    except psycopg.DatabaseError as error:
        if error.sqlstate != REFUSED:
            raise
        raise refused(error, f"run {archive_event.run_number} stays archived") from None


def _batches(
    rows: Sequence[ArchivedRow], events: Sequence[ProvenEvent]
) -> Iterator[tuple[list[int], list[bytes]]]:
    positions: list[int] = []
    states: list[bytes] = []
    size = 0
    for row, event in zip(rows, events, strict=True):
        positions.append(row.position)
        states.append(event.state)
        size += len(event.state)
        if len(positions) == _AT_ONCE or size > _BYTES_AT_ONCE:
            yield positions, states
            positions, states, size = [], [], 0
    if positions:
        yield positions, states
