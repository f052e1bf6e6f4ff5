"""A thread that calls the callbacks, so that no callback can block or break a run."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue

logger = logging.getLogger("failproof_es.abstraction")

_JOIN_S = 5.0


class Dispatcher:
    """Makes calls one after the other, in the order of `put`.

    A call that raises or takes longer than `slow_s` seconds is logged; later calls wait in
    memory. `put` never blocks.
    """

    def __init__(self, *, slow_s: float = 5.0) -> None:
        self._slow_s = slow_s
        self._waiting: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._busy_since: float | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="benchmark-callbacks", daemon=True)
        self._thread.start()

    def put(self, call: Callable[[], None]) -> None:
        """Queue a call, from any thread. Calls put after `close` are dropped."""
        self._report_if_slow()
        if not self._closed:
            self._waiting.put(call)

    def close(self) -> None:
        """Make the queued calls and end the thread; wait for that for at most 5 seconds."""
        self._closed = True
        self._waiting.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join(_JOIN_S)

    def _run(self) -> None:
        while (call := self._waiting.get()) is not None:
            self._busy_since = time.monotonic()
            try:
                call()
            except BaseException:  # SystemExit, too: a callback must not end this thread
                logger.exception("a benchmark callback raised; the run goes on without it")
            self._report_if_slow()
            self._busy_since = None

    def _report_if_slow(self) -> None:
        """Log the current call once if it is slow: at the next `put` or when the call returns."""
        since = self._busy_since
        if since is not None and (seconds := time.monotonic() - since) > self._slow_s:
            self._busy_since = None
            logger.warning(
                "a benchmark callback takes %.1f s already; %d calls wait behind it, the run "
                "goes on",
                seconds,
                self._waiting.qsize(),
            )
