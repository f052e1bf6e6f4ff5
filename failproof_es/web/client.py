"""The HTTP client: bounds the size, memory and time of every reply.

Connections keep no cookies, follow no redirects and take nothing from the environment: they send
only what the caller passes. A reply is decompressed in steps that let other tasks run in between,
so that a time-out works for any reply.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

from failproof_es.web.coding import ACCEPTED, Decompressor, Undecodable
from failproof_es.web.connection import InvalidHttp
from failproof_es.web.reply import ReplyStream, RequestBody
from failproof_es.web.transport import Endpoint, ProxiedReply, RawHeaders, Transport

_EVERY_REQUEST = {
    "accept": "*/*",
    "accept-encoding": ACCEPTED,
    "connection": "keep-alive",
    "user-agent": f"python-httpx/{httpx.__version__}",
}
"""The headers of every request, as those of `open_client`."""

LOST = (OSError, httpx.TransportError, httpx.InvalidURL, UnicodeError)
"""The errors of a reply that does not arrive.

`OSError` includes `TimeoutError`. `UnicodeError`: the host name is invalid, or a header of the
request is not ASCII.
"""


class BodyTooLong(Exception):
    """The body is longer than the limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the reply is longer than {limit} bytes")


UNUSABLE = (*LOST, BodyTooLong, Undecodable)
"""The exceptions of `fetch`."""


@dataclass(frozen=True, slots=True)
class WholeReply:
    """The status and the whole body of a reply."""

    status: int
    body: bytes


class Body:
    """The body of a reply, decompressed as it arrives, up to `limit` bytes.

    `headers` are those of the reply, and `stream` yields its body as received.
    """

    def __init__(self, headers: RawHeaders, stream: httpx.AsyncByteStream, limit: int) -> None:
        self._stream = stream
        self._limit = limit
        self.headers = header_texts(headers)
        """The reply's headers by lower-case name."""
        self.packed = bytearray()
        """The received bytes of a compressed body, for a body that cannot be decompressed."""

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the decompressed body in pieces.

        Raises `BodyTooLong` after `limit` bytes, compressed or not, `Undecodable` if it cannot be
        decompressed, or one of `LOST` if it does not arrive completely.
        """
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
        """Return the reply's connection to its pool; close it unless the reply was read fully."""
        await self._stream.aclose()


def header_texts(headers: RawHeaders) -> dict[str, str]:
    """Headers by lower-case name, repeated ones joined by commas.

    Headers that are not ASCII are decoded as by httpx.
    """
    texts: dict[str, str] = {}
    try:
        for name, value in headers:
            key, text = name.decode("ascii").lower(), value.decode("ascii")
            texts[key] = f"{texts[key]}, {text}" if key in texts else text
    except UnicodeDecodeError:
        return dict(httpx.Headers(list(headers)).items())
    return texts


def open_client(
    timeout_s: float, connections: int = 1, transport: Transport | None = None
) -> httpx.AsyncClient:
    """A client with `transport`, or else with at most `connections` connections to each server.

    The caller closes it.
    """
    return httpx.AsyncClient(
        transport=transport or Transport(connections),
        timeout=httpx.Timeout(timeout_s),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        headers={"accept-encoding": ACCEPTED},
        follow_redirects=False,
        trust_env=False,
    )


async def post(
    transport: Transport, endpoint: Endpoint, headers: Mapping[str, str], body: RequestBody
) -> ReplyStream | ProxiedReply:
    """Send a POST request; return the reply once its headers are there.

    Raises one of `LOST` if none arrives. `Body` reads the reply's body. `headers`, by lower-case
    name, take the place of those of every request. Follows no redirect and sets no time-out: the
    caller sets one, and closes the reply. An httpx client would do the same for twice the
    processor time.
    """
    every = {**_EVERY_REQUEST, **headers}
    raw = [(name.encode("ascii"), value.encode("ascii")) for name, value in every.items()]
    return await transport.send("POST", endpoint, raw, body)


async def fetch(
    client: httpx.AsyncClient,
    method: str,
    url: str,
    *,
    limit: int,
    timeout_s: float,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
) -> WholeReply:
    """The whole reply, up to its last byte within `timeout_s` seconds.

    Raises one of `UNUSABLE` if it does not arrive, is longer than `limit` bytes or cannot be
    decompressed.
    """
    async with (
        asyncio.timeout(timeout_s),
        client.stream(method, url, headers=headers, content=content) as reply,
    ):
        body = bytearray()
        assert isinstance(reply.stream, httpx.AsyncByteStream)
        async for piece in Body(reply.headers.raw, reply.stream, limit).pieces():
            body += piece
    return WholeReply(reply.status_code, bytes(body))


def fetch_now(url: str, *, limit: int, timeout_s: float) -> WholeReply:
    """The whole reply to a GET request, for programs without an event loop.

    `limit` is in bytes. Raises one of `UNUSABLE`, as `fetch` does.
    """

    async def get() -> WholeReply:
        async with open_client(timeout_s) as client:
            return await fetch(client, "GET", url, limit=limit, timeout_s=timeout_s)

    return asyncio.run(get())


def timed_out(error: BaseException) -> bool:
    """Whether the request's time-out expired; false for the network's own ETIMEDOUT."""
    return isinstance(error, TimeoutError | httpx.TimeoutException) and not (
        isinstance(error, OSError) and error.errno
    )


def reason(error: BaseException) -> str:
    """The cause of a failed connection, for people; an uncommon one as the exception's text."""
    if quotes_reply(error):
        return "it closed the connection, or what it sent is no HTTP"
    return _describe_cause(error) or f"{type(error.__cause__ or error).__name__}: {error}"


def _describe_cause(error: BaseException | None) -> str | None:
    """The cause of a failed connection if it is a common one, without the client's internals."""
    while error is not None:
        match error:
            case InvalidHttp():
                return str(error)
            case ConnectionRefusedError():
                return "nothing listens there (connection refused)"
            case socket.gaierror():
                return f"no host of that name was found ({error.strerror})"
            case ssl.SSLCertVerificationError():
                return f"its certificate is not trusted ({error.verify_message or error})"
            case ssl.SSLError():
                return (
                    f"it speaks no TLS that is understood here, or plain http:// "
                    f"({error.reason or error})"
                )
            case OSError(errno=errno.ENETUNREACH | errno.EHOSTUNREACH):
                return f"no way leads there ({error.strerror})"
            case ConnectionResetError():
                return "it closed the connection without an answer"
        error = error.__cause__ or error.__context__
    return None


def quotes_reply(error: BaseException) -> bool:
    """Whether the error quotes a part of the reply, where no redaction would find a cut key."""
    quoting = httpx.RemoteProtocolError | httpx.ProxyError
    return isinstance(error, quoting) and not isinstance(error, InvalidHttp)
