"""The transport: connections over aiohttp, a pool of them for each scheme.

It is the transport of `httpx-aiohttp`. A request whose stream is a `RequestBody` takes a shorter
way through it: headers and bytes go out as they stand. The `RequestBody` knows afterwards when
they were written, and when the reply arrived.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import sys
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import aiohttp
import httpx
from aiohttp.payload import Payload
from httpx_aiohttp import AiohttpTransport
from httpx_aiohttp.transport import map_aiohttp_exceptions
from multidict import CIMultiDict

if TYPE_CHECKING:
    from aiohttp.abc import AbstractStreamWriter
    from aiohttp.client_proto import ResponseHandler
    from aiohttp.tracing import Trace

READ_BYTES = 2**16
"""A reply is read in pieces of so many bytes at most."""

_KEPT_ALIVE_S = 5.0
_PIECE_BYTES = 2**18
_NO_TIMEOUT = aiohttp.ClientTimeout(total=None)
_LAST_RECEIVED = slice(52, 56)
"""`tcpi_last_data_recv` in Linux's `struct tcp_info`: milliseconds since data came."""
_COARSE_CLOCK = 6
"""Linux's `CLOCK_MONOTONIC_COARSE`."""
_TICK_S = time.clock_getres(_COARSE_CLOCK) if sys.platform == "linux" else 0.0
"""The kernel's unit for them: the number may be too high by one unit."""


class RequestBody(httpx.AsyncByteStream):
    """The bytes of one request, and when they were sent and answered (`time.perf_counter`)."""

    __slots__ = ("content", "received_at", "written_at")

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.written_at: float | None = None
        """When the first byte of the request was written to its connection."""
        self.received_at: float | None = None
        """When the latest data of the reply arrived."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """A large body in pieces: sent at once it would hold up every other request."""
        for start in range(0, len(self.content), _PIECE_BYTES):
            yield self.content[start : start + _PIECE_BYTES]

    def latency_ms(self) -> float | None:
        """The server's latency so far: from `written_at` to `received_at`; `None` before both.

        Not counted: waiting for a connection, connecting, and the time between the arrival of
        data and its processing here. How long data waited unread is known on Linux only.
        """
        if self.written_at is None or self.received_at is None:
            return None
        return (self.received_at - self.written_at) * 1000


def certificates(ca_file: str | None = None) -> ssl.SSLContext:
    """Whom this machine trusts, and those of the file, too. Raises `OSError`."""
    context = httpx.create_ssl_context(verify=True)
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context


class Transport(httpx.AsyncBaseTransport):
    """One transport for each scheme that is asked for: only TLS reads whom this machine trusts.

    Reading that takes longer than most requests over plain HTTP. Each has so many connections at
    most. It sets no time-out for a request whose stream is a `RequestBody`: the caller does.
    """

    def __init__(
        self, connections: int, *, proxy: str | None = None, ca_file: str | None = None
    ) -> None:
        """`proxy` is the URL of one; `ca_file` has certificates to trust beside the usual ones."""
        self._connections = connections
        self._proxy = proxy
        self._ca_file = ca_file
        self._opened: dict[str, _Transport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request over the transport of its scheme."""
        scheme = request.url.scheme
        if scheme not in self._opened:
            over_tls = "https" in (scheme, (self._proxy or "").partition(":")[0])
            self._opened[scheme] = _Transport(
                self._connections, tls=over_tls, proxy=self._proxy, ca_file=self._ca_file
            )
        return await self._opened[scheme].handle_async_request(request)

    async def aclose(self) -> None:
        """Close every transport."""
        for each in self._opened.values():
            await each.aclose()


class _Transport(AiohttpTransport):
    """Its session keeps no cookies. Without `tls` it trusts no certificate."""

    def __init__(
        self, connections: int, *, tls: bool, proxy: str | None, ca_file: str | None
    ) -> None:
        super().__init__(
            verify=certificates(ca_file) if tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            proxy=None if proxy is None else httpx.Proxy(proxy),
        )
        self._proxy = proxy
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None
        self.client = self._open

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=_Connector(
                    limit=self._connections,
                    keepalive_timeout=_KEPT_ALIVE_S,
                    ssl=self.ssl_context,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
            )
        return self._session

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if not isinstance(request.stream, RequestBody):
            return await super().handle_async_request(request)
        try:
            reply = await self._open().request(
                request.method,
                str(request.url),
                headers=_headers(request.headers),
                data=_Payload(request.stream),
                allow_redirects=False,
                timeout=_NO_TIMEOUT,
                proxy=self._proxy,
            )
        except Exception:
            with map_aiohttp_exceptions():
                raise
        try:
            said = {"http_version": b"HTTP/1.1", "reason_phrase": (reply.reason or "").encode()}
        except UnicodeError:
            reply.close()
            raise
        return httpx.Response(
            reply.status,
            headers=reply.raw_headers,
            stream=_Reply(reply),
            request=request,
            extensions=said,
        )

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()


class _Reply(httpx.AsyncByteStream):
    """The reply to a `RequestBody`, as it arrives."""

    def __init__(self, reply: aiohttp.ClientResponse) -> None:
        self._reply = reply

    async def __aiter__(self) -> AsyncIterator[bytes]:
        content = self._reply.content
        try:
            while piece := await content.read(READ_BYTES):
                yield piece
        except Exception:
            with map_aiohttp_exceptions():
                raise

    async def aclose(self) -> None:
        """Give the connection back, or close it where the reply was not read to its end."""
        try:
            await self._reply.__aexit__(None, None, None)
        except Exception:
            with map_aiohttp_exceptions():
                raise


class _Payload(Payload):
    """A `RequestBody` on its way out."""

    _autoclose = True

    def __init__(self, body: RequestBody) -> None:
        super().__init__(body)
        self._body = body
        self._size = len(body.content)

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return self._body.content.decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        transport = getattr(writer, "transport", None)
        watch = transport.get_protocol() if transport is not None else None
        if isinstance(watch, _Watch):
            watch.body = self._body
        self._body.written_at = time.perf_counter()
        if len(self._body.content) <= _PIECE_BYTES:
            await writer.write(self._body.content)
            return
        async for piece in self._body:
            await writer.write(piece)

    async def write_with_length(
        self, writer: AbstractStreamWriter, content_length: int | None
    ) -> None:
        """See `write`: the length that is declared is that of the body."""
        await self.write(writer)


class _Connector(aiohttp.TCPConnector):
    """Its connections are watched."""

    async def _create_connection(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109  # aiohttp's own
    ) -> ResponseHandler:
        handler = await super()._create_connection(req, traces, timeout)
        if handler.transport is not None:
            handler.transport.set_protocol(_Watch(handler, handler.transport))
        return handler


class _Watch(asyncio.Protocol):
    """Records when data arrives, before the task that reads it is woken."""

    def __init__(self, handler: ResponseHandler, transport: asyncio.Transport) -> None:
        self._handler = handler
        self._socket = transport.get_extra_info("socket") if _TICK_S else None
        self.body: RequestBody | None = None
        """The latest request on this connection."""

    def data_received(self, data: bytes) -> None:
        if self.body is not None:
            arrived = time.perf_counter() - self._waited_s()
            # The kernel counts ticks, and on a machine that pauses too many of them.
            before = self.body.received_at or self.body.written_at or arrived
            self.body.received_at = max(arrived, before)
        self._handler.data_received(data)

    def _waited_s(self) -> float:
        """How long the data waited in the kernel, in seconds, as far as it can tell."""
        if self._socket is None:
            return 0.0
        try:
            told = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 56)
        except OSError:
            return 0.0
        ago_s = int.from_bytes(told[_LAST_RECEIVED], sys.byteorder) / 1000
        return max(0.0, ago_s - _TICK_S)

    def eof_received(self) -> None:
        self._handler.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._handler.connection_lost(exc)

    def pause_writing(self) -> None:
        self._handler.pause_writing()

    def resume_writing(self) -> None:
        self._handler.resume_writing()


def _headers(headers: httpx.Headers) -> CIMultiDict[str]:
    return CIMultiDict((name.decode("ascii"), value.decode("ascii")) for name, value in headers.raw)
