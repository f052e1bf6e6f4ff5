"""One thread that calls the callbacks, so that none of them can hold up or break a run."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue

logger = logging.getLogger("failproof_es.abstraction")

_JOIN_S = 5.0


class Dispatcher:
    """Calls what it is given, one after the other, in the order in which it was given.

    A call that raises is logged, and so is one that takes longer than `slow_s`; what waits
    behind it waits, in memory. `put` never blocks.
    """

    def __init__(self, *, slow_s: float = 5.0) -> None:
        self._slow_s = slow_s
        self._waiting: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._busy_since: float | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="benchmark-callbacks", daemon=True)
        self._thread.start()

    def put(self, call: Callable[[], None]) -> None:
        """Have it called. From any thread; after `close` nothing more is called."""
        self._report_if_slow()
        if not self._closed:
            self._waiting.put(call)

    def close(self) -> None:
        """Call what waits and end, but wait no longer than seconds for a call that blocks."""
        self._closed = True
        self._waiting.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join(_JOIN_S)

    def _run(self) -> None:
        while (call := self._waiting.get()) is not None:
            self._busy_since = time.monotonic()
            try:
                call()
            except BaseException:  # SystemExit, too: a callback ends nothing but itself
                logger.exception("a benchmark callback raised; the run goes on without it")
            self._report_if_slow()
            self._busy_since = None

    def _report_if_slow(self) -> None:
        """Say once for each call that it takes long: when more is put, or when it returns."""
        since = self._busy_since
        if since is not None and (seconds := time.monotonic() - since) > self._slow_s:
            self._busy_since = None
            logger.warning(
                "a benchmark callback takes %.1f s already; %d calls wait behind it, the run "
                "goes on",
                seconds,
                self._waiting.qsize(),
            )
