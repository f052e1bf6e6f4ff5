"""The transport of every client: own connections, or httpx's through a proxy."""

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
    """A TLS context with this machine's trusted certificates and those in `ca_file`.

    Raises `OSError` if the file cannot be read or holds no certificate.
    """
    context = httpx.create_ssl_context(verify=True)
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context


class Endpoint:
    """The URL of requests, parsed once. Raises `httpx.InvalidURL` if it is not a URL."""

    def __init__(self, url: httpx.URL | str) -> None:
        self.parsed_from = url
        self.url = httpx.URL(url)
        self.text = str(self.url)
        """The URL as sent."""
        self.host = self.url.netloc.decode("ascii")
        """The value of the header `Host`."""
        self.target = self.url.raw_path
        """The target in the first line of a request."""
        scheme = self.url.scheme
        port = _PORTS.get(scheme, 0) if self.url.port is None else self.url.port
        self.server = (scheme, self.url.raw_host.decode("ascii"), port)


class Transport(httpx.AsyncBaseTransport):
    """Sends requests over HTTP/1.1, with at most `connections` connections to each server.

    The caller sets the time-outs. The trusted certificates are loaded at the first request over
    TLS, because that takes longer than most requests over plain HTTP.
    """

    def __init__(
        self, connections: int, *, proxy: str | None = None, ca_file: str | None = None
    ) -> None:
        """`connections` is the most connections to each server, and `proxy` a proxy's URL.

        `ca_file` has certificates to trust besides this machine's.
        """
        self._most = connections
        self._proxy = proxy
        self._ca_file = ca_file
        self._servers: dict[tuple[str, str, int], Connections] = {}
        self._proxy_transports: dict[bool, httpx.AsyncHTTPTransport] = {}
        self._proxy_permits = asyncio.Semaphore(connections)
        """Limits connections: httpcore's own limit leaks some when requests are cancelled."""

    async def send(
        self, method: str, endpoint: Endpoint, headers: RawHeaders, body: RequestBody
    ) -> ReplyStream | ProxiedReply:
        """Send a request with exactly these headers; return the reply once its headers are there.

        The caller closes the reply. Raises `OSError` or `httpx.TransportError` if the connection
        fails, or `UnicodeError` if the host name is invalid.
        """
        if self._proxy is not None:
            return await self._send_through_proxy(
                httpx.Request(method, endpoint.url, headers=list(headers), stream=body), body
            )
        connections = self._servers.get(endpoint.server)
        if connections is None:
            connections = self._servers[endpoint.server] = self._new_pool(endpoint)
        return await connections.send(_head(method, endpoint, headers), body)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request of httpx's client, which has a `Content-Length`. Raises as `send` does."""
        body = RequestBody(await request.aread())
        reply = await self.send(request.method, Endpoint(request.url), request.headers.raw, body)
        return httpx.Response(
            reply.status, headers=reply.raw_headers, stream=reply, request=request
        )

    async def aclose(self) -> None:
        """Close every connection."""
        for connections in self._servers.values():
            await connections.aclose()
        for proxy_transport in self._proxy_transports.values():
            await proxy_transport.aclose()

    def _new_pool(self, endpoint: Endpoint) -> Connections:
        scheme, host, port = endpoint.server
        if scheme not in _PORTS:
            raise httpx.UnsupportedProtocol(f"a URL begins with http:// or https://, not {scheme}:")
        context = certificates(self._ca_file) if scheme == "https" else None
        return Connections(host, port, self._most, context)

    async def _send_through_proxy(self, request: httpx.Request, body: RequestBody) -> ProxiedReply:
        await self._proxy_permits.acquire()
        try:
            proxy_transport = self._proxy_transport(request.url.scheme)
            response = await proxy_transport.handle_async_request(request)
        except BaseException:
            self._proxy_permits.release()
            raise
        return ProxiedReply(response, body, self._proxy_permits.release)

    def _proxy_transport(self, scheme: str) -> httpx.AsyncHTTPTransport:
        assert self._proxy is not None
        proxied_over_tls = httpx.URL(self._proxy).scheme == "https"
        over_tls = proxied_over_tls or scheme == "https"
        if over_tls not in self._proxy_transports:
            no_certificates = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context = certificates(self._ca_file) if over_tls else no_certificates
            self._proxy_transports[over_tls] = httpx.AsyncHTTPTransport(
                verify=context,
                proxy=httpx.Proxy(self._proxy, ssl_context=context if proxied_over_tls else None),
                limits=httpx.Limits(max_connections=None, keepalive_expiry=KEPT_ALIVE_S),
                trust_env=False,
            )
        return self._proxy_transports[over_tls]


class ProxiedReply(httpx.AsyncByteStream):
    """A reply through a proxy, with the interface of `ReplyStream`.

    `release` is called once, when the reply is closed.
    """

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
        """Return the connection to its pool, or close it if the reply was not read to its end."""
        release, self._release = self._release, None
        try:
            await self._response.aclose()
        finally:
            if release is not None:
                release()


def _head(method: str, endpoint: Endpoint, headers: RawHeaders) -> bytes:
    """The request line and the headers of a request.

    Raises `httpx.LocalProtocolError` if a header holds a line break or a zero byte.
    """
    lines = [b"%b %b HTTP/1.1" % (method.encode("ascii"), endpoint.target)]
    lines += [b"%b: %b" % header for header in headers]
    lines += (b"", b"")
    head = b"\r\n".join(lines)
    breaks = len(lines) - 1
    if head.count(b"\r") != breaks or head.count(b"\n") != breaks or b"\0" in head:
        raise httpx.LocalProtocolError("a header of the request holds a line break")
    return head
