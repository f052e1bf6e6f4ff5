"""The runs that a worker is ending, each in a task of its own, while it drives shards of others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any
from uuid import UUID

MOST_AT_ONCE = 2
"""Limit of runs that are ended at once: reading a large run at its end takes a thread and much of
the interpreter's time."""


class Endings:
    """Ends several runs at the same time, each in a task. Call `over` regularly for the results."""

    def __init__(self, wake: Callable[[], None]) -> None:
        """`wake` is called when a run is over."""
        self._wake = wake
        self._tasks: dict[UUID, asyncio.Task[bool]] = {}

    def begin(self, run_id: UUID, finish: Callable[[], Coroutine[Any, Any, bool]]) -> None:
        """Begin to end the run by `finish`, which returns whether the run is over then.

        Does nothing if that is under way, or if `MOST_AT_ONCE` runs are being ended.
        """
        if run_id in self._tasks or len(self._tasks) >= MOST_AT_ONCE:
            return
        task = self._tasks[run_id] = asyncio.create_task(finish(), name=f"ending {run_id}")
        task.add_done_callback(self._wake_after_end)

    def over(self) -> Iterator[tuple[UUID, asyncio.Task[bool]]]:
        """The runs and tasks that have ended since the last call.

        A task's result is whether the run is over; it may be an error.
        """
        for run_id in [run_id for run_id, task in self._tasks.items() if task.done()]:
            yield run_id, self._tasks.pop(run_id)

    async def wait(self) -> None:
        """Wait until no run is being ended any more, and drop the results."""
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self._tasks.clear()

    def _wake_after_end(self, task: asyncio.Task[bool]) -> None:
        if not task.cancelled() and task.exception() is None and task.result():
            self._wake()
