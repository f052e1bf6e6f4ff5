"""Seals a run that has ended: a hash over everything in its streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from uuid import UUID

from failproof_es.events import Event
from failproof_es.ledger.seal import Seal, WholeStreams
from failproof_es.store.ledger import Connection, LeafRow, LedgerBroken, checked_leaf, stream_rows
from failproof_es.store.mapper import decode
from failproof_es.store.reading.reader import UnreadableEvent
from failproof_es.store.writing.recorder import query

_STREAMS_AT_ONCE = 1000
_VERSION = attrgetter("version")


@dataclass(frozen=True, slots=True)
class HashedRow:
    """A row of a stream, as read for the seal."""

    stream_id: UUID
    row: LeafRow

    @property
    def position(self) -> int:
        """The position of the row in the log."""
        return self.row.position

    def event(self) -> Event:
        """The event. Raises `UnreadableEvent` or `UnreadableState` if the row holds none."""
        row = self.row
        if row.trouble is not None:
            raise UnreadableEvent(f"the event at {row} cannot be read: {row.trouble}")
        topic = row.topic.decode(errors="replace")
        return decode(topic, row.state, self.stream_id, row.version)


class SealedStreams:
    """Reads a run's streams and keeps their hashes, from which the run's seal is made."""

    def __init__(self, run_id: UUID) -> None:
        self._run_id = run_id
        self._streams = WholeStreams()
        self._broken: LedgerBroken | None = None
        """The first event that differs from its writer's record; such a run is not sealed."""

    def ids(self) -> Iterator[UUID]:
        """The ids of the streams read so far that hold events of the run, in order."""
        return (UUID(bytes=stream_id) for stream_id in self._streams.ids())

    def read(
        self, connection: Connection, stream_ids: Sequence[UUID]
    ) -> dict[UUID, list[HashedRow]]:
        """Read these streams, and keep the hashes of their events for the seal.

        Returns every event by stream, in version order. A stream without events is left out.
        """
        streams: dict[bytes, list[LeafRow]] = {}
        with closing(stream_rows(connection, stream_ids)) as rows:
            for row in rows:
                streams.setdefault(row.stream_id, []).append(row)
        for stream_id, leaf_rows in streams.items():
            self._add(stream_id, self._leaves(leaf_rows))
        return {
            stream_id: [HashedRow(stream_id, row) for row in sorted(leaf_rows, key=_VERSION)]
            for stream_id, leaf_rows in (
                (UUID(bytes=id_bytes), rows) for id_bytes, rows in streams.items()
            )
        }

    def add_checked(self, stream_id: bytes, leaves: bytes) -> None:
        """Add a stream without reading it.

        `leaves` are the joined leaf hashes of its events, all of which have this run's id.
        """
        self._streams.add_joined(stream_id, leaves)

    def read_rest(self, connection: Connection) -> tuple[int, int]:
        """Hash every stream with this run's id that was not read yet.

        Returns the number of streams read before that hold events of the run, and the number of
        evaluation streams with its id.
        """
        run_id = self._run_id
        counted = connection.execute(query("evaluation_streams"), (run_id, run_id)).fetchone()
        assert counted is not None
        stream_count, filed = len(self._streams), int(counted[0])
        if filed == stream_count:  # every stream of the run was read
            return stream_count, filed
        read = set(self._streams.ids())
        under = connection.execute(query("streams_under_run"), (run_id, run_id))
        rest = iter(sorted({stream.bytes for (stream,) in under} - read))
        while batch := [UUID(bytes=id_bytes) for id_bytes in islice(rest, _STREAMS_AT_ONCE)]:
            for stream_id, leaves in self._hashed(connection, batch).items():
                self._add(stream_id, leaves)
        return stream_count, filed

    def seal(self, connection: Connection) -> Seal:
        """The seal over all streams that were read, and over the run's own stream as it is now.

        Raises `LedgerBroken` if an event differs from what its writer recorded.
        """
        own = self._hashed(connection, [self._run_id])
        if self._broken is not None:
            raise self._broken
        return self._streams.seal(self._run_id.bytes, own.get(self._run_id.bytes, []))

    def _hashed(
        self, connection: Connection, stream_ids: Sequence[UUID]
    ) -> dict[bytes, list[bytes]]:
        hashed: dict[bytes, list[bytes]] = {}
        with closing(stream_rows(connection, stream_ids)) as rows:
            for row in rows:
                hashed.setdefault(row.stream_id, []).extend(self._leaves([row]))
        return hashed

    def _leaves(self, rows: Iterable[LeafRow]) -> list[bytes]:
        """The leaf hashes of the rows with this run's id.

        An event that differs from what its writer recorded is left out, and keeps the run from
        being sealed.
        """
        leaves = []
        for row in rows:
            if row.run_id == self._run_id.bytes:
                try:
                    leaves.append(checked_leaf(row))
                except LedgerBroken as broken:
                    self._broken = self._broken or broken
        return leaves

    def _add(self, stream_id: bytes, leaves: Sequence[bytes]) -> None:
        if leaves:
            self._streams.add(stream_id, leaves)


def seal_of(connection: Connection, run_id: UUID) -> Seal:
    """The seal over the run's own stream and its evaluations as the log holds them now.

    Nothing is recorded. Raises `LedgerBroken` at an event that differs from what its writer
    recorded.
    """
    streams = SealedStreams(run_id)
    streams.read_rest(connection)
    return streams.seal(connection)
