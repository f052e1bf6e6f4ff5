"""A transport for an `httpx` or `httpx2` client that captures requests and sends nothing itself.

Each answer takes two calls of the client library. The first call ends when its request is captured.
Then this program records and sends the request, and the second call receives the reply to it. So
only recorded requests are sent, and the library's own retries never send anything.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

_SENDER_HEADERS = frozenset(
    {
        *("accept", "accept-encoding", "connection", "content-length", "host", "keep-alive"),
        *("te", "trailer", "transfer-encoding", "upgrade", "user-agent"),
    }
)
"""Headers that depend on the sender, which sets them itself."""
_CODING_HEADERS = frozenset({"content-encoding", "content-length", "transfer-encoding"})
"""Headers that are wrong for a decompressed body."""


@dataclass(frozen=True, slots=True)
class SdkRequest:
    """A request as a client library built it."""

    method: str
    url: str
    headers: Mapping[str, str] = field(compare=False, repr=False)
    """Headers by lower-case name, without the headers that the sender sets."""
    body: bytes


@dataclass(frozen=True, slots=True)
class SdkReply:
    """A reply for a client library, with a decompressed body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class RequestCaptured(BaseException):
    """Ends a call after its request was captured. Not an `Exception`, lest a library retries."""


class UnexpectedRequest(BaseException):
    """A request other than the recorded one. Not an `Exception`, lest a library retries."""


@dataclass(slots=True)
class _LibraryCall:
    """One call of a client library."""

    recorded: SdkRequest | None = None
    reply: SdkReply | None = None
    made: SdkRequest | None = None


_CALL: ContextVar[_LibraryCall] = ContextVar("a call of a client library")


@contextmanager
def capture_request() -> Iterator[_LibraryCall]:
    """Calls inside the context raise `RequestCaptured` at the request, and send nothing.

    The request is then the attribute `made` of the yielded object.
    """
    yield from _with_call(_LibraryCall())


@contextmanager
def answering(recorded: SdkRequest, reply: SdkReply) -> Iterator[_LibraryCall]:
    """A call inside the context receives `reply` to the request `recorded`, and sends nothing.

    Other requests raise `UnexpectedRequest`.
    """
    yield from _with_call(_LibraryCall(recorded, reply))


def _with_call(call: _LibraryCall) -> Iterator[_LibraryCall]:
    token = _CALL.set(call)
    try:
        yield call
    finally:
        _CALL.reset(token)


class RecordingTransport:
    """The `transport` of an `httpx.Client`, an `httpx.AsyncClient`, or their like in `httpx2`."""

    def __enter__(self) -> RecordingTransport:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> RecordingTransport:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def handle_request(self, request: Any) -> Any:
        """Take a request from the library; return a response of the library's own class."""
        return _respond(request, request.read())

    async def handle_async_request(self, request: Any) -> Any:
        """`handle_request` for an asynchronous client."""
        return _respond(request, await request.aread())

    def close(self) -> None:
        """Do nothing: the transport holds no connection."""

    async def aclose(self) -> None:
        """Do nothing: the transport holds no connection."""


def _respond(request: Any, body: bytes) -> Any:
    headers = {
        name.lower(): value
        for name, value in request.headers.items()
        if name.lower() not in _SENDER_HEADERS
    }
    made = SdkRequest(request.method, str(request.url), headers, bytes(body))
    call = _CALL.get(None)
    if call is None:
        raise UnexpectedRequest("asks outside `ask`, or in another thread; nothing was sent")
    if call.reply is None:
        call.made = made
        raise RequestCaptured
    if call.made is not None:
        raise UnexpectedRequest("asks twice for one answer; the second request was not sent")
    call.made = made
    if made != call.recorded:
        raise UnexpectedRequest("makes another request each time, so none can be recorded")
    library = sys.modules[type(request).__module__.partition(".")[0]]
    reply_headers = [(k, v) for k, v in call.reply.headers.items() if k not in _CODING_HEADERS]
    return library.Response(
        call.reply.status, headers=reply_headers, content=call.reply.body, request=request
    )
