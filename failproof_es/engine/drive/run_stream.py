"""A run's own stream while it is driven: its state, and appending the next event."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from failproof_es.core.run import Run, evolve_run
from failproof_es.engine.drive.appender import Appender
from failproof_es.engine.limits.concurrency_limiter import LimitUpdate
from failproof_es.events import Event, LimitChanged
from failproof_es.store.writing.event_header import Draft, EventHeader

Observe = Callable[[Event], None]


class RunStream:
    """A run's own stream. It has one writer: only one task at a time may record."""

    def __init__(self, run: Run, journal: Appender, observe: Observe) -> None:
        self.run = run
        self._journal = journal
        self._observe = observe

    async def record(self, kind: type[Event], **fields: Any) -> None:
        """Append the next event; it is durable on return. Raises a `JournalError`."""
        header = EventHeader.of_run(self.run.started.originator_id)
        event = Draft(kind, header, **fields).after(self.run.version)
        await self._journal.append(event)
        self.run = evolve_run(self.run, event)
        self._observe(event)

    async def record_limits(
        self,
        changes: asyncio.Queue[LimitUpdate | None],
        give_up: Callable[[BaseException], None],
    ) -> None:
        """Record every change of a limit, in order; `None` ends it."""
        while (change := await changes.get()) is not None:
            try:
                await self.record(LimitChanged, **asdict(change))
            except Exception as error:
                give_up(error)
