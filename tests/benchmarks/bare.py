"""The bare loop that every ratio is taken against: the same requests, nothing recorded.

`python -m tests.benchmarks.bare [--cases 500] [--rounds 30]` prints what it takes, and what
`send` of the program's own provider takes, in turn.

It says by itself what it does, so that it stays what it is while the program gets faster. It is
what the program did before requests went around `httpx.AsyncClient`: that client on the
transport of `httpx-aiohttp`, with its options; a URL, headers and bytes for `stream`; each reply
read to its end and looked at, with a step of the event loop after each piece. What is pure is the
program's own, and takes a few per cent of it: `prepare`, which makes the bytes, `Decompressor`,
and `read_reply`, which finds the answer in a reply.
"""

from __future__ import annotations

import argparse
import asyncio
import ssl
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.models import create_provider
from failproof_es.models.http import OutgoingRequest
from failproof_es.models.http_reply import HttpReply
from failproof_es.models.openai.reply import read_reply
from failproof_es.models.protocol import PreparedRequest, Provider, require_short
from failproof_es.web.coding import Decompressor
from tests.acceptance.commands import mock_server

CONNECTIONS = 100
TIMEOUT_S = 30.0

_KEPT_ALIVE_S = 5.0
_KEPT_PREFIXES = ("x-ratelimit-", "openai-model", "openai-organization", "anthropic-ratelimit-")
_KEPT = frozenset(
    {
        "content-type", "content-length", "date", "retry-after", "server", "via",
        "x-request-id", "request-id",
    }
)  # fmt: skip


async def requests_per_second(
    base_url: str, cases: int, *, connections: int = CONNECTIONS, prompt: str = "Say number {n}."
) -> float:
    """Requests per second of the bare loop."""
    provider = provider_for(base_url, connections)
    async with open_client(connections) as client:

        async def once(request: PreparedRequest) -> None:
            await ask(client, request)

        return await _rate(once, provider, cases, connections, prompt)


async def sends_per_second(
    base_url: str, cases: int, *, connections: int = CONNECTIONS, prompt: str = "Say number {n}."
) -> float:
    """The same by `send` of the program's own provider."""
    provider = provider_for(base_url, connections)

    async def once(request: PreparedRequest) -> None:
        await provider.send(request)

    try:
        return await _rate(once, provider, cases, connections, prompt)
    finally:
        await provider.close()


async def _rate(
    once: Callable[[PreparedRequest], Awaitable[None]],
    provider: Provider,
    cases: int,
    connections: int,
    prompt: str,
) -> float:
    numbers = iter(range(cases))

    async def work() -> None:
        for number in numbers:
            content = prompt.replace("{n}", str(number))
            await once(provider.prepare([Turn(role="user", content=content)]))

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(connections)))
    return cases / (time.perf_counter() - began)


def provider_for(base_url: str, connections: int) -> Provider:
    """What prepares the bytes."""
    model = Model(provider="openai", base_url=base_url, model="mock")
    return create_provider(model, timeout_ms=int(TIMEOUT_S * 1000), connections=connections)


class _Transport(httpx.AsyncBaseTransport):
    """The transport of the scheme that is asked for."""

    def __init__(self, connections: int) -> None:
        self._connections = connections
        self._opened: dict[str, AiohttpTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        scheme = request.url.scheme
        if scheme not in self._opened:
            self._opened[scheme] = self._transport()
        return await self._opened[scheme].handle_async_request(request)

    async def aclose(self) -> None:
        for each in self._opened.values():
            await each.aclose()

    def _transport(self) -> AiohttpTransport:
        transport = AiohttpTransport(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))

        def session() -> aiohttp.ClientSession:
            connector = aiohttp.TCPConnector(
                limit=self._connections,
                keepalive_timeout=_KEPT_ALIVE_S,
                ssl=transport.ssl_context,
            )
            return aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
            )

        transport.client = session
        return transport


def open_client(connections: int) -> httpx.AsyncClient:
    """The client as the program had it. Close it."""
    return httpx.AsyncClient(
        transport=_Transport(connections),
        timeout=httpx.Timeout(TIMEOUT_S),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        headers={"accept-encoding": "gzip, deflate"},
        follow_redirects=False,
        trust_env=False,
    )


async def ask(client: httpx.AsyncClient, request: PreparedRequest) -> None:
    """Send the bytes, read the whole reply, read the answer in it."""
    began = time.perf_counter()
    body = bytearray()
    async with asyncio.timeout(TIMEOUT_S):
        headers = _headers(request)
        async with client.stream(
            "POST", request.endpoint, content=request.body, headers=headers
        ) as reply:
            kept = _kept(reply.headers)
            async for piece in _pieces(reply):
                body += piece
    latency_ms = (time.perf_counter() - began) * 1000
    whole = HttpReply(reply.status_code, kept, bytes(body), latency_ms, datetime.now(UTC))
    require_short(read_reply(whole))


def _headers(request: PreparedRequest) -> dict[str, str]:
    url = httpx.URL(request.endpoint)
    headers = {"host": url.netloc.decode("ascii")}
    headers["content-type"] = "application/json"
    headers["content-length"] = str(len(request.body))
    signed = OutgoingRequest("POST", str(url), headers, request.body, datetime.now(UTC))
    return {**signed.headers}


def _kept(headers: httpx.Headers) -> dict[str, str]:
    lower = {name.lower(): value for name, value in headers.items()}
    return {
        name: value
        for name, value in lower.items()
        if name in _KEPT or name.startswith(_KEPT_PREFIXES)
    }


async def _pieces(reply: httpx.Response) -> AsyncIterator[bytes]:
    unpacking = Decompressor(reply.headers.get_list("content-encoding", split_commas=True))
    async for raw in _raw(reply):
        for piece in unpacking.feed(raw):
            yield piece
            await asyncio.sleep(0)
    unpacking.end()


async def _raw(reply: httpx.Response) -> AsyncIterator[bytes]:
    room = 2**23
    async for piece in reply.aiter_raw():
        yield piece[:room]
        room -= len(piece)
        assert room > 0


def main() -> None:
    parser = argparse.ArgumentParser(description="The bare loop, and `send`, in turn.")
    parser.add_argument("--cases", type=int, default=500, help="in each round")
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    ways = {"bare": requests_per_second, "send": sends_per_second}
    used: dict[str, list[float]] = {name: [] for name in ways}
    with mock_server(0) as base_url:
        for _ in range(arguments.rounds + 1):
            for name, way in ways.items():
                before = time.process_time()
                asyncio.run(way(base_url, arguments.cases))
                used[name].append((time.process_time() - before) / arguments.cases)
    for name, took in used.items():
        del took[0]  # the first requests of a process take longer
        print(
            f"{name}: {1e6 * statistics.median(took):,.0f} µs of processor a request "
            f"(least {1e6 * min(took):,.0f})"
        )
    ratios = [send / bare for send, bare in zip(used["send"], used["bare"], strict=True)]
    print(f"`send` to bare: median {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
