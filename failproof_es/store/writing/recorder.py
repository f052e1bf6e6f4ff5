"""Our PostgreSQL application recorder: one SQL function appends a batch.

It fulfils the contract of the `eventsourcing` package's application recorder (the package's own
contract tests run against it) and adds the run id, the lease check and batches of any size: the
stock recorder's pipelined insert hangs on large ones.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any, LiteralString, cast
from uuid import UUID

import psycopg
from eventsourcing.persistence import (
    ApplicationRecorder,
    InterfaceError,
    OperationalError,
    PersistenceError,
    StoredEvent,
    Subscription,
)
from eventsourcing.postgres import (
    PostgresApplicationRecorder,
    PostgresDatastore,
    PostgresSubscription,
)
from psycopg.rows import tuple_row

from failproof_es.ledger.leaf import leaf_hash
from failproof_es.store.errors import StreamConflict
from failproof_es.store.mapper import LogEntry
from failproof_es.store.reading.reader import CHANNEL, VERSIONS
from failproof_es.store.schema.installation import install
from failproof_es.store.writing import columns

CONNECTION_ERRORS = (InterfaceError, OperationalError)
"""The errors that the recorder raises while the server is away."""


class LeaseLost(PersistenceError):
    """Another process took over the run or the shard: this process must not write to it."""


class IncompleteAppend(PersistenceError):
    """The database accepted an append but stored fewer events, so it cannot be trusted."""


class LeafRefused(PersistenceError):
    """The database computed another leaf than the writer, so the ledger would stop here."""


class _VersionTaken(PersistenceError):
    """A stream already has an event at one of the versions."""


_POLL_S = 1.0
"""Seconds after which a subscription polls the log at the latest."""
_REFUSALS: dict[str | None, type[PersistenceError]] = {
    "FP001": LeaseLost,
    "FP003": IncompleteAppend,
    "FP005": LeafRefused,
    "0A000": IncompleteAppend,  # an INSERT that a DO INSTEAD rule replaced
}
"""The errors of `failproof.append`, by SQLSTATE."""


@cache
def query(name: str) -> LiteralString:
    """The SQL in `queries/<name>.sql`. Each file is read once."""
    file = resources.files("failproof_es.store").joinpath("queries", f"{name}.sql")
    return file.read_text("utf-8")


def append_entries(connection: psycopg.Connection[Any], events: Sequence[StoredEvent]) -> None:
    """Append in the transaction of `connection`. Raises `StreamConflict`, `IncompleteAppend`."""
    rows = connection.execute(query("append"), append_parameters(events)).fetchall()
    if events and not rows and (conflict := _conflict(connection, events)) is not None:
        raise conflict
    require_complete_append(len(events), len(rows))


def _conflict(
    connection: psycopg.Connection[Any], events: Sequence[StoredEvent]
) -> StreamConflict | None:
    """The conflict of the first stream with more events than the append expects; else `None`."""
    expected: dict[UUID, int] = {}
    for event in events:
        stream_id = cast("UUID", event.originator_id)
        expected.setdefault(stream_id, event.originator_version - 1)
    with connection.cursor(row_factory=tuple_row) as cursor:
        actual: dict[UUID, int] = dict(cursor.execute(VERSIONS, (list(expected),)).fetchall())
    for stream_id, version in expected.items():
        if actual.get(stream_id, 0) > version:
            return StreamConflict(stream_id, version, actual[stream_id])
    return None


LeaseKey = tuple[UUID, int, int]
"""A lease in an append: run, shard (-1 is the whole run), epoch."""


def append_parameters(
    events: Sequence[StoredEvent], leases: Sequence[LeaseKey] = ()
) -> Sequence[Any]:
    """The parameters of `queries/append.sql`: an array for each column of the events, and for each
    column of the leases to check."""
    return (
        columns.uuids([cast("UUID", event.originator_id) for event in events]),
        columns.numbers([event.originator_version for event in events]),
        columns.texts([event.topic for event in events]),
        columns.bytes_([event.state for event in events]),
        columns.uuids([event.run_id if isinstance(event, LogEntry) else None for event in events]),
        columns.bytes_([_leaf_hash(event) for event in events]),
        *_lease_arrays(leases),
    )


def _lease_arrays(leases: Sequence[LeaseKey]) -> Sequence[columns.ArrayParameter | None]:
    if not leases:
        return (None, None, None)
    run_ids, shards, epochs = zip(*leases, strict=True)
    return (columns.uuids(run_ids), columns.short_numbers(shards), columns.numbers(epochs))


def _leaf_hash(event: StoredEvent) -> bytes:
    if isinstance(event, LogEntry):
        return event.leaf
    stream_id = cast("UUID", event.originator_id)
    return leaf_hash(stream_id.bytes, event.originator_version, event.topic.encode(), event.state)


def require_complete_append(appended: int, returned: int) -> None:
    """Raise `IncompleteAppend` unless an append returned a row for each event.

    `failproof.append` checks this, too; but an administrator can replace that function.
    """
    if appended != returned:
        raise IncompleteAppend(
            f"{appended} events were appended but {returned} rows came back: something in the "
            "database swallows inserts"
        )


class EventRecorder(PostgresApplicationRecorder):
    """Appends through `failproof.append` and reads from the view `failproof.stored_events`."""

    def __init__(self, datastore: PostgresDatastore) -> None:
        super().__init__(datastore, events_table_name="stored_events")
        self.channel_name = CHANNEL
        self._append = query("append")

    def create_table(self) -> None:
        """Create or upgrade the schema. The connection must be an administrator's."""
        with self.datastore.get_connection() as connection:
            install(cast("psycopg.Connection[Any]", connection))

    def insert_events(
        self,
        stored_events: Sequence[StoredEvent],
        *,
        leases: Sequence[LeaseKey] = (),
        notify: bool = True,
        **_: Any,
    ) -> Sequence[int] | None:
        """Append all or nothing, in order, and return the positions.

        `leases` are checked in the same transaction; `notify` wakes readers after the commit.
        Raises `StreamConflict` if a stream already has one of the versions, `LeaseLost` if one of
        the leases has another epoch, `IncompleteAppend` if fewer rows came back,
        `OperationalError` or `InterfaceError` if the server is away or has become a standby.
        """
        if not stored_events:
            return None
        try:
            positions = self._inserted(stored_events, leases)
        except _VersionTaken as error:
            raise self._conflict(stored_events) from error
        if not positions and (conflict := self._found_conflict(stored_events)) is not None:
            raise conflict
        require_complete_append(len(stored_events), len(positions))
        if notify:
            self.try_notify(positions[-1])
        return positions

    def subscribe(
        self, gt: int | None = None, topics: Sequence[str] = ()
    ) -> Subscription[ApplicationRecorder]:
        """The events after a position, as they are recorded."""
        return _Subscription(recorder=self, gt=gt, topics=topics)

    def insert_or_find(
        self,
        stored_events: Sequence[StoredEvent],
        *,
        leases: Sequence[LeaseKey] = (),
        notify: bool = True,
    ) -> Sequence[int]:
        """Like `insert_events`, but if exactly these events are in the log, return their positions.

        So an append can be retried after the acknowledgement of its commit was lost. After
        `LeaseLost` the events may be in the log, too: the new holder may have recorded the same
        bytes, so it is unknown whose they are.
        """
        try:
            return self.insert_events(stored_events, leases=leases, notify=notify) or []
        except StreamConflict:
            positions = self.find_positions(stored_events)
            if positions is None:
                raise
            return positions

    def find_positions(self, stored_events: Sequence[StoredEvent]) -> list[int] | None:
        """The positions of exactly these events; `None` unless the log has all of them."""
        positions = []
        for event in stored_events:
            position = self.position_of(event)
            if position is None:
                return None
            positions.append(position)
        return positions

    def _inserted(
        self, stored_events: Sequence[StoredEvent], leases: Sequence[LeaseKey]
    ) -> list[int]:
        parameters = append_parameters(stored_events, leases)
        with self.datastore.get_connection() as connection, connection.cursor() as rows:
            cursor = cast("psycopg.Cursor[Any]", rows)
            cursor.row_factory = tuple_row
            try:
                cursor.execute(self._append, parameters, prepare=True)
            except psycopg.errors.UniqueViolation as error:
                raise _VersionTaken(str(error)) from error
            except psycopg.errors.ReadOnlySqlTransaction as error:
                # The server is a standby now: a new connection may find the new primary.
                connection.close()
                raise OperationalError(str(error.diag.message_primary)) from error
            except psycopg.DatabaseError as error:
                if refusal := _REFUSALS.get(error.sqlstate):
                    raise refusal(str(error.diag.message_primary)) from error
                raise
            return [position for (position,) in cursor.fetchall()]

    def _conflict(self, stored_events: Sequence[StoredEvent]) -> StreamConflict:
        """The conflict of the stream whose version the append does not expect."""
        first = stored_events[0]
        version = first.originator_version - 1
        unknown = StreamConflict(cast("UUID", first.originator_id), version, 0)
        return self._found_conflict(stored_events) or unknown

    def _found_conflict(self, stored_events: Sequence[StoredEvent]) -> StreamConflict | None:
        with self.datastore.get_connection() as connection:
            return _conflict(cast("psycopg.Connection[Any]", connection), stored_events)

    def position_of(self, event: StoredEvent) -> int | None:
        """The position of exactly this event, byte for byte; `None` if it is not in the log."""
        with self.datastore.get_connection() as connection:
            row = connection.execute(
                query("position_of"),
                (event.originator_id, event.originator_version, event.topic, event.state),
            ).fetchone()
        return cast("int", row["notification_id"]) if row else None

    def try_notify(self, position: int) -> None:
        """Wake readers, if the server can be reached. Readers also poll, so none depends on it.

        Call it outside the append's transaction: inside, NOTIFY serialises commits.
        """
        with (
            contextlib.suppress(OperationalError, InterfaceError),
            self.datastore.get_connection() as connection,
        ):
            connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, str(position)))


class _Subscription(PostgresSubscription):
    """A subscription that also polls. The package's reads the log once, and then only if notified:
    it misses an event that is recorded before its other thread listens."""

    def _loop_on_pull(self) -> None:
        try:
            while not self._has_been_stopped:
                self._pull()
                self._has_been_notified.wait(_POLL_S)
        except BaseException as error:
            if self._thread_error is None:
                self._thread_error = error
            self.stop()
