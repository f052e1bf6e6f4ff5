"""Database sessions that commands of this process hand on to those after them.

A new session costs the server 3 ms and 500 page faults, and as many again until it has read the
catalogue. A command in a process of its own begins its own; one that `invoke` runs takes a session
that an earlier one closed, after `DISCARD ALL`. Only on a Unix socket: a test that puts a pooler or
a proxy between has the sessions that it sees.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import psycopg
import pytest
from psycopg import pq
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGconn

from failproof_es.store import connecting

_AT_REST = (TransactionStatus.IDLE, TransactionStatus.INTRANS, TransactionStatus.INERROR)
_Key = tuple[object, ...]

_begin_session = connecting._open_limited
_lock = Lock()
_idle: dict[_Key, list[PGconn]] = {}
_commands: list[None] = []
"""One item for each command that runs."""


def _ended_session() -> PGconn:
    session = pq.PGconn.connect_start(b"host=/nowhere")
    session.finish()
    return session


_ENDED = _ended_session()


class HandingConnection(psycopg.Connection[Any]):
    """A connection that leaves its session to the next one when it is closed."""

    key: _Key = ()
    references = 0
    """To its session when it was opened: cursors and transactions add theirs."""

    def close(self) -> None:
        """Reset the session; end it if it is busy, or if a cursor or transaction still has it."""
        if self.closed or _references(self) > self.references or not _reset(self.pgconn):
            super().close()
            return
        with _lock:
            _idle.setdefault(self.key, []).append(self.pgconn)
            self._closed, self.pgconn = True, _ENDED


def _references(connection: HandingConnection) -> int:
    return sys.getrefcount(connection.pgconn)


def _reset(session: PGconn) -> bool:
    """Whether the session is as a new one now."""
    if session.transaction_status not in _AT_REST:
        return False
    if session.transaction_status != TransactionStatus.IDLE:
        session.exec_(b"ROLLBACK")
    discarded = session.exec_(b"DISCARD ALL").status == ExecStatus.COMMAND_OK
    while session.notifies() is not None:
        pass
    return discarded


def _open_connection(url: str, parameters: dict[str, Any]) -> psycopg.Connection[Any]:
    """Replaces `connecting._open_limited`."""
    if not _commands or not connecting.parameters_of(url).get("host", "").startswith("/"):
        return _begin_session(url, parameters)
    settings = {name: value for name, value in os.environ.items() if name.startswith("PG")}
    of_session = {**parameters, **settings}
    threshold = of_session.pop("prepare_threshold", 5)
    key = (url, *sorted(of_session.items()))
    session = _take_session(key)
    if session is None:
        new = _begin_session(url, parameters)
        session, new.pgconn, new._closed = new.pgconn, _ENDED, True
    connection = HandingConnection(session)
    connection.key, connection._autocommit, connection.prepare_threshold = key, True, threshold
    del session
    connection.references = _references(connection)
    return connection


def _take_session(key: _Key) -> PGconn | None:
    """An idle session that the server has not ended."""
    with _lock:
        sessions = _idle.get(key, [])
        while sessions:
            session = sessions.pop()
            if not select.select([session.socket], [], [], 0)[0]:
                return session
            session.finish()
    return None


def end_idle_sessions() -> None:
    """So that no database has a session that nobody uses."""
    with _lock:
        for sessions in _idle.values():
            for session in sessions:
                session.finish()
        _idle.clear()


@contextmanager
def handed_on() -> Iterator[None]:
    """While a command runs here; its connections may be closed later."""
    _commands.append(None)
    try:
        yield
    finally:
        _commands.pop()


@contextmanager
def connections_replaced() -> Iterator[None]:
    """Commands of this process hand sessions on."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(connecting, "_open_limited", _open_connection)
        yield
    end_idle_sessions()
