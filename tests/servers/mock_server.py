"""An OpenAI-compatible server that answers deterministically and misbehaves on command.

`python -m tests.servers.mock_server --latency-ms 50` prints its URL on its first line. What it was
asked is counted by prompt: GET /asked; GET /load has when each request came, and how many were
answered at once; POST /hurry lets it answer at once, what waits too. A prompt that holds
`[fault:NAME]` gets that fault, `[fault:NAME*N]` for its first N requests only. One that holds
`[answer:BASE64]` is answered with that text; of several, `[answer:BASE64,BASE64]`, each time with
the next one. `[error:BASE64]` is refused with that message.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import re
import time
from base64 import b64decode
from collections import Counter
from typing import Any

import orjson
from aiohttp import web

LISTED = (
    "mock", "mock-b", "mock-large", "mock-two", "mock-latest", "gpt-4o", "claude-sonnet-4.5",
    "free", "held", "one", "two", "priced", "unpriced",
)  # fmt: skip
"""The models that it has by its own list: it answers under any name."""
_FAULT = re.compile(r"\[fault:(\w+)(?:\*(\d+))?\]")
_ANSWER = re.compile(r"\[answer:([A-Za-z0-9+/=,]*)\]")
_ERROR = re.compile(r"\[error:([A-Za-z0-9+/=]*)\]")
_BODIES: dict[str, tuple[int, bytes]] = {
    "http500": (500, b'{"error": {"message": "it broke"}}'),
    "http503": (503, b"<html>down</html>"),
    "http400": (400, b'{"error": {"message": "bad parameter"}}'),
    "http401": (401, b'{"error": {"message": "wrong key"}}'),
    "http404": (404, b'{"error": {"message": "no such model"}}'),
    "error200": (200, b'{"error": {"message": "odd input", "type": "invalid"}}'),
    "overloaded200": (200, b'{"error": {"message": "overloaded_error"}}'),
    "nochoices": (200, b'{"choices": []}'),
    "nullcontent": (200, b'{"choices": [{"message": {"content": null}}]}'),
    "nocontent": (200, b'{"choices": [{"message": {}}]}'),
    "notjson": (200, b'{"choices": [{"mess'),
    "notutf8": (200, b'\xff\xfe{"choices"'),
    "emptybody": (200, b""),
}


class MockServer:
    """Answers `You said: <the last message>` after `latency_s`."""

    def __init__(self, latency_s: float = 0.0) -> None:
        self.latency_s = latency_s
        self.hurried = asyncio.Event()
        self.asked: Counter[str] = Counter()
        self.authorizations: Counter[str] = Counter()
        self.in_flight = 0
        self.most_in_flight = 0
        self.came: list[float] = []
        self.url = ""
        self._runner: web.AppRunner | None = None

    async def start(self, port: int = 0, host: str = "127.0.0.1") -> str:
        """Listen there, by default on loopback; returns the base URL."""
        app = web.Application(client_max_size=64_000_000)
        self.routes(app)
        self._runner = web.AppRunner(
            app, access_log=None, handle_signals=False, shutdown_timeout=0.1
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port, backlog=2048)
        await site.start()
        host, bound = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{bound}/v1"
        return self.url

    def routes(self, app: web.Application) -> None:
        """What is served."""
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/asked", self._asked)
        app.router.add_get("/load", self._load)
        app.router.add_post("/hurry", self._hurry)

    async def stop(self) -> None:
        """Close every connection."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _models(self, request: web.Request) -> web.Response:
        if request.headers.get("authorization") == "Bearer wrong":
            return _reply(401, b'{"error": {"message": "wrong key"}}')
        return _reply(200, orjson.dumps({"data": [{"id": name} for name in LISTED]}))

    async def _asked(self, request: web.Request) -> web.Response:
        return _reply(200, orjson.dumps(self.asked))

    async def _hurry(self, request: web.Request) -> web.Response:
        self.latency_s = 0.0
        self.hurried.set()
        return web.Response()

    async def _load(self, request: web.Request) -> web.Response:
        return _reply(200, orjson.dumps({"most": self.most_in_flight, "came": self.came}))

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body: dict[str, Any] = orjson.loads(await request.read())
        prompt: str = body["messages"][-1]["content"]
        self.asked[prompt] += 1
        self.came.append(time.monotonic())
        self.authorizations[request.headers.get("authorization", "")] += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            if self.latency_s:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.hurried.wait(), self.latency_s)
            fault = _FAULT.search(prompt)
            if fault and self.asked[prompt] <= int(fault[2] or 1_000_000):
                return await self._misbehave(fault[1], request)
            if refused := _ERROR.search(prompt):
                return _reply(400, orjson.dumps({"error": {"message": _text(refused[1])}}))
            if answer := _ANSWER.search(prompt):
                texts = answer[1].split(",")
                chosen = texts[min(self.asked[prompt], len(texts)) - 1]
                return _answer(body["model"], _text(chosen))
            return _answer(body["model"], f"You said: {prompt}")
        finally:
            self.in_flight -= 1

    async def _misbehave(self, fault: str, request: web.Request) -> web.StreamResponse:
        if fault in _BODIES:
            return _reply(*_BODIES[fault])
        if fault == "http429":
            return _reply(429, b'{"error": {"message": "slow down"}}', {"Retry-After": "1"})
        if fault == "http429for5s":
            return _reply(429, b'{"error": {"message": "slow down"}}', {"Retry-After": "5"})
        if fault.startswith("busy"):
            status = int(fault.removeprefix("busy"))
            when = {"Retry-After": "0.2"} if status == 503 else None
            return _reply(status, b'{"error": {"message": "come back later"}}', when)
        if fault == "nextweek":
            return _reply(429, b'{"error": {"message": "quota"}}', {"Retry-After": "604800"})
        if fault == "length":
            return _answer("mock", "You said: cut", finish_reason="length")
        if fault == "othermodel":
            return _answer("mock-mini", "hello")
        if fault == "snapshot":
            return _answer("mock-2026-11-21", "hello")
        if fault == "echokey":
            key = request.headers.get("authorization", "")
            return _reply(400, orjson.dumps({"error": {"message": f"key {key} is bad"}}))
        if fault == "repeatkey":
            return _answer("mock", request.headers.get("authorization", ""))
        if fault == "silent":
            await asyncio.sleep(3600)
        assert request.transport is not None
        request.transport.abort()  # "reset"
        return web.Response()


def _text(encoded: str) -> str:
    return b64decode(encoded).decode()


def _answer(model: str, text: str, finish_reason: str = "stop") -> web.Response:
    return _reply(
        200,
        orjson.dumps(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1,
                "model": model,
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": text},
                        "finish_reason": finish_reason,
                    }
                ],
                "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
            }
        ),
    )


def _reply(status: int, body: bytes, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(status=status, body=body, content_type="application/json", headers=headers)


async def _serve(port: int, latency_s: float, host: str) -> None:
    print(await MockServer(latency_s).start(port, host), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--host", default="127.0.0.1")
    arguments = parser.parse_args()
    asyncio.run(_serve(arguments.port, arguments.latency_ms / 1000, arguments.host))
