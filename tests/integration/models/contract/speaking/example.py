"""An example of a reply, with all that must be read of it, and the server that gives it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import orjson

from failproof_es.events import Disposition, TokenPrices, ToolCall, Usage
from failproof_es.testing.other_side import FakeServer, Fault, ReceivedRequest, Reply, WireFormat
from tests.integration.models.contract.wires import OpenAIWire

TOOL = "search"
"""The tool that every request for a tool call offers."""
NONE: Mapping[str, str] = {}
UNCOUNTED = Usage()
NOISE = b': keep-alive\n\nevent: future\nid: 7\ndata: {"type": "future.event", "future": {}}\n\n'
RATE = TokenPrices(
    input=Decimal(2), cached_input=Decimal("0.2"), cache_write=Decimal("2.5"),
    cache_write_1h=Decimal(4), output=Decimal(10),
)  # fmt: skip
"""In dollars for a million tokens."""
TOLD_APART = (
    *("answer", "stream", "tool_call", "tool_call_stream", "cut_off", "refused", "blocked"),
    *("rate_limited", "overloaded", "server_error", "context_length", "wrong_key"),
    *("no_such_model", "empty", "error_in_stream"),
)
"""The examples that every provider has, or says in `Speaks.unable` why it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A reply, and the answer or the error that has to come of it."""

    reply: Reply
    stream: bool = False
    """Whether it is the reply to a request for a stream."""

    text: str = ""
    finish_reason: str | None = "stop"
    refusal: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    model: str | None = None
    request_id: str | None = None
    usage: Usage = UNCOUNTED

    kind: str | None = None
    """Of the error; `None` where it is an answer."""
    disposition: Disposition = "transient"
    retry_after_s: float | None = None
    says: str = ""
    """What the error's message holds."""

    recorded: Mapping[str, str] = field(default_factory=dict)
    """Headers that must be on record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaks:
    """A provider, how its server is asked, and what that may say."""

    provider: str
    reference: str
    """The public page that the examples are made from."""
    entry: Mapping[str, Any]
    """Of `models:`, without `provider`, `base_url` and `api_key_env`."""
    path: str = ""
    """Of the base URL."""
    asked_at: str = ""
    """The path and the query of a request for an answer."""
    streamed_at: str | None = None
    """The same for a stream, where it is another one."""
    key: tuple[str, str] = ("authorization", "Bearer ")
    """The header that holds the key, and what stands before it."""
    examples: Mapping[str, Example]
    ends: Mapping[str, str]
    """Every finish reason of the vendor, and how it is read. `!KIND` is an error of that kind."""
    costs: float
    """What the answer of the examples costs at `RATE`, in millionths of a dollar: counted by hand,
    as the vendor says that it counts."""
    ended: Callable[[str], Reply]
    """A reply with some text that ended for this reason."""
    noise: bytes = NOISE
    """What may stand between the events of a stream: comments, and an event of a later version."""
    unable: Mapping[str, str] = field(default_factory=dict)
    """Why an example of `TOLD_APART` can't be: the vendor documents none."""

    wire: type[WireFormat] = OpenAIWire
    """How its server writes what the contract of providers asks."""
    lists_models: bool = True
    """See `ProviderContract`, as `without`, which is its `unable`."""
    without: Collection[Fault] = ()


def document(status: int, said: Any, **headers: str) -> Reply:
    """A reply of JSON. An underscore in the name of a header is a dash."""
    return Reply(status, [orjson.dumps(said)], headers=dashed(headers))


def events(
    *said: Any, headers: Mapping[str, str] = NONE, named: bool = False, done: bool = False
) -> Reply:
    """Server-sent events; `named`: each after the name of its `type`."""
    pieces = []
    for each in said:
        name = f"event: {each['type']}\n".encode() if named else b""
        pieces.append(name + b"data: " + orjson.dumps(each) + b"\n\n")
    if done:
        pieces.append(b"data: [DONE]\n\n")
    return Reply(200, pieces, "text/event-stream; charset=utf-8", dashed(headers))


def dashed(headers: Mapping[str, str]) -> dict[str, str]:
    """Names of headers, from names of arguments."""
    return {name.replace("_", "-"): value for name, value in headers.items()}


def call(name: str, arguments: Any, id: str | None = None) -> ToolCall:
    """A call, its arguments as a provider writes them that gives an object."""
    return ToolCall(id=id, name=name, arguments=orjson.dumps(arguments).decode())


class ExampleServer(FakeServer):
    """Gives one reply to everything, and keeps what it was asked."""

    def __init__(self, reply: Reply, *, cut: bool = False) -> None:
        """`cut`: the connection ends where the body should go on."""
        super().__init__(OpenAIWire())
        self._always = reply
        self._cut = cut

    async def __aenter__(self) -> ExampleServer:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def reply(self, request: ReceivedRequest) -> Reply:
        """See `FakeServer`."""
        return self._always

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if not self._cut:
            return await super()._exchange(reader, writer)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.partition(b":")[2])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length:")
        )
        await reader.readexactly(length)
        self.requests.append(ReceivedRequest("POST", "", {}, b""))
        self.sent = self._always.body
        said = f"content-type: {self._always.content_type}\r\ncontent-length: {len(self.sent) + 9}"
        writer.write(f"HTTP/1.1 200 OK\r\n{said}\r\n\r\n".encode() + self.sent)
        with contextlib.suppress(ConnectionError):
            await writer.drain()
        return False


def cuts(body: bytes, most: int = 400) -> Sequence[int]:
    """Places to cut a body at: every one, or many of a long one."""
    return range(0, len(body), max(1, len(body) // most))
