"""The lease on a run: one process drives it, and a process that lost it cannot write.

Two mechanisms work together. A session lock in the database refuses a second driver at once.
The server releases it as soon as the first driver's connection ends, even by `kill -9`, so
there is no time-out to wait for. The epoch, raised with each new driver and checked inside every
append, shuts out a driver that lost its connection and does not know it yet.

The epoch decides who drives: it grows only under the session lock. After a half-open
connection, the server may keep the lock for a dead session of a driver that lives. Then
the epoch shows that nobody else has taken the run. If a session that may not append holds
the lock, nobody waits for it.
"""

from __future__ import annotations

import contextlib
import threading
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import psycopg

from failproof_es.store.connecting import connect
from failproof_es.store.pooler import require_sessions
from failproof_es.store.writing.recorder import query

_KEEPALIVE: dict[str, Any] = {
    "keepalives_idle": 5, "keepalives_interval": 5, "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}  # fmt: skip
"""A dead server is noticed within 20 s. A Unix socket needs none of it."""


class RunBusy(Exception):
    """Another process drives the run; nothing was changed."""

    def __init__(self, run_id: UUID, holder: str | None) -> None:
        self.run_id = run_id
        self.holder = holder
        by = f" by {holder}" if holder else ""
        super().__init__(
            f"run {run_id} is being driven{by}: wait for it to end, or stop that process first"
        )


class Lease:
    """The right to write to a run, for as long as `connection` lives."""

    def __init__(self, url: str, run_id: UUID, holder: str) -> None:
        self.run_id = run_id
        self.epoch = 0
        self._url = url
        self._holder = holder
        self._connection: psycopg.Connection[Any] | None = None
        self._session = 0
        """The server process of the newest session that got the lock."""
        self._guard = threading.Lock()

    def acquire(self) -> Self:
        """Take the lease with a new epoch. Raises `RunBusy`."""
        self._lock_session()
        assert self._connection is not None
        row = self._connection.execute(
            query("acquire_lease"), {"run_id": self.run_id, "holder": self._holder}
        ).fetchone()
        assert row is not None
        self.epoch = row[0]
        return self

    def keep(self) -> None:
        """Check that the session still exists, and lock again if it was cut off.

        Raises `RunBusy` when another process has taken the run, `psycopg.OperationalError`
        while the server is away. Call it every few seconds.
        """
        with self._guard:
            if self._connection is not None:
                with contextlib.suppress(psycopg.OperationalError):
                    self._connection.execute("SELECT 1")
                    return
                self._connection.close()
                self._connection = None
        self._lock_session()

    def release(self) -> None:
        """Let others drive the run. Idempotent."""
        with self._guard:
            if self._connection is not None:
                _let_go(self._connection)
                self._connection = None

    def _lock_session(self) -> None:
        connection = connect(self._url, **_KEEPALIVE)
        try:
            require_sessions(connection, self._url)
            connection.execute(query("session_keepalive"))
            if self._locked_by(connection):
                return
        except BaseException:
            _let_go(connection)
            raise
        connection.close()

    def _locked_by(self, connection: psycopg.Connection[Any]) -> bool:
        """Whether this connection got the lock. False while a dead session of ours holds it.

        Raises `RunBusy` when somebody else drives the run, or has driven it since.
        """
        run_id = str(self.run_id)
        row = connection.execute(query("lock_run"), {"run_id": run_id}).fetchone()
        assert row is not None
        session, locked = row
        if not locked or self.epoch:
            self._require_epoch(connection)
        if locked:
            with self._guard:
                self._connection, self._session = connection, session
        else:
            ended = {"run_id": run_id, "session": self._session}
            connection.execute(query("end_lock_holder"), ended)
        return bool(locked)

    def _require_epoch(self, connection: psycopg.Connection[Any]) -> None:
        row = connection.execute(
            "SELECT holder, epoch FROM failproof.lease_list WHERE run_id = %s", (self.run_id,)
        ).fetchone()
        holder, epoch = row if row is not None else (None, None)
        if epoch != self.epoch:
            raise RunBusy(self.run_id, holder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def _let_go(connection: psycopg.Connection[Any]) -> None:
    """Unlock, then close: the server may notice a closed connection after the next driver asks."""
    with contextlib.suppress(psycopg.Error):
        connection.execute("SELECT pg_advisory_unlock_all()")
    connection.close()
