"""Lends connections: one that was lent before, or a new one."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus


class Lender:
    """Connections of one database, each lent for a moment. For any thread.

    Making one takes the server longer than most of what is asked. There is no pool behind it that
    makes connections by its own clock: who asks while the server is away hears so at once, and who
    asks again when it is back gets a connection.
    """

    def __init__(self, connect: Callable[[], psycopg.Connection[Any]], most_idle: int) -> None:
        """`most_idle`: so many connections are kept for the next one who asks."""
        self._connect = connect
        self._most_idle = most_idle
        self._idle: list[psycopg.Connection[Any]] = []
        weakref.finalize(self, _close, self._idle)

    @contextlib.contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection in autocommit. Leave no setting of the session behind.

        One that the server has cut meanwhile is found out by its first statement, which raises
        `psycopg.OperationalError`; then none of the others is lent any more.
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
        """Close the connections that nobody uses."""
        _close(self._idle)

    def _take_idle(self) -> psycopg.Connection[Any] | None:
        return _pop_idle(self._idle)


def _pop_idle(idle: list[psycopg.Connection[Any]]) -> psycopg.Connection[Any] | None:
    with contextlib.suppress(IndexError):  # another thread may take it at the same moment
        return idle.pop()
    return None


def _close(idle: list[psycopg.Connection[Any]]) -> None:
    while (connection := _pop_idle(idle)) is not None:
        connection.close()
