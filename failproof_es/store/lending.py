"""Lends database connections: an idle one, or a new one."""

from __future__ import annotations

import contextlib
import select
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus


class Lender:
    """Connections of one database, each lent for a short time. Thread-safe.

    Reuse pays, because making a connection takes longer than most queries. Unlike a pool, a lender
    makes connections only on demand: while the server is away a request fails at once, and as soon
    as it is back a request succeeds.
    """

    def __init__(self, connect: Callable[[], psycopg.Connection[Any]], most_idle: int) -> None:
        """`most_idle` is the number of idle connections to keep."""
        self._connect = connect
        self._most_idle = most_idle
        self._idle: list[psycopg.Connection[Any]] = []
        weakref.finalize(self, _close, self._idle)

    @contextlib.contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection in autocommit. Leave no setting or lock of the session behind.

        An idle connection that the server has ended is not lent. If a network in between has cut
        it, its first statement raises `psycopg.OperationalError`; then all idle connections are
        closed, too.
        """
        connection = self._take_idle() or self._connect()
        try:
            yield connection
        except BaseException as error:
            connection.close()
            if isinstance(error, psycopg.Error):
                self.close()
            raise
        status = connection.info.transaction_status
        if status == TransactionStatus.IDLE and len(self._idle) < self._most_idle:
            self._idle.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        """Close the idle connections.

        Connections that are lent stay open, and the lender usable.
        """
        _close(self._idle)

    def _take_idle(self) -> psycopg.Connection[Any] | None:
        while (connection := _pop_idle(self._idle)) is not None:
            if not _has_ended(connection):
                return connection
            connection.close()
        return None


def _has_ended(connection: psycopg.Connection[Any]) -> bool:
    """Whether the server has sent anything to an idle connection: an error, or the end."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _pop_idle(idle: list[psycopg.Connection[Any]]) -> psycopg.Connection[Any] | None:
    with contextlib.suppress(IndexError):  # another thread may take it at the same moment
        return idle.pop()
    return None


def _close(idle: list[psycopg.Connection[Any]]) -> None:
    while (connection := _pop_idle(idle)) is not None:
        connection.close()
