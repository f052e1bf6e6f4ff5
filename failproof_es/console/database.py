"""Read-only connections: each request reads one snapshot, so that its numbers are of one moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import BoundedSemaphore, Lock
from typing import TypeVar

import psycopg
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt
from tenacity.wait import wait_random

from failproof_es.store.connecting import connect
from failproof_es.store.outage import CONTENTION
from failproof_es.store.reading.access import has_projects, narrow
from failproof_es.store.reading.reader import Connection
from failproof_es.store.schema.installation import AUDITOR
from projections.positions import hold_positions

T = TypeVar("T")
_MOST_TRIES = 4
WAIT_S = 5.0
"""Seconds that a request waits for a connection."""
_MAY_BE_AUDITOR = (
    "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = %(role)s) "
    "AND current_user <> %(role)s AND pg_has_role(current_user, %(role)s, 'MEMBER')"
)
_SETTINGS = """
SELECT set_config('default_transaction_read_only', 'on', false),
    set_config('statement_timeout', %(ms)s, false),
    set_config('application_name', 'failproof-es console', false)
"""
_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


def ask_again(read: Callable[[], T]) -> T:
    """Call `read`, again in a new snapshot after a deadlock or a lock conflict."""
    retrying = Retrying(
        retry=retry_if_exception_type(CONTENTION),
        wait=wait_random(0, 0.2),
        stop=stop_after_attempt(_MOST_TRIES),
        reraise=True,
    )
    return retrying(read)


def _begin(connection: Connection) -> None:
    """Begin a snapshot during which no projection's tables are replaced."""
    connection.execute(_BEGIN)
    hold_positions(connection)


class ConsoleBusy(Exception):
    """All connections are in use, and none became free in time."""


class ReadOnlyDatabase:
    """A pool of read-only connections, in the auditor's role where the user may take it.

    Safe to use from several threads.
    """

    def __init__(self, url: str, *, connections: int, statement_timeout_s: float) -> None:
        self._url = url
        self._timeout_ms = str(max(round(statement_timeout_s * 1000), 1))
        self._turns = BoundedSemaphore(connections)
        self._long_turns = BoundedSemaphore(max(connections // 2, 1))
        self._idle: list[Connection] = []
        self._closed = False
        self._lock = Lock()

    @contextmanager
    def snapshot(self, person: str | None = None) -> Iterator[Connection]:
        """A connection within one read-only snapshot.

        If projects are defined, the database shows it the runs of the person's projects alone.

        Raises `ConsoleBusy`; `psycopg.OperationalError` where the database cannot be reached, and
        `psycopg.errors.QueryCanceled` for statements that take too long.
        """
        if not self._turns.acquire(timeout=WAIT_S):
            raise ConsoleBusy
        try:
            connection = self._open_snapshot()
            try:
                if person is not None and has_projects(connection):
                    narrow(connection, person)
                yield connection
                connection.execute("ROLLBACK")
            except BaseException:
                with suppress(psycopg.Error):
                    connection.close()
                raise
            with self._lock:
                is_kept = not self._closed
                if is_kept:
                    self._idle.append(connection)
            if not is_kept:
                connection.close()
        finally:
            self._turns.release()

    @contextmanager
    def long(self, person: str | None = None) -> Iterator[Connection]:
        """Like `snapshot`, for long reads, which have half of the connections at most."""
        if not self._long_turns.acquire(timeout=WAIT_S):
            raise ConsoleBusy
        try:
            with self.snapshot(person) as connection:
                yield connection
        finally:
            self._long_turns.release()

    def apart(self) -> Connection:
        """A new connection outside the pool, with the same rights. The caller closes it."""
        connection = connect(self._url, prepare_threshold=None)
        try:
            if connection.execute(_MAY_BE_AUDITOR, {"role": AUDITOR}).fetchone() == (True,):
                connection.execute("SELECT set_config('role', %s, false)", (AUDITOR,))
            connection.execute(_SETTINGS, {"ms": self._timeout_ms})
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Close idle connections now, and the others when they are returned."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _open_snapshot(self) -> Connection:
        """A connection in a snapshot: an idle one that is still alive, or a new one."""
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                break
            try:
                _begin(connection)
            except psycopg.Error:
                connection.close()
            else:
                return connection
        connection = self.apart()
        try:
            _begin(connection)
        except BaseException:
            connection.close()
            raise
        return connection
