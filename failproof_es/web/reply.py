"""A request that is sent unchanged, and a reply that is read as it arrives."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator

import httpx

READ_BYTES = 2**16
"""The most bytes of one piece of a reply's body."""
MOST_UNREAD_BYTES = 4 * READ_BYTES
"""With more unread bytes, reading from the connection pauses."""
MOST_UNREAD_TLS_BYTES = 2**24
"""The limit over TLS, longer than any reply: uvloop loses its buffered bytes of a paused connection
when the server closes it."""
PIECE_BYTES = 2**18
"""Longer requests are written in pieces, so that they do not block other requests."""


class RequestBody(httpx.AsyncByteStream):
    """The bytes of one request, and the times of its writing and reply (`time.perf_counter`)."""

    __slots__ = ("content", "received_at", "written_at")

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.written_at: float | None = None
        """Time at which the first byte of the request was written to its connection."""
        self.received_at: float | None = None
        """Time at which the latest data of the reply arrived."""

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes in pieces of at most `PIECE_BYTES`."""
        for start in range(0, len(self.content), PIECE_BYTES):
            yield self.content[start : start + PIECE_BYTES]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self.written_at = time.perf_counter()
        for piece in self.pieces():
            yield piece

    def add_arrival(self, at: float) -> None:
        """Record the arrival of reply data at the time `at`, by `time.perf_counter`.

        It counts as no earlier than the writing of the request.
        """
        # The kernel counts in ticks, and counts too many on a machine that was paused.
        self.received_at = max(at, self.received_at or self.written_at or at)

    def latency_ms(self) -> float | None:
        """Milliseconds from `written_at` to `received_at`: the server's latency so far.

        `None` until both are known. Excludes the wait for a connection, connecting, and the time
        between the arrival of data and its processing here. The last is known only on Linux and
        without a proxy.
        """
        if self.written_at is None or self.received_at is None:
            return None
        return (self.received_at - self.written_at) * 1000


class ReplyStream(httpx.AsyncByteStream):
    """One reply. Iteration yields the body as it arrives; the caller must close the reply.

    The connection fills it. `head` and the iteration raise `OSError` or
    `httpx.RemoteProtocolError`, after all received bytes.
    """

    def __init__(
        self,
        request: RequestBody,
        set_reading: Callable[[bool], None],
        most_unread_bytes: int,
    ) -> None:
        """`set_reading` resumes (`True`) or pauses reading from the connection.

        Reading is paused beyond `most_unread_bytes`.
        """
        self.request = request
        self.status = 0
        """The HTTP status; 0 until the headers are there."""
        self.raw_headers: list[tuple[bytes, bytes]] = []
        self.unread = bytearray()
        self.has_ended = False
        self.error: Exception | None = None
        """Why the reply ended too early."""
        self.release: Callable[[], None] | None = None
        """Called once, when the reply is closed."""
        self._set_reading = set_reading
        self._most_unread_bytes = most_unread_bytes
        self._waiter: asyncio.Future[None] | None = None

    async def head(self) -> None:
        """Wait for the status and the headers.

        Raises `OSError` or `httpx.RemoteProtocolError` if the reply ends before.
        """
        while not self.status:
            if self.has_ended:
                raise self.error or AssertionError("a reply that ended has a head or an error")
            await self._wait()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        """The next piece of the body: 1 to `READ_BYTES` bytes."""
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
        """Return the connection to its pool, or close it if the reply was not read to its end."""
        release, self.release = self.release, None
        if release is not None:
            release()

    def wake(self) -> None:
        """Wake the reader after new data or the end. Pauses the connection of a slow reader."""
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
        if len(self.unread) > self._most_unread_bytes and not self.has_ended:
            self._set_reading(False)

    def end(self, error: Exception | None = None) -> None:
        """Mark the reply as complete, or as ended by the error."""
        self.has_ended, self.error = True, error

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter
