"""Anthropic's Messages API as it is on the wire, faults included: no such provider is here."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from base64 import b64decode
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

import orjson
from aiohttp import web

_ANSWER = re.compile(r"\[answer:([A-Za-z0-9+/=]*)\]")
_FAULT = re.compile(r"\[fault:(\w+)\]")
_ERRORS: dict[str, tuple[int, str, str]] = {
    "overloaded": (529, "overloaded_error", "Overloaded"),
    "rate": (429, "rate_limit_error", "This request would exceed your rate limit"),
    "key": (401, "authentication_error", "invalid x-api-key"),
    "model": (404, "not_found_error", "model: claude-nope"),
    "long": (413, "request_too_large", "Request exceeds the maximum size"),
    "asked": (400, "invalid_request_error", "max_tokens: too large"),
}
_CONTENT: dict[str, tuple[list[Any], str]] = {
    "cut": ([{"type": "text", "text": "half an"}], "max_tokens"),
    "declined": ([], "refusal"),
    "empty": ([], "end_turn"),
    "odd": ([{"type": "text"}], "end_turn"),
    "tool": (
        [
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {"q": "x"}},
        ],
        "tool_use",
    ),
}


class AnthropicServer:
    """Answers `You said: <the last message>`, or what stands in its `[answer:BASE64]`.

    Answers show the name of the model that was asked, and the `snapshot` after it.
    """

    def __init__(self, snapshot: str = "") -> None:
        self._snapshot = snapshot
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/messages", self._messages)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}/v1"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._runner.cleanup()

    async def _models(self, request: web.Request) -> web.Response:
        if request.headers.get("x-api-key") != "sk-ant":
            return _failed("key")
        return web.json_response({"data": [{"type": "model", "id": "claude-test"}]})

    async def _messages(self, request: web.Request) -> web.Response:
        body = orjson.loads(await request.read())
        self.requests.append(body)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        prompt = body["messages"][-1]["content"]
        fault = found[1] if (found := _FAULT.search(prompt)) else ""
        if fault in _ERRORS:
            return _failed(fault)
        said = _ANSWER.search(prompt)
        text = b64decode(said[1]).decode() if said else f"You said: {prompt}"
        content, reason = _CONTENT.get(fault, ([{"type": "text", "text": text}], "end_turn"))
        document = {
            "id": "msg_1", "type": "message", "role": "assistant",
            "model": body["model"] + self._snapshot,
            "content": content, "stop_reason": reason, "stop_sequence": None,
            "usage": {
                "input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 3,
                "cache_read_input_tokens": 2,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 1,
                },
            },
        }  # fmt: skip
        return web.json_response(document, headers={"request-id": "req_1"})


@contextlib.contextmanager
def in_background(server: AnthropicServer) -> Iterator[AnthropicServer]:
    """The server beside a program that has an event loop of its own, or none."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _failed(fault: str) -> web.Response:
    status, kind, message = _ERRORS[fault]
    headers = {"retry-after": "1"} if status == 429 else {}
    error = {"type": "error", "error": {"type": kind, "message": message}}
    return web.json_response(error, status=status, headers=headers)
