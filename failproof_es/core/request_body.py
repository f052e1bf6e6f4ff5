"""Shortens the body of a request to what it adds to an earlier one, and rebuilds it. Pure.

Every turn of a conversation sends all earlier turns again. A long body is recorded as the part
that is new, between the beginning and the end of the body of an earlier request of the same
evaluation (`Continuation`). So the recorded bytes grow linearly with the text, not quadratically.
A rebuilt body is never longer than the recorded bytes of it and of the bodies before it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

from failproof_es.events import Continuation, Event, Purpose, RequestSent

LEAST_BYTES = 4_096
"""Bodies of up to this many bytes are recorded whole: a continuation would save little."""
LEAST_SHARE = 0.5
"""A body is recorded whole unless more than this share of it is part of the earlier body."""


class SentBody(NamedTuple):
    """The whole body of a recorded request, rebuilt if only a part of it was recorded."""

    version: int
    """The version of its event."""
    sha256: str
    """The recorded digest, in hexadecimal."""
    body: bytes
    problem: str | None
    """Why the body is not the one that was sent, because the record was changed; else `None`."""

    @property
    def text(self) -> str:
        """The body as text. Invalid UTF-8, possible in a changed record, is replaced."""
        return self.body.decode("utf-8", errors="replace")


class RequestBodies:
    """The bodies of the requests of one evaluation, taken in the order of their events.

    Holds the last whole body of each purpose, the only one that can be continued.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._last: dict[Purpose, SentBody] = {}
        for event in events:
            if isinstance(event, RequestSent):
                self.rebuild(event)

    def fields(self, purpose: Purpose, body: bytes) -> dict[str, Any]:
        """The fields of `RequestSent` for a body that is about to be sent for this purpose.

        Raises `UnicodeDecodeError` if the body is not UTF-8.
        """
        return shortened_body(body, self._last.get(purpose))

    def add(self, request: RequestSent, body: bytes) -> None:
        """Keep the body of a request recorded with `fields`: the next one can continue it."""
        sent = SentBody(request.originator_version, request.body_sha256, body, None)
        self._last[request.purpose] = sent

    def rebuild(self, request: RequestSent) -> SentBody:
        """The whole body of a recorded request.

        Requests must be passed in the order of their events.
        """
        sent = rebuilt_body(request, self._last.get(request.purpose))
        self._last[request.purpose] = sent
        return sent


def shortened_body(body: bytes, earlier: SentBody | None) -> dict[str, Any]:
    """The fields of `RequestSent` for this body.

    The body is recorded as a continuation of `earlier`, the last body of the same purpose, if that
    makes the event clearly smaller. A body with a NUL is always whole: PostgreSQL's text cannot
    hold NUL, and auditors rebuild bodies there. Raises `UnicodeDecodeError` if the body is not
    UTF-8.
    """
    text = body.decode("utf-8")
    fields = {"body": text, "body_sha256": hashlib.sha256(body).hexdigest()}
    if earlier is None or earlier.problem is not None or len(body) <= LEAST_BYTES:
        return fields
    prefix, suffix = _shared_lengths(body, earlier.body)
    if prefix + suffix <= LEAST_SHARE * len(body) or 0 in body or 0 in earlier.body:
        return fields
    continues = Continuation(
        version=earlier.version, sha256=earlier.sha256, prefix=prefix, suffix=suffix
    )
    added = body[prefix : len(body) - suffix].decode("utf-8")
    return {**fields, "body": added, "continues": continues}


def rebuilt_body(request: RequestSent, earlier: SentBody | None) -> SentBody:
    """The whole body of a request. `earlier` is the body of the last request with its purpose.

    `problem` is set if the body does not match the recorded digest. A continuation that cannot be
    of `earlier` is not followed: the body is then only the part in the event itself.
    """
    body = request.body.encode("utf-8", errors="surrogatepass")
    problem = None
    if (continues := request.continues) is not None:
        problem = _find_problem(continues, earlier)
        if problem is None and earlier is not None:
            end = len(earlier.body) - continues.suffix
            body = b"".join((earlier.body[: continues.prefix], body, earlier.body[end:]))
    if problem is None and hashlib.sha256(body).hexdigest() != request.body_sha256:
        problem = "a request's body is not what its digest says"
    return SentBody(request.originator_version, request.body_sha256, body, problem)


def _find_problem(continues: Continuation, earlier: SentBody | None) -> str | None:
    """Why this continuation of the earlier body is impossible; else `None`."""
    if earlier is None or continues.version != earlier.version:
        return f"a request continues event {continues.version}, which is not the request before it"
    if continues.sha256 != earlier.sha256:
        return f"a request continues another body than that of event {earlier.version}"
    if min(continues.prefix, continues.suffix) < 0:
        return f"a request takes less than nothing of the body of event {earlier.version}"
    if continues.prefix + continues.suffix > len(earlier.body):
        return f"a request takes more of the body of event {earlier.version} than there is"
    return None


def _shared_lengths(body: bytes, earlier: bytes) -> tuple[int, int]:
    """The lengths in bytes of the common prefix and, after that, of the common suffix.

    Both are at boundaries of characters of `body`.
    """
    most = min(len(body), len(earlier))
    prefix = _prefix_length(memoryview(body)[:most], memoryview(earlier)[:most])
    while 0 < prefix < len(body) and _is_inside(body[prefix]):
        prefix -= 1
    rest = most - prefix
    first, other = len(body) - rest, len(earlier) - rest
    suffix = rest - _suffix_start(memoryview(body)[first:], memoryview(earlier)[other:])
    while suffix and _is_inside(body[len(body) - suffix]):
        suffix -= 1
    return prefix, suffix


def _is_inside(byte: int) -> bool:
    """Whether this is a continuation byte of UTF-8."""
    return byte & 0xC0 == 0x80


def _prefix_length(body: memoryview, earlier: memoryview) -> int:
    """The length of the common prefix of two byte strings of the same length."""
    low, high = 0, len(body)
    while low < high:  # comparing slices is far faster than a loop over single bytes
        middle = (low + high + 1) // 2
        if body[low:middle] == earlier[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _suffix_start(body: memoryview, earlier: memoryview) -> int:
    """The index at which the common suffix of two byte strings of the same length begins."""
    low, high = 0, len(body)
    while low < high:
        middle = (low + high) // 2
        if body[middle:high] == earlier[middle:high]:
            high = middle
        else:
            low = middle + 1
    return high
