"""An event loop in a thread of its own, for programs that have no event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from failproof_es.support.event_loop import loop_factory

T = TypeVar("T")


class EngineLoop:
    """Runs coroutines in a thread of its own. Closing it cancels the running ones."""

    def __init__(self) -> None:
        self._loop = loop_factory()()
        self._thread = threading.Thread(target=self._run, name="benchmark-engine", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result, or raise its exception.

        Blocks, so it must not be called in the loop's own thread.
        """
        return self.begin(coroutine).result()

    def begin(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine; returns its future, for which any other thread may wait."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def close(self) -> None:
        """Cancel the running coroutines and end the thread."""
        if self._loop.is_running():
            self.run(_cancel_all())
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())


async def _cancel_all() -> None:
    other_tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in other_tasks:
        task.cancel()
    await asyncio.gather(*other_tasks, return_exceptions=True)
