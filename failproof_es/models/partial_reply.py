"""A reply while it arrives."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from failproof_es.models.http_reply import AnswerStream, HttpReply
from failproof_es.models.replies.half_characters import PieceJoiner
from failproof_es.web.reply import RequestBody


@dataclass(slots=True)
class PartialReply:
    """The part of a reply that has been received."""

    request: RequestBody
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)
    stream: AnswerStream | None = None
    pieces: PieceJoiner = field(default_factory=PieceJoiner)
    """Joins the pieces of a streamed text before they are passed on."""
    first_token_ms: float | None = None

    @property
    def latency_ms(self) -> float:
        """Milliseconds from the first written byte of the request to the latest data of the reply.

        Without data the time until now counts; 0 if nothing was written.
        """
        latency_ms = self.request.latency_ms()
        return (self.given_up_after_ms() or 0.0) if latency_ms is None else latency_ms

    def given_up_after_ms(self) -> float | None:
        """Milliseconds since the request was written; `None` if it was not written."""
        written_at = self.request.written_at
        return None if written_at is None else (time.perf_counter() - written_at) * 1000

    def reply(self) -> HttpReply:
        """The reply as received so far.

        Empties `body`, so that a long body is not in memory twice.
        """
        body, self.body = bytes(self.body), bytearray()
        return HttpReply(
            self.status or 0,
            self.headers,
            body,
            self.latency_ms,
            datetime.now(UTC),
            self.first_token_ms,
        )
