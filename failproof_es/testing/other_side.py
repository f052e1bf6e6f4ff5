"""Fake servers for tests of providers; the test sets their replies."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Protocol


class Fault(Enum):
    """A fault of a server in place of a good answer."""

    ERROR_OBJECT = auto()
    """Status 200 with an error object."""
    EMPTY = auto()
    """A reply without any choice or message."""
    WITHOUT_CONTENT = auto()
    """A message without content."""
    CUT_STREAM = auto()
    """A stream that ends before the reply does. Only for providers that stream."""
    RATE_LIMITED = auto()
    """Status 429 with `Retry-After: 7`."""
    UNAUTHORIZED = auto()
    """Status 401."""
    NOT_FOUND = auto()
    """Status 404."""
    SERVER_ERROR = auto()
    """Status 500; a provider without a server raises."""
    CUT = auto()
    """The connection ends without a reply."""
    SILENT = auto()
    """The server never replies."""
    WRONG_MODEL = auto()
    """A good answer that names the model `another`."""
    NOT_JSON = auto()
    """Status 200 with a truncated document; a provider without a server returns no text."""
    TOO_LARGE = auto()
    """An answer of 8 MiB of text."""
    WITHOUT_USAGE = auto()
    """A good answer without token counts."""


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request as it was received."""

    method: str
    path: str
    """The path with the query."""
    headers: dict[str, str]
    """The headers by lower-case name."""
    body: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP reply with its body in pieces, which are written one by one."""

    status: int
    pieces: Sequence[bytes]
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        """The whole body."""
        return b"".join(self.pieces)


class ProviderServer(Protocol):
    """A fake server for a provider, in this process.

    For one event loop. The test sets its replies.
    """

    requests: list[ReceivedRequest]
    """All requests for an answer so far, in order."""
    looked: int
    """The number of requests for the list of models."""
    sent: bytes
    """The body of the last reply."""
    offered: list[str]
    """The models in the server's list."""
    refuses_looks: bool
    """Whether the server replies 401 to a request for the list of models."""

    async def start(self) -> None:
        """Start the server."""

    async def stop(self) -> None:
        """Stop the server and close all connections."""

    def answer_with(self, text: str, fault: Fault | None = None) -> None:
        """Set the answer to all further requests: `text`, or a `fault` in its place."""

    def call_tool(self, name: str, arguments: dict[str, object]) -> None:
        """Set a call of this tool as the answer to all further requests."""


class WireFormat(ABC):
    """The wire format of a provider's server, as its vendor documents it."""

    @abstractmethod
    def answer(
        self,
        request: ReceivedRequest,
        text: str,
        *,
        model: str | None = None,
        usage: bool = True,
        call: tuple[str, dict[str, object]] | None = None,
    ) -> Reply:
        """A good answer, streamed in several pieces if the request asks for a stream.

        It names the requested model, or else `model`; it has 10 input and 5 output tokens, or no
        token counts without `usage`. `call` is a tool call, name and arguments, in place of the
        text.
        """

    @abstractmethod
    def error(self, status: int, message: str) -> Reply:
        """A reply with this status and an error object that holds the message."""

    @abstractmethod
    def listing(self, names: Sequence[str]) -> Reply:
        """A reply with the list of models."""

    def empty(self, request: ReceivedRequest) -> Reply:
        """A reply without any choice or message."""
        return Reply(200, [b"{}"])

    @abstractmethod
    def without_content(self, request: ReceivedRequest) -> Reply:
        """A reply whose message has no content."""

    def cut_stream(self, request: ReceivedRequest, text: str) -> Reply:
        """A stream that ends early: the first half of the pieces of a good answer."""
        whole = self.answer(request, text)
        return Reply(200, whole.pieces[: len(whole.pieces) // 2], whole.content_type)

    def is_listing_request(self, request: ReceivedRequest) -> bool:
        """Whether the request asks for the list of models."""
        return request.method == "GET"


class FakeServer:
    """A `ProviderServer` on loopback with the replies of a `WireFormat`, faults included."""

    def __init__(self, wire: WireFormat) -> None:
        self._wire = wire
        self._text = ""
        self._fault: Fault | None = None
        self._call: tuple[str, dict[str, object]] | None = None
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self.requests: list[ReceivedRequest] = []
        self.looked = 0
        self.sent = b""
        self.offered: list[str] = []
        self.refuses_looks = False
        self.url = ""
        """The server's URL without a path, after `start`."""

    def answer_with(self, text: str, fault: Fault | None = None) -> None:
        """Set the answer to all further requests: `text`, or a `fault` in its place."""
        self._text, self._fault, self._call = text, fault, None

    def call_tool(self, name: str, arguments: dict[str, object]) -> None:
        """Set a call of this tool as the answer to all further requests."""
        self._text, self._fault, self._call = "", None, (name, arguments)

    async def start(self) -> None:
        """Start the server on a free port, and set `url`."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """Stop the server and close all connections."""
        if self._server is not None:
            self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def reply(self, request: ReceivedRequest) -> Reply | None:
        """The reply to a request for an answer, as set by the test; `None` for no reply."""
        wire, text = self._wire, self._text
        match self._fault:
            case None:
                return wire.answer(request, text, call=self._call)
            case Fault.ERROR_OBJECT:
                return wire.error(200, "this can't be answered")
            case Fault.EMPTY:
                return wire.empty(request)
            case Fault.WITHOUT_CONTENT:
                return wire.without_content(request)
            case Fault.CUT_STREAM:
                return wire.cut_stream(request, text)
            case Fault.RATE_LIMITED:
                error = wire.error(429, "slow down")
                return Reply(429, error.pieces, error.content_type, {"retry-after": "7"})
            case Fault.UNAUTHORIZED:
                return wire.error(401, "who are you?")
            case Fault.NOT_FOUND:
                return wire.error(404, "there is no such model")
            case Fault.SERVER_ERROR:
                return wire.error(500, "it broke")
            case Fault.WRONG_MODEL:
                return wire.answer(request, text, model="another")
            case Fault.NOT_JSON:
                return Reply(200, [wire.answer(request, text).body[:20]])
            case Fault.TOO_LARGE:
                return wire.answer(request, "a" * 2**23)
            case Fault.WITHOUT_USAGE:
                return wire.answer(request, text, usage=False)
        return None

    # -- the server ------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client is gone, or `stop` was called
        finally:
            self._serving.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        request = await _read_request(reader)
        if self._wire.is_listing_request(request):
            self.looked += 1
            refused = self._wire.error(401, "who are you?")
            await _write(writer, refused if self.refuses_looks else self._listing())
            return True
        self.requests.append(request)
        reply = self.reply(request)
        if reply is None:
            if self._fault is Fault.SILENT:
                await asyncio.sleep(3600)
            return False
        self.sent = reply.body
        await _write(writer, reply)
        return True

    def _listing(self) -> Reply:
        return self._wire.listing(self.offered)


async def _read_request(reader: asyncio.StreamReader) -> ReceivedRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ")
    pairs = (line.partition(":") for line in head[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return ReceivedRequest(method, path, headers, body)


async def _write(writer: asyncio.StreamWriter, reply: Reply) -> None:
    head = {
        "content-type": reply.content_type,
        "transfer-encoding": "chunked",
        "connection": "keep-alive",
        **reply.headers,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    writer.write(f"HTTP/1.1 {reply.status} said\r\n{lines}\r\n".encode())
    for piece in filter(None, reply.pieces):
        writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        await writer.drain()
        await asyncio.sleep(0.001)  # otherwise the pieces arrive as one
    writer.write(b"0\r\n\r\n")
    await writer.drain()
