"""Stands in for the network of an `httpx` or `httpx2` client: it sends nothing itself.

A client library's call is made twice for one answer. The first time its request is taken, and the
call ends there. The second time the same request gets the reply that has come meanwhile. So
nothing is sent that was not recorded, and the library's own retries never send anything.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

_NOT_PASSED_ON = frozenset(
    {
        *("accept", "accept-encoding", "connection", "content-length", "host", "keep-alive"),
        *("te", "trailer", "transfer-encoding", "upgrade", "user-agent"),
    }
)
"""Headers that say how a request is sent. Whoever sends it sets them."""
_UNPACKED = frozenset({"content-encoding", "content-length", "transfer-encoding"})
"""Headers that do not hold for a body that was unpacked."""


@dataclass(frozen=True, slots=True)
class SdkRequest:
    """A request as a client library made it."""

    method: str
    url: str
    headers: Mapping[str, str] = field(compare=False, repr=False)
    """By lower-case name, without those that say how it is sent."""
    body: bytes


@dataclass(frozen=True, slots=True)
class SdkReply:
    """A reply to give to a client library, its body unpacked."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class RequestCaptured(BaseException):
    """Ends a call after its request was taken. No `Exception`, so that no library retries."""


class UnexpectedRequest(BaseException):
    """A request that is not the one which was recorded. No `Exception`, for the same reason."""


@dataclass(slots=True)
class _LibraryCall:
    """One call of a client library."""

    recorded: SdkRequest | None = None
    reply: SdkReply | None = None
    made: SdkRequest | None = None


_CALL: ContextVar[_LibraryCall] = ContextVar("a call of a client library")


@contextmanager
def capture_request() -> Iterator[_LibraryCall]:
    """Calls inside end with `RequestCaptured` where they would send; `made` is the request."""
    yield from _during(_LibraryCall())


@contextmanager
def answering(recorded: SdkRequest, reply: SdkReply) -> Iterator[_LibraryCall]:
    """A call inside gets this reply to this request. Any other ends with `UnexpectedRequest`."""
    yield from _during(_LibraryCall(recorded, reply))


def _during(call: _LibraryCall) -> Iterator[_LibraryCall]:
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
        """What the library calls to send a request. Returns its own kind of response."""
        return _answered(request, request.read())

    async def handle_async_request(self, request: Any) -> Any:
        """The same for an asynchronous client."""
        return _answered(request, await request.aread())

    def close(self) -> None:
        """There is nothing to close."""

    async def aclose(self) -> None:
        """There is nothing to close."""


def _answered(request: Any, body: bytes) -> Any:
    headers = {
        name.lower(): value
        for name, value in request.headers.items()
        if name.lower() not in _NOT_PASSED_ON
    }
    made = SdkRequest(request.method, str(request.url), headers, bytes(body))
    call = _CALL.get(None)
    if call is None:
        raise UnexpectedRequest("it asks outside `ask`, or in another thread; nothing was sent")
    if call.reply is None:
        call.made = made
        raise RequestCaptured
    if call.made is not None:
        raise UnexpectedRequest("it asks twice for one answer; the second request was not sent")
    call.made = made
    if made != call.recorded:
        raise UnexpectedRequest("it makes another request each time, so none can be recorded")
    library = sys.modules[type(request).__module__.partition(".")[0]]
    reply_headers = [(k, v) for k, v in call.reply.headers.items() if k not in _UNPACKED]
    return library.Response(
        call.reply.status, headers=reply_headers, content=call.reply.body, request=request
    )
