"""Protocol for appending the events of a drive: the journal, or a journal under a shard's lease."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from failproof_es.events import Event


class Appender(Protocol):
    """Appends events. They are durable when `append` returns."""

    async def append(self, *events: Event) -> Sequence[int]:
        """Record `events` together; return their positions. Raises as `Journal.append` does."""
        ...
