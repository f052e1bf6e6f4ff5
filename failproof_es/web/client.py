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

from failproof_es.web.coding import ACCEPTED, Decompressor, Undecodable
from failproof_es.web.transport import RequestBody, Transport

_EVERY_REQUEST = [
    (b"accept", b"*/*"),
    (b"accept-encoding", ACCEPTED.encode()),
    (b"connection", b"keep-alive"),
    (b"user-agent", f"python-httpx/{httpx.__version__}".encode()),
]
"""What `open_client` sends, too."""

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
        assert isinstance(reply.stream, httpx.AsyncByteStream)
        self._stream = reply.stream
        self._limit = limit
        self.headers = header_texts(reply.headers)
        """Of the reply, by lower-case name."""
        self.packed = bytearray()
        """What came of a packed body, as it came: all that there is if it can't be unpacked."""

    async def pieces(self) -> AsyncIterator[bytes]:
        """Raises `BodyTooLong` after `limit` bytes, packed or not, `Undecodable`, or one of
        `LOST`."""
        codings = self.headers.get("content-encoding")
        if codings is None:
            async for raw in self._raw():
                yield raw
            return
        try:
            unpacking = Decompressor(codings.split(","))
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
        async for raw in self._stream:
            yield raw[:room]
            room -= len(raw)
            if room < 0:
                raise BodyTooLong(self._limit)

    async def close(self) -> None:
        """Give the reply's connection back, or close it where not all was read."""
        await self._stream.aclose()


def header_texts(headers: httpx.Headers) -> dict[str, str]:
    """What `httpx.Headers.items` gives, sooner: by lower-case name, a repeated one joined."""
    texts: dict[str, str] = {}
    try:
        for name, value in headers.raw:
            key, text = name.decode("ascii").lower(), value.decode("ascii")
            texts[key] = f"{texts[key]}, {text}" if key in texts else text
    except UnicodeDecodeError:
        return dict(headers.items())
    return texts


def open_client(
    timeout_s: float, connections: int = 1, transport: Transport | None = None
) -> httpx.AsyncClient:
    """A client with so many connections at most, or those of `transport`. Close it."""
    return httpx.AsyncClient(
        transport=transport or Transport(connections),
        timeout=httpx.Timeout(timeout_s),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        headers={"accept-encoding": ACCEPTED},
        follow_redirects=False,
        trust_env=False,
    )


class Endpoint:
    """Where bytes are posted: a URL, parsed once. Raises as `httpx.URL` does."""

    def __init__(self, url: str) -> None:
        self.given = url
        self.url = httpx.URL(url)
        self.text = str(self.url)
        """As it is sent."""
        self.host = self.url.netloc.decode("ascii")
        """What the header `Host` says."""


async def post(
    transport: Transport, endpoint: Endpoint, headers: Mapping[str, str], body: RequestBody
) -> httpx.Response:
    """The reply's head; its body is for `Body` to read. Raises one of `LOST`.

    `headers` are complete but for those that every request has. Nothing is followed, kept or
    added, and no time is set: whoever asks sets one, and closes the reply's stream. A client's
    layers would come to the same for twice the processor time.
    """
    sent = [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]
    request = httpx.Request("POST", endpoint.url, headers=_EVERY_REQUEST + sent, stream=body)
    return await transport.handle_async_request(request)


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
                told = getattr(error, "certificate_error", error)  # aiohttp puts one into another
                said = getattr(told, "verify_message", None) or told
                return f"its certificate is not trusted ({said})"
            case ssl.SSLError():
                told = getattr(error, "os_error", error)  # aiohttp puts one into another
                said = getattr(told, "reason", None) or told
                return f"it speaks no TLS that is understood here, or plain http:// ({said})"
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
