"""Limits how many responses are sent at the same time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from threading import Lock

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send


class Seats:
    """A number of places to take and to give back. Safe to share."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.occupied = 0
        self._lock = Lock()

    def take(self) -> bool:
        """Take a place; return whether there was one."""
        with self._lock:
            if self.occupied >= self.number:
                return False
            self.occupied += 1
            return True

    def give_back(self) -> None:
        """Give back a place that was taken."""
        with self._lock:
            self.occupied -= 1


class EndedResponse(StreamingResponse):
    """A streaming response that calls `ended` once, whether it was sent or failed."""

    def __init__(
        self,
        content: Iterator[str] | AsyncIterator[str] | AsyncIterator[bytes],
        *,
        ended: Callable[[], None],
        media_type: str,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(content, media_type=media_type, headers=headers)
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the class."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._ended()
