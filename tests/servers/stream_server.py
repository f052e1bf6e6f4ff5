"""A server that streams completions, well or in one of many broken ways, byte for byte."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import orjson

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(content: str | None = None, reason: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": reason}
    return event({"id": "c1", "model": "mock", "choices": [choice], **more})


def event(document: Any) -> bytes:
    return b"data: " + orjson.dumps(document) + b"\n\n"


DONE = b"data: [DONE]\n\n"
USAGE = event(
    {"model": "mock", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
)
SPOKEN = chunk("Hello, ") + chunk("wörld")
END = chunk(None, "stop")


def framed(body: bytes, size: int = 7) -> bytes:
    """The body in HTTP chunks that end in the middle of lines and of characters."""
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)


LAST = b"0\r\n\r\n"


class StreamServer:
    """Answers each request with the bytes that `script` yields; `None` waits for ever."""

    def __init__(self, script: Callable[[], AsyncIterator[bytes | None]]) -> None:
        self._script = script
        self.requests: list[dict[str, Any]] = []
        self.url = ""
        self._serving: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> StreamServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for serving in self._serving:
            serving.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (task := asyncio.current_task()) is not None:
            self._serving.add(task)
        with contextlib.closing(writer), contextlib.suppress(ConnectionError):
            await self._answer(reader, writer)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.partition(b":")[2])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length:")
        )
        self.requests.append(orjson.loads(await reader.readexactly(length)))
        async for piece in self._script():
            if piece is None:
                await asyncio.sleep(30)
            else:
                writer.write(piece)
                await writer.drain()


def at_once(*pieces: bytes) -> Callable[[], AsyncIterator[bytes | None]]:
    """A script that writes these pieces, one after the other."""

    async def script() -> AsyncIterator[bytes | None]:
        for piece in pieces:
            yield piece
            await asyncio.sleep(0)

    return script
