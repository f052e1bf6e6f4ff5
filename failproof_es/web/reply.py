"""A request that goes out as it stands, and a reply that is read as it comes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator

import httpx

READ_BYTES = 2**16
"""The body of a reply is handed on in pieces of so many bytes at most."""
MOST_UNREAD_BYTES = 4 * READ_BYTES
"""With more unread bytes of a reply, its connection is not read."""
MOST_UNREAD_TLS_BYTES = 2**24
"""The same over TLS: more than is taken of any reply. uvloop loses what it holds of a connection
that is not read when the server closes it."""
PIECE_BYTES = 2**18
"""A longer request is written in pieces: at once it would hold up every other request."""


class RequestBody(httpx.AsyncByteStream):
    """The bytes of one request, and when they were sent and answered (`time.perf_counter`)."""

    __slots__ = ("content", "received_at", "written_at")

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.written_at: float | None = None
        """When the first byte of the request was written to its connection."""
        self.received_at: float | None = None
        """When the latest data of the reply arrived."""

    def pieces(self) -> Iterator[bytes]:
        """At most `PIECE_BYTES` each."""
        for start in range(0, len(self.content), PIECE_BYTES):
            yield self.content[start : start + PIECE_BYTES]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self.written_at = time.perf_counter()
        for piece in self.pieces():
            yield piece

    def add_arrival(self, at: float) -> None:
        """Data of the reply arrived then; never before the request was written."""
        # The kernel counts ticks, and on a machine that pauses too many of them.
        self.received_at = max(at, self.received_at or self.written_at or at)

    def latency_ms(self) -> float | None:
        """The server's latency so far: from `written_at` to `received_at`; `None` before both.

        Not counted: waiting for a connection, connecting, and the time between the arrival of
        data and its processing here. How long data waited unread is known on Linux only, and
        where no proxy is asked.
        """
        if self.written_at is None or self.received_at is None:
            return None
        return (self.received_at - self.written_at) * 1000


class ReplyStream(httpx.AsyncByteStream):
    """One reply. Iterating over it gives the body as it comes; close it in any case.

    Its connection fills it. Both raise `OSError` or `httpx.RemoteProtocolError`, behind all the
    bytes that came.
    """

    def __init__(self, set_reading: Callable[[bool], None], most_unread_bytes: int) -> None:
        """`set_reading` lets the connection be read, or not: not with more unread bytes."""
        self.status = 0
        """0 until the head is there."""
        self.raw_headers: list[tuple[bytes, bytes]] = []
        self.unread = bytearray()
        self.has_ended = False
        self.error: Exception | None = None
        """Why the reply ended before its time."""
        self.release: Callable[[], None] | None = None
        """What closing it does, once."""
        self._set_reading = set_reading
        self._most_unread_bytes = most_unread_bytes
        self._waiter: asyncio.Future[None] | None = None

    async def head(self) -> None:
        """Wait for the status and the headers."""
        while not self.status:
            if self.has_ended:
                raise self.error or AssertionError("a reply that ended has a head or an error")
            await self._wait()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        """The next piece of the body: `READ_BYTES` at most, and at least one."""
        while not self.unread:
            if self.error is not None:
                raise self.error
            if self.has_ended:
                raise StopAsyncIteration
            await self._wait()
        piece = bytes(self.unread[:READ_BYTES])
        del self.unread[:READ_BYTES]
        if len(self.unread) <= READ_BYTES:
            self._set_reading(True)
        return piece

    async def aclose(self) -> None:
        """Give the connection back, or close it where the reply was not read to its end."""
        release, self.release = self.release, None
        if release is not None:
            release()

    def wake(self) -> None:
        """Something came."""
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
        if len(self.unread) > self._most_unread_bytes and not self.has_ended:
            self._set_reading(False)

    def end(self, error: Exception | None = None) -> None:
        """Nothing more comes, as it should be or because of the error."""
        self.has_ended, self.error = True, error

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter
