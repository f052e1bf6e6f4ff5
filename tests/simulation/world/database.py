"""The simulated log: rows in memory, behind the engine's own recorder and reader.

It does what `failproof.append` and the functions of leases do, each of them at one moment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar, cast
from uuid import UUID

import psycopg
from eventsourcing.persistence import JSONTranscoder, OperationalError, StoredEvent

from failproof_es.store.errors import StreamConflict
from failproof_es.store.mapper import EventMapper, LogEntry
from failproof_es.store.outage import AWAY, LogUnavailable, Outage
from failproof_es.store.reading.reader import RecordedEvent
from failproof_es.store.writing.recorder import EventRecorder, LeaseKey, LeaseLost, _VersionTaken
from failproof_es.support import clock
from tests.simulation.world.faults import DatabaseFault, Faults
from tests.simulation.world.leases import LeaseTable
from tests.simulation.world.loop import Process, SimulatedLoop, TryAgain
from tests.simulation.world.queue import QueueTable
from tests.simulation.world.shared_state import SharedTables
from tests.simulation.world.sql import SimulatedConnection

T = TypeVar("T")
_OUTAGE_S = 300.0


class Gone(Exception):
    """The process that asks is dead: nobody hears this."""


@dataclass(frozen=True, slots=True)
class Row:
    """A committed event."""

    entry: LogEntry
    position: int
    recorded_at: datetime

    def recorded(self) -> RecordedEvent:
        """As the reader gives it."""
        entry = self.entry
        return RecordedEvent(
            self.position,
            cast("UUID", entry.originator_id),
            entry.originator_version,
            entry.topic,
            entry.state,
            entry.run_id,
            self.recorded_at,
        )


class SimulatedDatabase:
    """The server: what is committed, and who may write."""

    def __init__(self, loop: SimulatedLoop, faults: Faults) -> None:
        self.rows: list[Row] = []
        """In commit order."""
        self.streams: dict[UUID, list[Row]] = {}
        """In version order."""
        self.leases = LeaseTable(loop)
        self.away_until_s = 0.0
        self.queue = QueueTable()
        self.shared = SharedTables()
        self.faults = faults
        self.on_commit: Callable[[Row], None] = lambda row: None
        self.note: Callable[[str], None] = lambda said: None
        """Called with what happens that no event tells."""
        self._loop = loop
        self._position = 0

    @property
    def now_s(self) -> float:
        """The server's clock."""
        return self._loop.now_s

    def outside(self, delay_s: float, call: Callable[[], None]) -> None:
        """Call it later, on behalf of no process."""
        self._loop.outside(delay_s, call)

    def require_reachable(self, process: Process | None) -> None:
        """Raise `psycopg.OperationalError` while the server is away, or the process cut off."""
        if self.faults.calm:
            return
        cut_until_s = self.away_until_s if process is None else process.cut_until_s
        if self._loop.now_s < max(self.away_until_s, cut_until_s):
            raise psycopg.OperationalError("the server cannot be reached")

    def fault(self) -> DatabaseFault | None:
        """What goes wrong with the next statement."""
        return self.faults.of_database()

    def again(self) -> bool:
        """Whether a statement that was cut off is made again at once."""
        return self.faults.of_repeating()

    def append(self, entries: Sequence[LogEntry], leases: Sequence[LeaseKey]) -> list[int]:
        """All or nothing, in one transaction that has the log to itself."""
        if not self.leases.may_append(list(leases)):
            raise LeaseLost(f"one of {leases} is lost")
        self.leases.look_at_append(leases)
        first = self._position
        self._position += len(entries)  # a sequence: what is rolled back leaves a gap
        new: set[tuple[UUID, int]] = set()
        for entry in entries:
            stream_id = cast("UUID", entry.originator_id)
            place = stream_id, entry.originator_version
            found = self.streams.get(stream_id, ())
            if place in new or any(
                row.entry.originator_version == entry.originator_version for row in found
            ):
                raise _VersionTaken("duplicate key")
            new.add(place)
        rows = [
            Row(entry, first + place, clock.utc_now()) for place, entry in enumerate(entries, 1)
        ]
        for row in rows:
            self.rows.append(row)
            stream = self.streams.setdefault(cast("UUID", row.entry.originator_id), [])
            stream.append(row)
            stream.sort(key=lambda each: each.entry.originator_version)
            self.on_commit(row)
        return [row.position for row in rows]

    def statement(self, entries: Sequence[LogEntry], leases: Sequence[LeaseKey]) -> list[int]:
        """One append that a client sends, whatever becomes of it on the way."""
        self.require_living_client()
        try:
            self.require_reachable(self._client)
        except psycopg.OperationalError as error:
            raise OperationalError(str(error)) from error
        fault = self.fault()
        if fault == "refused":
            raise OperationalError("connection refused")
        if fault == "late":
            self._loop.outside(self.faults.thread_delay_s(), lambda: self._late(entries, leases))
            raise OperationalError("the connection was cut before the commit")
        positions = self.append(entries, leases)
        if fault == "lost":
            raise OperationalError("the connection was cut after the commit")
        return positions

    def arrives_late(self, statement: Callable[[], None]) -> None:
        """Run a statement some time after its client gave it up."""
        self._loop.outside(self.faults.thread_delay_s(), statement)

    def require_living_client(self) -> None:
        """Of a dead process no more than one statement arrives."""
        job = self._loop.job
        if job is None or job.owner is None or not job.owner.dead:
            return
        if job.tries < 0:
            raise Gone
        job.tries = -1

    def connect(self) -> SimulatedConnection:
        """A connection for reading. Raises `psycopg.OperationalError` where none is to be had."""
        self.require_reachable(self._client)
        if self.faults.of_reading():
            raise psycopg.OperationalError("connection refused")
        return SimulatedConnection(self)

    @property
    def _client(self) -> Process | None:
        return None if self._loop.job is None else self._loop.job.owner

    def _late(self, entries: Sequence[LogEntry], leases: Sequence[LeaseKey]) -> None:
        try:
            self.append(entries, leases)
        except (LeaseLost, _VersionTaken):
            return


class SimulatedRecorder(EventRecorder):
    """The engine's recorder; its one statement goes to the simulated server."""

    def __init__(self, database: SimulatedDatabase) -> None:
        self._database = database

    def _inserted(
        self, stored_events: Sequence[StoredEvent], leases: Sequence[LeaseKey]
    ) -> list[int]:
        return self._database.statement(cast("Sequence[LogEntry]", stored_events), leases)

    def _conflict(self, stored_events: Sequence[StoredEvent]) -> StreamConflict:
        for event in stored_events:
            stream_id = cast("UUID", event.originator_id)
            actual = len(self._database.streams.get(stream_id, ()))
            if actual >= event.originator_version:
                return StreamConflict(stream_id, event.originator_version - 1, actual)
        raise AssertionError("no stream is in the way")

    def position_of(self, event: StoredEvent) -> int | None:
        for row in self._database.streams.get(cast("UUID", event.originator_id), ()):
            entry = row.entry
            same = (entry.originator_version, entry.topic, entry.state)
            if same == (event.originator_version, event.topic, event.state):
                return row.position
        return None

    def try_notify(self, position: int) -> None:
        """Nobody listens: the follower polls."""


class SimulatedOutage(Outage):
    """Waits for the server in simulated time."""

    def __init__(self, loop: SimulatedLoop) -> None:
        object.__setattr__(self, "loop", loop)
        object.__setattr__(self, "longest_s", _OUTAGE_S)
        object.__setattr__(self, "recover", None)

    def retry(self, call: Callable[[], T], away: tuple[type[Exception], ...] = AWAY) -> T:
        """As `Outage.retry`; the thread sleeps by being called again."""
        loop = cast("SimulatedLoop", self.loop)  # type: ignore[attr-defined]
        job = loop.job
        assert job is not None
        if job.next_result < len(job.results):  # it was done before a later call had to wait
            job.next_result += 1
            return cast("T", job.results[job.next_result - 1])
        try:
            done = call()
        except away as error:
            if loop.now_s - job.began_at >= _OUTAGE_S:
                raise LogUnavailable(f"the log could not be reached: {error}") from error
            raise TryAgain(min(5.0, 0.1 * 2 ** min(job.tries, 10))) from error
        job.results.append(done)
        job.next_result += 1
        return done


class SimulatedStore:
    """What a drive asks of a `Store`."""

    def __init__(self, loop: SimulatedLoop, database: SimulatedDatabase) -> None:
        self.url = ""
        self.log = SimulatedLog(database)
        self.outage = SimulatedOutage(loop)
        self.connect = self.lend = database.connect


class SimulatedLog:
    """What a journal asks of an `EventLog`."""

    def __init__(self, database: SimulatedDatabase) -> None:
        self.mapper = MAPPER
        self.recorder = SimulatedRecorder(database)


MAPPER: Any = EventMapper(JSONTranscoder())
