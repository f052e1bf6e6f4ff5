"""Limits connections before any guard sees a request: time for a head, and number by address.

One address can hold `MOST_WITHOUT_A_HEAD` connections on which no whole head came yet, and
`MOST_OF_AN_ADDRESS` in all. One more closes the oldest without a head, so that clients that only
connect keep nobody out.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0
"""Seconds for a request's head: the request line and the headers, to the empty line."""
MOST_WITHOUT_A_HEAD = 64
MOST_OF_AN_ADDRESS = 400


class Addresses:
    """The open connections of one server, by address."""

    def __init__(self) -> None:
        self._open: dict[str, dict[BoundedConnection, None]] = {}
        self._waiting: dict[str, dict[BoundedConnection, None]] = {}

    def enter(self, connection: BoundedConnection) -> None:
        """Count a new connection; close the oldest one without a head where they are too many."""
        address = connection.address
        there = self._open.setdefault(address, {})
        there[connection] = None
        self.wait(connection)
        waiting = self._waiting[address]
        if len(waiting) > MOST_WITHOUT_A_HEAD or len(there) > MOST_OF_AN_ADDRESS:
            next(iter(waiting)).close()

    def wait(self, connection: BoundedConnection) -> None:
        """Register that the connection waits for the head of its next request."""
        self._waiting.setdefault(connection.address, {})[connection] = None

    def begin(self, connection: BoundedConnection) -> None:
        """Register that the whole head came."""
        self._forget(self._waiting, connection)

    def leave(self, connection: BoundedConnection) -> None:
        """Forget a closed connection."""
        self._forget(self._waiting, connection)
        self._forget(self._open, connection)

    @staticmethod
    def _forget(
        groups: dict[str, dict[BoundedConnection, None]], connection: BoundedConnection
    ) -> None:
        group = groups.get(connection.address, {})
        group.pop(connection, None)
        if not group:
            groups.pop(connection.address, None)


class BoundedConnection(H11Protocol):
    """A connection with a time limit for each head. A subclass for each server has `addresses`."""

    addresses: Addresses
    address = ""
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, and wait for its first head."""
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self.addresses.enter(self)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        """Take data; where it begins a new head, start the time limit."""
        if self.conn.their_state is h11.IDLE:
            self.addresses.wait(self)
            self._expect_head()
        super().data_received(data)
        self._check_head()

    def on_response_complete(self) -> None:
        """Check whether the next head came already."""
        super().on_response_complete()
        self._check_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop counting the connection."""
        self._stop_waiting()
        self.addresses.leave(self)
        super().connection_lost(exc)

    def close(self) -> None:
        """Abort the connection."""
        if not self.transport.is_closing():
            self.transport.abort()

    def _check_head(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
            self.addresses.begin(self)

    def _expect_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_S, self.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def bounded_protocol() -> type[BoundedConnection]:
    """The protocol of one server's connections, which are counted together."""

    class OfOneServer(BoundedConnection):
        addresses = Addresses()

    return OfOneServer
