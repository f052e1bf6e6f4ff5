"""Protocol for appending the events of a drive: the journal, or a journal under a shard's lease."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from failproof_es.events import Event


class Appender(Protocol):
    """Something that appends events to the log: a `Journal`, or one under a shard's lease."""

    async def append(self, *events: Event) -> Sequence[int]:
        """Record `events` together; return their positions once they are durable.

        Raises a `JournalError`, such as `StreamConflict`, if they could not be recorded.
        """
        ...
