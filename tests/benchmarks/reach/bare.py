"""The bare loop that everything is compared with: the same requests, nothing recorded.

`httpx.AsyncClient` on the aiohttp transport, with everything off that the engine's client has
had off: cookies, redirects, the environment, unpacking. Nothing of the engine is imported, so it
stays as it is whatever the engine does.

`python -m tests.benchmarks.reach.bare URL [--cases N] [--connections N] [--model M] [--stream]`
prints seconds on the clock and of the processor, as JSON, of the loop alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path

import aiohttp
import httpx
import orjson
from httpx_aiohttp import AiohttpTransport

ROOT = Path(__file__).parents[3]
CONNECTIONS = 100
TIMEOUT_S = 30.0
PROMPT = "Say {n}. " + "Answer in one short sentence, and add nothing to it. " * 11
"""600 bytes of a case."""


def _client(connections: int) -> httpx.AsyncClient:
    transport = AiohttpTransport(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))

    def session() -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(limit=connections, keepalive_timeout=5.0)
        return aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
        )

    transport.client = session
    return httpx.AsyncClient(
        transport=transport,
        timeout=httpx.Timeout(TIMEOUT_S),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        headers={"accept-encoding": "gzip, deflate"},
        follow_redirects=False,
        trust_env=False,
    )


async def _ask(client: httpx.AsyncClient, url: str, model: str, stream: bool, n: int) -> None:
    """One request and its whole reply, read for its text."""
    body = {
        "model": model,
        "messages": [{"role": "user", "content": PROMPT.replace("{n}", f"number {n}")}],
        "max_tokens": 1000,
        "temperature": 0.0,
        **({"stream": True} if stream else {}),
    }
    content = orjson.dumps(body)
    headers = {"content-type": "application/json", "content-length": str(len(content))}
    received = bytearray()
    async with (
        asyncio.timeout(TIMEOUT_S),
        client.stream("POST", url, content=content, headers=headers) as reply,
    ):
        async for piece in reply.aiter_raw():
            received += piece
    assert reply.status_code == 200
    assert text_of(bytes(received), stream=stream)


def text_of(body: bytes, *, stream: bool) -> str:
    """The text of a reply."""
    if not stream:
        return str(orjson.loads(body)["choices"][0]["message"]["content"])
    pieces = [
        orjson.loads(line[6:])["choices"][0]["delta"].get("content", "")
        for line in body.split(b"\n\n")
        if line.startswith(b"data: {")
    ]
    return "".join(pieces)


async def loop(
    base_url: str, cases: int, connections: int, model: str, *, stream: bool
) -> tuple[float, float]:
    """Seconds on the clock, and of this process's processor time."""
    url = f"{base_url}/chat/completions"
    numbers: Iterator[int] = iter(range(cases))
    async with _client(connections) as client:

        async def work() -> None:
            for n in numbers:
                await _ask(client, url, model, stream, n)

        began, used = time.perf_counter(), time.process_time()
        await asyncio.gather(*(work() for _ in range(connections)))
        return time.perf_counter() - began, time.process_time() - used


@dataclass(frozen=True)
class Bare:
    """What the loop took."""

    cases: int
    wall_s: float
    cpu_s: float

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.cases / self.wall_s


def measure_bare(
    base_url: str, cases: int, connections: int = CONNECTIONS, model: str = "mock", *,
    stream: bool = False,
) -> Bare:  # fmt: skip
    """The loop in a process of its own."""
    command = [
        sys.executable, "-m", "tests.benchmarks.reach.bare", base_url, "--cases", str(cases),
        "--connections", str(connections), "--model", model, *(["--stream"] if stream else []),
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    wall_s, cpu_s = json.loads(done.stdout)
    return Bare(cases, wall_s, cpu_s)


def main() -> None:
    """Print what the loop takes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    parser.add_argument("--model", default="mock")
    parser.add_argument("--stream", action="store_true")
    options = parser.parse_args()
    taken = loop(
        options.url, options.cases, options.connections, options.model, stream=options.stream
    )
    print(json.dumps(asyncio.run(taken)))


if __name__ == "__main__":
    main()
