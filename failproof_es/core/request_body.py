"""Shortens the body of a request to what it adds to an earlier one, and rebuilds it. Pure.

Every turn of a conversation sends all earlier turns again. A long body is recorded as the part
that is new, between the beginning and the end of the body of an earlier request of the same
evaluation (`Continuation`). So the bytes on record grow as the text does, and not as its square.
A body is never longer than the bytes that were recorded of it and of the ones before it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

from failproof_es.events import Continuation, Event, Purpose, RequestSent

LEAST_BYTES = 4_096
"""A body of at most so many bytes is recorded whole: naming another one would save little."""
LEAST_SHARE = 0.5
"""A body is recorded whole unless more than this share of it stands in the earlier one."""


class SentBody(NamedTuple):
    """The whole body of a recorded request."""

    version: int
    """Of its event."""
    sha256: str
    """As it is recorded, in hexadecimal."""
    body: bytes
    problem: str | None
    """Why this is not what was sent: the record was changed."""

    @property
    def text(self) -> str:
        """The body as text. What a changed record made invalid is replaced."""
        return self.body.decode("utf-8", errors="replace")


class RequestBodies:
    """The bodies of the requests of one evaluation, taken in the order of their events.

    Holds the last whole body of each purpose, which alone can be continued.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._last: dict[Purpose, SentBody] = {}
        for event in events:
            if isinstance(event, RequestSent):
                self.rebuild(event)

    def fields(self, purpose: Purpose, body: bytes) -> dict[str, Any]:
        """The fields of `RequestSent` that say this body. Raises `UnicodeDecodeError`."""
        return shortened_body(body, self._last.get(purpose))

    def add(self, request: RequestSent, body: bytes) -> None:
        """Note that the request is on record, with the body that `fields` was given."""
        sent = SentBody(request.originator_version, request.body_sha256, body, None)
        self._last[request.purpose] = sent

    def rebuild(self, request: RequestSent) -> SentBody:
        """The whole body of the next request on record."""
        sent = rebuilt_body(request, self._last.get(request.purpose))
        self._last[request.purpose] = sent
        return sent


def shortened_body(body: bytes, earlier: SentBody | None) -> dict[str, Any]:
    """The fields of `RequestSent` that say this body.

    It continues the earlier one where that makes the event clearly smaller. A body with a NUL is
    always whole: PostgreSQL has no text with one, and auditors rebuild bodies there. Raises
    `UnicodeDecodeError` where the body is no UTF-8.
    """
    text = body.decode("utf-8")
    fields = {"body": text, "body_sha256": hashlib.sha256(body).hexdigest()}
    if earlier is None or earlier.problem is not None or len(body) <= LEAST_BYTES:
        return fields
    prefix, suffix = _shared(body, earlier.body)
    if prefix + suffix <= LEAST_SHARE * len(body) or 0 in body or 0 in earlier.body:
        return fields
    continues = Continuation(
        version=earlier.version, sha256=earlier.sha256, prefix=prefix, suffix=suffix
    )
    added = body[prefix : len(body) - suffix].decode("utf-8")
    return {**fields, "body": added, "continues": continues}


def rebuilt_body(request: RequestSent, earlier: SentBody | None) -> SentBody:
    """The whole body of a request. `earlier` is of the last request before it of its purpose.

    `problem` says where that is not the body of the recorded digest. A continuation that no
    engine writes is not followed: the body is then what the event itself holds.
    """
    body = request.body.encode("utf-8", errors="surrogatepass")
    problem = None
    if (continues := request.continues) is not None:
        problem = _impossible(continues, earlier)
        if problem is None and earlier is not None:
            end = len(earlier.body) - continues.suffix
            body = b"".join((earlier.body[: continues.prefix], body, earlier.body[end:]))
    if problem is None and hashlib.sha256(body).hexdigest() != request.body_sha256:
        problem = "a request's body is not what its digest says"
    return SentBody(request.originator_version, request.body_sha256, body, problem)


def _impossible(continues: Continuation, earlier: SentBody | None) -> str | None:
    """Why the earlier body cannot be continued so."""
    if earlier is None or continues.version != earlier.version:
        return f"a request continues event {continues.version}, which is not the request before it"
    if continues.sha256 != earlier.sha256:
        return f"a request continues another body than that of event {earlier.version}"
    if min(continues.prefix, continues.suffix) < 0:
        return f"a request takes less than nothing of the body of event {earlier.version}"
    if continues.prefix + continues.suffix > len(earlier.body):
        return f"a request takes more of the body of event {earlier.version} than there is"
    return None


def _shared(body: bytes, earlier: bytes) -> tuple[int, int]:
    """How many bytes both have in common at the beginning, and after those at the end.

    No character of the body is cut in two.
    """
    most = min(len(body), len(earlier))
    prefix = _common(memoryview(body)[:most], memoryview(earlier)[:most])
    while 0 < prefix < len(body) and _is_inside(body[prefix]):
        prefix -= 1
    rest = most - prefix
    first, other = len(body) - rest, len(earlier) - rest
    suffix = rest - _last_difference(memoryview(body)[first:], memoryview(earlier)[other:])
    while suffix and _is_inside(body[len(body) - suffix]):
        suffix -= 1
    return prefix, suffix


def _is_inside(byte: int) -> bool:
    """Whether a character of UTF-8 has begun before this byte."""
    return byte & 0xC0 == 0x80


def _common(body: memoryview, earlier: memoryview) -> int:
    """The length of the common beginning of two texts of the same length."""
    low, high = 0, len(body)
    while low < high:  # halves that are compared at once: looking at each byte takes far longer
        middle = (low + high + 1) // 2
        if body[low:middle] == earlier[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _last_difference(body: memoryview, earlier: memoryview) -> int:
    """Where the common end of two texts of the same length begins."""
    low, high = 0, len(body)
    while low < high:
        middle = (low + high) // 2
        if body[middle:high] == earlier[middle:high]:
            high = middle
        else:
            low = middle + 1
    return high
