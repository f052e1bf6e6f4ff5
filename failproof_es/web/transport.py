"""The transport beneath every client: connections of our own, or httpx's through a proxy."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeAlias

import httpx

from failproof_es.web.connections import KEPT_ALIVE_S, Connections
from failproof_es.web.reply import ReplyStream, RequestBody

_PORTS = {"http": 80, "https": 443}

RawHeaders: TypeAlias = Sequence[tuple[bytes, bytes]]


def certificates(ca_file: str | None = None) -> ssl.SSLContext:
    """Whom this machine trusts, and those of the file, too. Raises `OSError`."""
    context = httpx.create_ssl_context(verify=True)
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context


class Endpoint:
    """Where requests go: a URL, parsed once. Raises as `httpx.URL` does."""

    def __init__(self, url: httpx.URL | str) -> None:
        self.given = url
        self.url = httpx.URL(url)
        self.text = str(self.url)
        """As it is sent."""
        self.host = self.url.netloc.decode("ascii")
        """What the header `Host` says."""
        self.target = self.url.raw_path
        """What the first line of a request says."""
        scheme = self.url.scheme
        port = _PORTS.get(scheme, 0) if self.url.port is None else self.url.port
        self.server = (scheme, self.url.raw_host.decode("ascii"), port)


class Transport(httpx.AsyncBaseTransport):
    """Sends requests over HTTP/1.1, with so many connections to each server at most.

    It sets no time-out: whoever asks does. The certificates that this machine trusts are read
    before the first request over TLS: that takes longer than most requests over plain HTTP.
    """

    def __init__(
        self, connections: int, *, proxy: str | None = None, ca_file: str | None = None
    ) -> None:
        """`proxy` is the URL of one; `ca_file` has certificates to trust beside the usual ones."""
        self._most = connections
        self._proxy = proxy
        self._ca_file = ca_file
        self._servers: dict[tuple[str, str, int], Connections] = {}
        self._ways_by_proxy: dict[bool, httpx.AsyncHTTPTransport] = {}
        self._permits_by_proxy = asyncio.Semaphore(connections)
        """httpcore counts a connection for ever whose request was given up at the wrong moment."""

    async def send(
        self, method: str, endpoint: Endpoint, headers: RawHeaders, body: RequestBody
    ) -> ReplyStream | ProxiedReply:
        """Send a request with these headers and no other; return when its reply has begun.

        Close the reply. Raises `OSError`, `httpx.TransportError`, or `UnicodeError` where the
        host is no name of one.
        """
        if self._proxy is not None:
            return await self._send_by_proxy(
                httpx.Request(method, endpoint.url, headers=list(headers), stream=body), body
            )
        connections = self._servers.get(endpoint.server)
        if connections is None:
            connections = self._servers[endpoint.server] = self._connections(endpoint)
        return await connections.send(_head(method, endpoint, headers), body)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """For httpx's client: send a request whose length its headers tell. Raises as `send`."""
        body = RequestBody(await request.aread())
        reply = await self.send(request.method, Endpoint(request.url), request.headers.raw, body)
        return httpx.Response(
            reply.status, headers=reply.raw_headers, stream=reply, request=request
        )

    async def aclose(self) -> None:
        """Close every connection."""
        for connections in self._servers.values():
            await connections.aclose()
        for way in self._ways_by_proxy.values():
            await way.aclose()

    def _connections(self, endpoint: Endpoint) -> Connections:
        scheme, host, port = endpoint.server
        if scheme not in _PORTS:
            raise httpx.UnsupportedProtocol(f"a URL begins with http:// or https://, not {scheme}:")
        context = certificates(self._ca_file) if scheme == "https" else None
        return Connections(host, port, self._most, context)

    async def _send_by_proxy(self, request: httpx.Request, body: RequestBody) -> ProxiedReply:
        await self._permits_by_proxy.acquire()
        try:
            way = self._way_by_proxy(request.url.scheme)
            response = await way.handle_async_request(request)
        except BaseException:
            self._permits_by_proxy.release()
            raise
        return ProxiedReply(response, body, self._permits_by_proxy.release)

    def _way_by_proxy(self, scheme: str) -> httpx.AsyncHTTPTransport:
        assert self._proxy is not None
        proxied_over_tls = self._proxy.startswith("https:")
        over_tls = proxied_over_tls or scheme == "https"
        if over_tls not in self._ways_by_proxy:
            no_certificates = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context = certificates(self._ca_file) if over_tls else no_certificates
            self._ways_by_proxy[over_tls] = httpx.AsyncHTTPTransport(
                verify=context,
                proxy=httpx.Proxy(self._proxy, ssl_context=context if proxied_over_tls else None),
                limits=httpx.Limits(max_connections=None, keepalive_expiry=KEPT_ALIVE_S),
                trust_env=False,
            )
        return self._ways_by_proxy[over_tls]


class ProxiedReply(httpx.AsyncByteStream):
    """A reply that a proxy passes on, read as a `ReplyStream` is."""

    def __init__(
        self, response: httpx.Response, request: RequestBody, release: Callable[[], None]
    ) -> None:
        self.status = response.status_code
        self.raw_headers = response.headers.raw
        self._response = response
        self._request = request
        self._release: Callable[[], None] | None = release
        request.add_arrival(time.perf_counter())

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._response.aiter_raw():
            self._request.add_arrival(time.perf_counter())
            yield piece

    async def aclose(self) -> None:
        """Give the connection back, or close it where the reply was not read to its end."""
        release, self._release = self._release, None
        try:
            await self._response.aclose()
        finally:
            if release is not None:
                release()


def _head(method: str, endpoint: Endpoint, headers: RawHeaders) -> bytes:
    """The lines of a request before its body. Raises `httpx.LocalProtocolError`."""
    lines = [b"%b %b HTTP/1.1" % (method.encode("ascii"), endpoint.target)]
    lines += [b"%b: %b" % header for header in headers]
    lines += (b"", b"")
    head = b"\r\n".join(lines)
    breaks = len(lines) - 1
    if head.count(b"\r") != breaks or head.count(b"\n") != breaks or b"\0" in head:
        raise httpx.LocalProtocolError("a header of the request holds a line break")
    return head
