"""The work queues of a drive: one for each server, so that none waits for another's models.

A queue has the evaluations of the models of one server, in plan order, and as many workers as the
whole run may have requests in flight. So a server that accepts nothing for an hour blocks only the
workers of its own queue. Each queue reads the plan for itself, as far as it has come. The limiters
and the semaphore bound the requests in flight over all queues.
"""

from __future__ import annotations

import asyncio
from collections import deque

from failproof_es.engine.drive.pending import Windows
from failproof_es.engine.history import RecordedEvaluation


class WorkQueue:
    """The queue of one server's evaluations; many workers take from it."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._ready: deque[RecordedEvaluation] = deque()
        self._turn = asyncio.Lock()
        self._more = True

    async def next(self) -> RecordedEvaluation | None:
        """The next evaluation to work on; waits until it is read. `None` when there are no more."""
        while not self._ready and self._more:
            async with self._turn:
                if not self._ready and self._more:
                    await self._refill()
        return self._ready.popleft() if self._ready else None

    async def look_ahead(self) -> None:
        """Read the first window, if none was read, before a worker asks for an evaluation."""
        async with self._turn:
            if not self._ready and self._more:
                await self._refill()

    async def _refill(self) -> None:
        window = await anext(self._windows, None)
        if window is None:
            self._more = False
        else:
            self._ready.extend(window)

    async def close(self) -> None:
        """Stop reading the plan, at the end of the drive."""
        await self._windows.aclose()
