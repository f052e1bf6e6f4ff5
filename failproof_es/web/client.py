"""The HTTP client: bounds the size, memory and time of every reply.

Connections keep no cookies, follow no redirect and take nothing from the environment: what
is sent is what the caller sends. A reply is unpacked here, a step at a time, and every step
lets other work go on, so that a time-out holds whatever comes.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy

import aiohttp
import httpx
from aiohttp.http_exceptions import BadStatusLine, LineTooLong
from httpx_aiohttp import AiohttpTransport

from failproof_es.web.coding import ACCEPTED, Decompressor, Undecodable

_KEPT_ALIVE_S = 5.0

LOST = (OSError, httpx.TransportError, aiohttp.ClientError, UnicodeError)
"""What becomes of a reply that doesn't arrive; the transport lets some of its own through.

`OSError` includes `TimeoutError`. `UnicodeError` is what it makes of a reason phrase that is
no UTF-8.
"""


class BodyTooLong(Exception):
    """The body is longer than is read of one."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the reply is longer than {limit} bytes")


UNUSABLE = (*LOST, BodyTooLong, Undecodable)
"""All that `fetch` raises."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A whole reply."""

    status: int
    body: bytes


class Body:
    """The body of a reply as it comes, unpacked: `limit` bytes of it at most."""

    def __init__(self, reply: httpx.Response, limit: int) -> None:
        self._reply = reply
        self._limit = limit
        self.packed = bytearray()
        """What came of a packed body, as it came: all that there is if it can't be unpacked."""

    async def pieces(self) -> AsyncIterator[bytes]:
        """Raises `BodyTooLong` after `limit` bytes, packed or not, `Undecodable`, or one of
        `LOST`."""
        codings = self._reply.headers.get_list("content-encoding", split_commas=True)
        try:
            unpacking = Decompressor(codings)
        except Undecodable:
            async for raw in self._raw():
                self.packed += raw
            raise
        room = self._limit
        async for raw in self._raw():
            if unpacking.packed:
                self.packed += raw
            for piece in unpacking.feed(raw):
                if len(piece) > room:
                    yield piece[:room]
                    raise BodyTooLong(self._limit)
                room -= len(piece)
                yield piece
                await asyncio.sleep(0)
        unpacking.end()

    async def _raw(self) -> AsyncIterator[bytes]:
        room = self._limit
        async for raw in self._reply.aiter_raw():
            yield raw[:room]
            room -= len(raw)
            if room < 0:
                raise BodyTooLong(self._limit)


def open_client(timeout_s: float, connections: int = 1) -> httpx.AsyncClient:
    """A client with so many connections at most. Close it."""
    return httpx.AsyncClient(
        transport=_BySchemeTransport(connections),
        timeout=httpx.Timeout(timeout_s),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        headers={"accept-encoding": ACCEPTED},
        follow_redirects=False,
        trust_env=False,
    )


async def fetch(
    client: httpx.AsyncClient,
    method: str,
    url: str,
    *,
    limit: int,
    timeout_s: float,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
) -> Fetched:
    """A reply whole, its last byte within `timeout_s`. Raises one of `UNUSABLE`."""
    async with (
        asyncio.timeout(timeout_s),
        client.stream(method, url, headers=headers, content=content) as reply,
    ):
        body = bytearray()
        async for piece in Body(reply, limit).pieces():
            body += piece
    return Fetched(reply.status_code, bytes(body))


def fetch_now(url: str, *, limit: int, timeout_s: float) -> Fetched:
    """The same for programs without an event loop. Raises as `fetch` does."""

    async def get() -> Fetched:
        async with open_client(timeout_s) as client:
            return await fetch(client, "GET", url, limit=limit, timeout_s=timeout_s)

    return asyncio.run(get())


def timed_out(error: BaseException) -> bool:
    """Whether time ran out. The transport calls a refused connection a time-out, too."""
    return isinstance(error, TimeoutError) or isinstance(error.__cause__, TimeoutError)


def reason(error: BaseException) -> str:
    """What happened to the connection, by the name of the error that it met first."""
    if quotes_partial_line(error):
        return "a line of the reply's head is too long"
    if (known := _in_plain_words(error)) is not None:
        return known
    return f"{type(error.__cause__ or error).__name__}: {error}"


def _in_plain_words(error: BaseException | None) -> str | None:
    """What usually happens to a connection, without the inside of the client."""
    closed = None
    while error is not None:
        match error:
            case ConnectionRefusedError():
                return "nothing listens there (connection refused)"
            case socket.gaierror():
                return f"no host of that name was found ({error.strerror})"
            case ssl.SSLCertVerificationError():
                return f"its certificate is not trusted ({error.verify_message})"
            case ssl.SSLError():
                return f"it speaks no TLS that is understood here ({error.reason or error})"
            case BadStatusLine():
                return "what listens there speaks no HTTP"
            case OSError(errno=errno.ENETUNREACH | errno.EHOSTUNREACH):
                return f"no way leads there ({error.strerror})"
            case ConnectionResetError() | aiohttp.ServerDisconnectedError():
                closed = "it closed the connection without an answer"
        error = error.__cause__ or error.__context__
    return closed


def quotes_partial_line(error: BaseException | None) -> bool:
    """Whether the error repeats the beginning of a line: nobody would find a key that it cuts."""
    while error is not None:
        if isinstance(error, LineTooLong):
            return True
        error = error.__cause__ or error.__context__
    return False


class _BySchemeTransport(httpx.AsyncBaseTransport):
    """One transport for each scheme that is asked for: only TLS reads whom this machine trusts.

    Reading that takes longer than most requests over plain HTTP.
    """

    def __init__(self, connections: int) -> None:
        self._connections = connections
        self._opened: dict[str, AiohttpTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request over the transport of its scheme."""
        scheme = request.url.scheme
        if scheme not in self._opened:
            self._opened[scheme] = _transport(self._connections, tls=scheme != "http")
        return await self._opened[scheme].handle_async_request(request)

    async def aclose(self) -> None:
        """Close every transport."""
        for each in self._opened.values():
            await each.aclose()


def _transport(connections: int, *, tls: bool) -> AiohttpTransport:
    """A transport whose session keeps no cookies. Without `tls` it trusts no certificate."""
    trusted = True if tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    transport = AiohttpTransport(verify=trusted)

    def session() -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=connections, keepalive_timeout=_KEPT_ALIVE_S, ssl=transport.ssl_context
        )
        return aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
        )

    transport.client = session
    return transport
