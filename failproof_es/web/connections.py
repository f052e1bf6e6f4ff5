"""A pool of connections to one server, bounded and reused."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from functools import partial

import httpx
from aiohappyeyeballs import AddrInfoType, start_connection

from failproof_es.web.connection import Connection
from failproof_es.web.reply import ReplyStream, RequestBody

KEPT_ALIVE_S = 4.0
"""Seconds until an idle connection is closed; most servers wait longer (uvicorn, Node: 5 s)."""
_ADDRESSES_HOLD_S = 10.0
_NEXT_ADDRESS_AFTER_S = 0.25
"""Seconds until the next address of a host is tried in parallel (RFC 8305)."""


class Connections:
    """A pool of at most `most` connections to a host and port, over TLS if there is a `context`."""

    def __init__(self, host: str, port: int, most: int, context: ssl.SSLContext | None) -> None:
        self._host = host
        self._port = port
        self._context = context
        self._permits = asyncio.Semaphore(most)
        self._idle: deque[Connection] = deque()
        """The idle connections, by `idle_since`, oldest first."""
        self._open: set[Connection] = set()
        self._is_closed = False
        self._lookup: asyncio.Task[list[AddrInfoType]] | None = None
        self._stale_at = 0.0
        """The expiry of the looked-up addresses, by the event loop's clock."""

    async def send(self, head: bytes, request: RequestBody) -> ReplyStream:
        """Send a request unchanged; return the reply once its headers are there.

        `head` is the request line with the headers. The caller closes the reply. Waits for a
        connection if all are in use. Raises `OSError` or `httpx.TransportError` if the connection
        fails, or `UnicodeError` if the host name is invalid.
        """
        await self._permits.acquire()
        connection = None
        try:
            self._require_open()
            connection = self._take_idle() or await self._connect()
            self._require_open()
            reply = await connection.send(head, request)
            await reply.head()
        except BaseException:
            self._give_back(connection)
            raise
        reply.release = partial(self._give_back, connection)
        return reply

    async def aclose(self) -> None:
        """Close every connection. Tasks that wait for one get an error."""
        self._is_closed = True
        closing = [connection.lost for connection in self._open]
        for connection in self._open:
            connection.close()
        await asyncio.gather(*closing)

    def _require_open(self) -> None:
        if self._is_closed:
            raise httpx.CloseError("the connections were closed here")

    def _take_idle(self) -> Connection | None:
        """The most recently used idle connection that is still usable; `None` without one."""
        self._close_stale()
        while self._idle:
            connection = self._idle.pop()
            if connection.is_free:
                return connection
            connection.close()
        return None

    def _give_back(self, connection: Connection | None) -> None:
        self._permits.release()
        if connection is None:
            return
        if connection.is_free:
            connection.idle_since = asyncio.get_running_loop().time()
            self._idle.append(connection)
        else:
            connection.close()
        self._close_stale()

    def _close_stale(self) -> None:
        stale = asyncio.get_running_loop().time() - KEPT_ALIVE_S
        while self._idle and self._idle[0].idle_since < stale:
            self._idle.popleft().close()

    async def _connect(self) -> Connection:
        opened = await start_connection(
            await self._look_up(), happy_eyeballs_delay=_NEXT_ADDRESS_AFTER_S
        )
        try:
            _, connection = await asyncio.get_running_loop().create_connection(
                Connection,
                sock=opened,
                ssl=self._context,
                server_hostname=None if self._context is None else self._host.rstrip("."),
            )
        except BaseException:
            opened.close()
            raise
        self._open.add(connection)
        connection.lost.add_done_callback(lambda _: self._open.discard(connection))
        return connection

    async def _look_up(self) -> list[AddrInfoType]:
        """The addresses of the host; concurrent callers share one lookup."""
        loop = asyncio.get_running_loop()
        lookup = self._lookup
        if lookup is None or (
            lookup.done()
            and (lookup.cancelled() or lookup.exception() or loop.time() > self._stale_at)
        ):
            lookup = self._lookup = loop.create_task(self._resolve())
            lookup.add_done_callback(_take_exception)
            self._stale_at = loop.time() + _ADDRESSES_HOLD_S
        return await asyncio.shield(lookup)

    async def _resolve(self) -> list[AddrInfoType]:
        loop = asyncio.get_running_loop()
        return list(await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM))


def _take_exception(lookup: asyncio.Task[list[AddrInfoType]]) -> None:
    """Retrieve the exception, lest asyncio reports it when all waiting tasks were cancelled."""
    if not lookup.cancelled():
        lookup.exception()
