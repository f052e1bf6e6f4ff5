"""A run's own stream while it is driven: its state, and appending the next event."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from failproof_es.core.run import Run, evolve_run
from failproof_es.engine.drive.appender import Appender
from failproof_es.engine.limits.concurrency_limiter import LimitUpdate
from failproof_es.events import Event, LimitChanged
from failproof_es.store.errors import StreamConflict
from failproof_es.store.writing.event_header import Draft, EventHeader

Observe = Callable[[Event], None]


class RunStream:
    """A run's own stream. Only one task at a time may record.

    If one process drives the run alone, nobody else writes to the stream, and a conflict is an
    error. If several workers drive it, `reread` reads the run after a conflict, and the event is
    appended to its present state.
    """

    def __init__(
        self,
        run: Run,
        journal: Appender,
        observe: Observe,
        reread: Callable[[], Awaitable[Run]] | None = None,
    ) -> None:
        self.run = run
        self._journal = journal
        self._observe = observe
        self._reread = reread

    async def record(self, kind: type[Event], **fields: Any) -> None:
        """Append the run's next event, an event of type `kind` with these fields; it is durable on
        return. Raises a `JournalError` if it could not be recorded, and `ImpossibleHistory` if the
        run no longer admits the event, because another worker ended or paused it."""
        header = EventHeader.of_run(self.run.started.originator_id)
        while True:
            event = Draft(kind, header, **fields).after(self.run.version)
            after = evolve_run(self.run, event)
            try:
                await self._journal.append(event)
            except StreamConflict:
                if self._reread is None:
                    raise
                self.run = await self._reread()
                continue
            self.run = after
            self._observe(event)
            return

    async def record_limits(
        self,
        changes: asyncio.Queue[LimitUpdate | None],
        give_up: Callable[[BaseException], None],
    ) -> None:
        """Record limit changes from the queue, in order, until it yields `None`.

        `give_up` is called with each error; nothing is raised.
        """
        while (change := await changes.get()) is not None:
            try:
                await self.record(LimitChanged, **asdict(change))
            except Exception as error:
                give_up(error)
