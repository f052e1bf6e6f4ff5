"""The mock with the faults of a bad day, decided by who asks what for which time.

Of a hundred requests two get HTTP 500, two a 429 with `Retry-After: 1`, one is cut off; of two
hundred one gets a body that is no answer, one nothing at all. When `OUTAGE_AFTER` requests have
come, everything is 503 for five seconds, with a `Retry-After` of what is left of them.
GET /arrivals tells every request: when it came, by the server's clock, and what it got.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import math
import time
from collections import Counter
from typing import Any

import orjson
from aiohttp import web

from tests.servers.mock_server import MockServer

OUTAGE_AFTER = 200
OUTAGE_S = 5.0
_PER_MILLE = (
    ("http500", 20),
    ("http429", 20),
    ("reset", 10),
    ("notjson", 5),
    ("silent", 5),
)


class FaultMixServer(MockServer):
    """Everything it does is the same for the same requests, in whatever order they come."""

    def __init__(self, latency_s: float) -> None:
        super().__init__(latency_s)
        self._arrivals: list[dict[str, Any]] = []
        self._times: Counter[tuple[str, str]] = Counter()
        self._outage_ends: float | None = None

    def routes(self, app: web.Application) -> None:
        """Those of the mock, and what came."""
        super().routes(app)
        app.router.add_get("/arrivals", self._list_arrivals)

    async def _list_arrivals(self, request: web.Request) -> web.Response:
        return web.json_response(self._arrivals)

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        now = time.monotonic()
        body: dict[str, Any] = orjson.loads(await request.read())
        model, prompt = body["model"], body["messages"][-1]["content"]
        self._times[model, prompt] += 1
        arrival = {"at": now, "model": model, "prompt": prompt, "got": "answer", "retry_after": 0}
        self._arrivals.append(arrival)
        if self._outage_ends is None and len(self._arrivals) > OUTAGE_AFTER:
            self._outage_ends = now + OUTAGE_S
        left_s = (self._outage_ends or 0) - now
        if left_s > 0:
            arrival |= {"got": "outage", "retry_after": math.ceil(left_s)}
            headers = {"Retry-After": str(arrival["retry_after"])}
            return web.Response(status=503, text="down", headers=headers)
        fault = fault_of(model, prompt, self._times[model, prompt])
        if fault is None:
            return await super()._complete(request)
        arrival |= {"got": fault, "retry_after": 1 if fault == "http429" else 0}
        return await self._misbehave(fault, request)


def fault_of(model: str, prompt: str, time_asked: int) -> str | None:
    """What meets the n-th time that this model is asked this prompt."""
    drawn = hashlib.sha256(f"{model}\n{prompt}\n{time_asked}".encode()).digest()
    number = int.from_bytes(drawn[:8], "big") % 1_000
    for fault, per_mille in _PER_MILLE:
        if number < per_mille:
            return fault
        number -= per_mille
    return None


async def _serve(latency_s: float) -> None:
    print(await FaultMixServer(latency_s).start(), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency-ms", type=float, default=0.0)
    asyncio.run(_serve(parser.parse_args().latency_ms / 1000))
