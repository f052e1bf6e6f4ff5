"""Archives a run: writes the file, records an event, signs it, and only then removes the rows.

Each step is complete before the next one begins, and starts from the present state: after a kill
between two steps the log is unchanged, or records what is archived, and the same command finishes
the job.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import psycopg
from psycopg.rows import tuple_row

from failproof_es.assurance.archiving.archive_file import (
    CheckedArchive,
    check_archive,
    count_topics,
    file_name,
    read_archive,
    rows_sha256,
    write_archive,
)
from failproof_es.assurance.signing.checkpoint_signer import sign_and_keep_checkpoint
from failproof_es.assurance.signing.signing_key import own_public_key
from failproof_es.core.case import operations_id
from failproof_es.core.run import Run, fold_run
from failproof_es.events import RunArchived, RunAttached
from failproof_es.ledger.contents import EvidenceError
from failproof_es.ledger.note import PublicKey
from failproof_es.problems import InvalidInput
from failproof_es.store import ledger
from failproof_es.store.connecting import connect
from failproof_es.store.ledger import Connection
from failproof_es.store.reading.archives import (
    ArchivedRow,
    archive_of,
    archived_rows,
    branched_from,
    comparing_with,
)
from failproof_es.store.reading.reader import iterate_stream
from failproof_es.store.store import Store
from failproof_es.store.writing.appending import append
from failproof_es.store.writing.event_header import Draft, EventHeader
from failproof_es.store.writing.lease import Lease, RunBusy

_ROWS = (
    "SELECT notification_id, originator_id, originator_version, topic, run_id, "
    "timestamptz_send(recorded_at), leaf_hash FROM failproof.stored_events "
    "WHERE run_id = %s AND originator_id <> %s ORDER BY notification_id"
)
_MAY = """
SELECT has_function_privilege(p.oid, 'EXECUTE') AND pg_get_userbyid(p.proowner) = 'failproof_owner'
FROM pg_proc AS p
JOIN pg_namespace AS n ON n.oid = p.pronamespace
WHERE n.nspname = 'failproof' AND p.proname = 'detach_run'
"""
"""Whether this user may call the function, and its owner may move rows."""
_DETACH = "SELECT failproof.detach_run(%s, %s)"
_OF_MONTH = (
    "SELECT l.run_id, l.run_number FROM failproof.run_list AS l "
    "JOIN failproof.stored_events AS e ON e.originator_id = l.run_id AND e.originator_version = 1 "
    "WHERE e.recorded_at >= (%(month)s || '-01 00:00:00+00')::timestamptz "
    "AND e.recorded_at AT TIME ZONE 'UTC' < "
    "(%(month)s || '-01')::timestamp + interval '1 month' ORDER BY l.run_number"
)


@dataclass(frozen=True, slots=True)
class ArchivingContext:
    """The user and place of an archiving, and the process name that others see meanwhile."""

    who: str
    where: str
    process: str


@dataclass(frozen=True, slots=True)
class ArchivedRun:
    """An archived run: `events` of its events are in the file, and none of them is in the log."""

    run_id: UUID
    run_number: int
    file: str
    bytes: int
    sha256: str
    streams: int
    events: int
    already: bool
    """Whether the run had been archived completely before."""


def runs_of_month(connection: Connection, month: str) -> list[tuple[UUID, int]]:
    """Ids and numbers of the runs that began in a month (`YYYY-MM`, UTC, the database's clock)."""
    with connection.cursor(row_factory=tuple_row) as cursor:
        return cursor.execute(_OF_MONTH, {"month": month}).fetchall()


def archive_run(store: Store, run_id: UUID, folder: Path, by: ArchivingContext) -> ArchivedRun:
    """Archive a run into a file in the folder, or finish an interrupted attempt.

    Raises `InvalidInput` where the run may not be archived, where this user may not archive, and
    where the file cannot be written or does not prove the run. No row has left the log then.
    """
    require_archiver(store)
    _require_recordable(folder.absolute())
    with held_alone(store, run_id, by):
        return _archive(store, run_id, folder.absolute(), by)


def _require_recordable(folder: Path) -> None:
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise InvalidInput.because(
            "path-not-utf8",
            f"the name of the folder {str(folder)!a} is not valid UTF-8: it cannot be recorded",
            remedy="name another folder; nothing was archived",
        ) from None


def _archive(store: Store, run_id: UUID, folder: Path, by: ArchivingContext) -> ArchivedRun:
    with store.lend() as connection:
        run = _require_ended(connection, run_id)
        archive_event, rows = archive_of(connection, run_id), rows_in_log(connection, run_id)
        if archive_event is None and not rows:
            raise InvalidInput.because(
                "nothing-to-archive",
                f"run {run.started.run_number} has no evaluations in the log",
                remedy="there is nothing to archive",
            )
        if archive_event is not None and not rows:
            _require_taken_out(connection, archive_event)
            return _archived(archive_event, already=True)
        key = _sign(connection)
        needed = _check_dependents(connection, run)
        if archive_event is not None and (
            needed is not None or not _still_holds(archive_event, rows, key)
        ):
            # Nothing was taken out; another run needs it, or the file is gone: begin again.
            require_whole(rows, archive_event)
            record_attached(store, archive_event, by)
            archive_event = None
        if needed is not None:
            raise needed
        if archive_event is None:
            path = folder / file_name(run.started.run_number, run_id)
            was_written = write_archive(connection, run_id, path, key)
            try:
                checked = check_archive(read_archive(path), run_id, rows, key)
            except EvidenceError as error:
                raise _refused_file(path, was_written, error) from None
            archive_event = _record(store, run, rows, path, checked, by)
            _sign(connection)  # sign the event before any row leaves
        # A run that begins from here on sees the event; this check finds one that began before it.
        needed = _check_dependents(connection, run)
    try:
        if needed is not None:
            raise needed
        _detach(store, archive_event)
    except InvalidInput:
        _take_back(store, archive_event, by)
        raise
    return _archived(archive_event, already=False)


@contextmanager
def held_alone(store: Store, run_id: UUID, by: ArchivingContext) -> Iterator[None]:
    """Hold the run, so that nobody else archives, attaches or drives it. Raises `InvalidInput`."""
    with Lease(store.url, run_id, by.process) as lease:
        try:
            lease.acquire()
        except RunBusy as error:
            raise InvalidInput.because(
                "run-busy", f"{error}", remedy="nothing was changed"
            ) from None
        yield


# -- steps ---------------------------------------------------------------------------------------


def require_archiver(store: Store) -> None:
    """Raise `InvalidInput` where this user may not remove rows from the log."""
    with connect(store.archiver_url) as connection, connection.cursor() as cursor:
        cursor.row_factory = tuple_row
        row = cursor.execute(_MAY).fetchone()
    if row != (True,):
        raise InvalidInput.because(
            "permission-denied",
            "this database user may not archive",
            remedy="grant it failproof_archiver, beside failproof_writer",
        )


def _require_ended(connection: Connection, run_id: UUID) -> Run:
    run = fold_run(row.event() for row in iterate_stream(connection, run_id))
    if run.manifest is None:
        raise InvalidInput.because(
            "unknown-run",
            f"run {run_id} has no first event",
            remedy="`failproof-es runs --all` lists the runs",
        )
    number = run.started.run_number
    if not (run.ended and run.sealed):
        how = "is not sealed" if run.ended else f"has not ended: it is {run.status}"
        raise InvalidInput.because(
            "run-not-ended",
            f"run {number} {how}",
            remedy=f"finish it with `failproof-es resume {number}`",
        )
    return run


def _check_dependents(connection: Connection, run: Run) -> InvalidInput | None:
    """Why the run must stay in the log: another run refers to it, or will be compared with it."""
    number, run_id = run.started.run_number, run.started.originator_id
    if children := branched_from(connection, run_id):
        run_numbers = ", ".join(map(str, children))
        return InvalidInput.because(
            "run-in-use",
            f"run {run_numbers} was branched from run {number}, and refers to its evaluations",
            remedy=f"archive {run_numbers} first",
        )
    if comparing := comparing_with(connection, run_id):
        run_numbers = ", ".join(map(str, comparing))
        return InvalidInput.because(
            "run-in-use",
            f"run {run_numbers} has not ended, and is compared with run {number} at its end "
            "(gates.no_regression_against)",
            remedy=f"finish it first: `failproof-es resume {comparing[0]}`",
        )
    return None


def rows_in_log(connection: Connection, run_id: UUID) -> list[ArchivedRow]:
    """The rows of the run's evaluations in the log, without the events' content."""
    with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        return [ArchivedRow(*row) for row in cursor.execute(_ROWS, (run_id, run_id))]


def require_whole(rows: list[ArchivedRow], archive_event: RunArchived) -> None:
    """Raise `InvalidInput` unless the rows are all that the event says were archived."""
    if len(rows) != archive_event.events or rows_sha256(rows) != archive_event.rows_sha256:
        raise InvalidInput.because(
            "log-changed",
            f"the log does not hold what was archived of run {archive_event.run_number}",
            remedy="`failproof-es verify` says what was changed",
        )


def _require_taken_out(connection: Connection, archive_event: RunArchived) -> None:
    rows = archived_rows(connection, archive_event.about)
    if len(rows) != archive_event.events or rows_sha256(rows) != archive_event.rows_sha256:
        raise InvalidInput.because(
            "log-changed",
            f"run {archive_event.run_number} is archived, and what is kept of its rows is not what "
            "was taken out",
            remedy="`failproof-es verify` says what was changed",
        )


def _sign(connection: Connection) -> PublicKey:
    """Sign the committed events. Returns the log's public key."""
    sign_and_keep_checkpoint(connection)
    key = own_public_key(ledger.origin(connection))
    if key is None:
        raise InvalidInput.because(
            "no-signing-key",
            "this user has no key of the log",
            remedy="archive where the log is signed",
        )
    return key


def _still_holds(archive_event: RunArchived, rows: list[ArchivedRow], key: PublicKey) -> bool:
    """Whether the file on record exists and is unchanged."""
    try:
        checked = check_archive(
            read_archive(Path(archive_event.file)), archive_event.about, rows, key
        )
    except (InvalidInput, EvidenceError):
        return False
    return checked.sha256 == archive_event.sha256


def _refused_file(path: Path, was_written: bool, error: EvidenceError) -> InvalidInput:
    if was_written:
        return InvalidInput.because(
            "file-corrupt",
            f"{path} was written, but reads back damaged: {error}",
            remedy="check that disk; nothing was archived",
        )
    return InvalidInput.because(
        "file-exists",
        f"{path} exists, and is not an archive of this run as it is in the log: {error}",
        remedy="move it away, or name another folder; nothing was archived",
    )


def _record(
    store: Store,
    run: Run,
    rows: list[ArchivedRow],
    path: Path,
    file: CheckedArchive,
    by: ArchivingContext,
) -> RunArchived:
    run_id = run.started.originator_id
    draft = Draft(
        RunArchived,
        _header(run_id, by),
        run_number=run.started.run_number,
        file=str(path),
        bytes=file.bytes,
        sha256=file.sha256,
        origin=file.origin,
        tree_size=file.tree_size,
        tree_root=file.tree_root,
        streams=len({row.stream_id for row in rows}),
        events=len(rows),
        topics=count_topics(rows),
        first_position=rows[0].position,
        last_position=rows[-1].position,
        first_index=file.first_index,
        last_index=file.last_index,
        rows_sha256=rows_sha256(rows),
    )

    def decide(connection: Connection) -> list[Draft]:
        return [] if archive_of(connection, run_id) is not None else [draft]

    events = append(store, decide)
    if not events:
        raise InvalidInput.because(
            "run-archived",
            f"run {run.started.run_number} was archived by somebody else meanwhile",
            remedy="run the command again",
        )
    (event,) = events
    assert isinstance(event, RunArchived)
    return event


def _detach(store: Store, archive_event: RunArchived) -> None:
    """Remove the rows from the log. The database checks all of it again, in one transaction."""
    try:
        with connect(store.archiver_url) as connection:
            connection.execute(_DETACH, (archive_event.about, archive_event.originator_version))
    except psycopg.DatabaseError as error:
        if error.sqlstate != REFUSED:
            raise
        raise refused(error, f"run {archive_event.run_number} stays in the log") from None


def _take_back(store: Store, archive_event: RunArchived, by: ArchivingContext) -> None:
    """Record that the run is attached, if all its rows are in the log, so that others can go on."""
    with store.lend() as connection:
        rows = rows_in_log(connection, archive_event.about)
    if len(rows) == archive_event.events and rows_sha256(rows) == archive_event.rows_sha256:
        record_attached(store, archive_event, by)


REFUSED = "FP008"
"""SQLSTATE with which the database refuses to detach or attach a run."""


def refused(error: psycopg.Error, so: str) -> InvalidInput:
    """The database's refusal as `InvalidInput`; `so` is the consequence."""
    return InvalidInput.because(
        "database-refused",
        f"{error.diag.message_primary}: {so}",
        remedy=error.diag.message_hint or "`failproof-es verify` says whether it was changed",
    )


def record_attached(store: Store, archive_event: RunArchived, by: ArchivingContext) -> None:
    """Record that the run is no longer archived. Its rows must be in the log."""
    draft = Draft(
        RunAttached,
        _header(archive_event.about, by),
        run_number=archive_event.run_number,
        file=archive_event.file,
        sha256=archive_event.sha256,
        events=archive_event.events,
        rows_sha256=archive_event.rows_sha256,
    )

    def decide(connection: Connection) -> list[Draft]:
        return [draft] if archive_of(connection, archive_event.about) == archive_event else []

    append(store, decide)


def _header(run_id: UUID, by: ArchivingContext) -> EventHeader:
    return EventHeader(operations_id(run_id), None, about=run_id, who=by.who, where=by.where)


def _archived(archive_event: RunArchived, *, already: bool) -> ArchivedRun:
    return ArchivedRun(
        archive_event.about, archive_event.run_number, archive_event.file, archive_event.bytes,
        archive_event.sha256, archive_event.streams, archive_event.events, already,
    )  # fmt: skip
