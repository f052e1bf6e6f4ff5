"""The mock, with replies of any length, streamed or not, and a count of all bytes.

`python -m tests.benchmarks.reach.server --latency-ms 0` prints its URL. The model `bytes-N`
answers with a text of N bytes; any other as the mock does. `GET /counted` tells requests, bytes of
their bodies and of the replies', and when the first came (`time.time()`). `POST /counted` begins
anew; with `?hold_after=N` all requests after the first N wait for their replies until it does so
again.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from functools import lru_cache
from typing import Any

import httpx
import orjson
from aiohttp import web

from tests.servers.mock_server import MockServer, _answer

TEXT = (
    "The river rises in the hills and turns east where the road crosses it. "
    "In spring it carries snow water, and in autumn it is low enough to walk through. "
)
PIECE = 64
"""So many characters come with one event of a stream."""


class CountingServer(MockServer):
    """See the module."""

    def __init__(self, latency_s: float = 0.0) -> None:
        super().__init__(latency_s)
        self._anew_event = asyncio.Event()
        self._begin()

    def _begin(self) -> None:
        self.requests = self.request_bytes = self.reply_bytes = 0
        self.first_at: float | None = None
        self.hold_after: int | None = None

    def routes(self, app: web.Application) -> None:
        """What is served."""
        super().routes(app)
        app.router.add_get("/counted", self._tell)
        app.router.add_post("/counted", self._anew)

    async def _tell(self, request: web.Request) -> web.Response:
        counted = {
            "requests": self.requests, "request_bytes": self.request_bytes,
            "reply_bytes": self.reply_bytes, "first_at": self.first_at,
        }  # fmt: skip
        return web.Response(body=orjson.dumps(counted), content_type="application/json")

    async def _anew(self, request: web.Request) -> web.Response:
        self._begin()
        self._anew_event.set()
        self._anew_event = asyncio.Event()
        hold = request.query.get("hold_after")
        self.hold_after = int(hold) if hold else None
        return web.Response(status=204)

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        if self.first_at is None:
            self.first_at = time.time()
        self.requests += 1
        self.request_bytes += len(raw)
        body: dict[str, Any] = orjson.loads(raw)
        if self.hold_after is not None and self.requests > self.hold_after:
            await self._anew_event.wait()
        if self.latency_s:
            await asyncio.sleep(self.latency_s)
        model = str(body["model"])
        if not model.startswith("bytes-"):
            reply = _answer(model, f"You said: {body['messages'][-1]['content']}")
            assert isinstance(reply.body, bytes)
            self.reply_bytes += len(reply.body)
            return reply
        if body.get("stream"):
            return await self._streamed(request, streamed(model))
        self.reply_bytes += len(whole(model))
        return web.Response(body=whole(model), content_type="application/json")

    async def _streamed(self, request: web.Request, body: bytes) -> web.StreamResponse:
        reply = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await reply.prepare(request)
        self.reply_bytes += len(body)
        for begin in range(0, len(body), 2**14):
            await reply.write(body[begin : begin + 2**14])
        await reply.write_eof()
        return reply


@lru_cache
def whole(model: str) -> bytes:
    """The reply of the model `bytes-N`, in one piece."""
    body = _answer(model, _text(model)).body
    assert isinstance(body, bytes)
    return body


@lru_cache
def streamed(model: str) -> bytes:
    """The same as server-sent events."""
    text = _text(model)

    def event(delta: dict[str, str], reason: str | None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": model}
        return b"data: " + orjson.dumps({**chunk, "choices": [choice]}) + b"\n\n"

    pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
    events = [event({"content": piece}, None) for piece in pieces]
    return b"".join([*events, event({}, "stop"), b"data: [DONE]\n\n"])


def _text(model: str) -> str:
    size = int(model.removeprefix("bytes-"))
    return (TEXT * (size // len(TEXT) + 1))[:size]


def counted(base_url: str) -> dict[str, Any]:
    """What the server at `base_url` has counted."""
    with httpx.Client() as client:
        found: dict[str, Any] = client.get(base_url.removesuffix("/v1") + "/counted").json()
    return found


def count_anew(base_url: str, hold_after: int | None = None) -> None:
    """Have it begin again; hold back the replies after so many requests."""
    query = {} if hold_after is None else {"hold_after": hold_after}
    with httpx.Client() as client:
        client.post(base_url.removesuffix("/v1") + "/counted", params=query)


async def _serve(latency_s: float) -> None:
    print(await CountingServer(latency_s).start(), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency-ms", type=float, default=0.0)
    asyncio.run(_serve(parser.parse_args().latency_ms / 1000))
