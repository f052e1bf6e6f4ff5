"""Brings the projections up when a page finds them behind, at most twice a second."""

from __future__ import annotations

from contextlib import suppress
from threading import Condition, Thread
from typing import Any

import psycopg

from failproof_es.reading.at_head import catch_up_problem
from failproof_es.store.connecting import connect
from failproof_es.store.reading.experiments import try_index_runs
from failproof_es.support import clock

LEAST_PAUSE_S = 0.5
"""Seconds from the beginning of one round to that of the next, at least."""


class ProjectionUpdater:
    """A thread that brings the projections up when asked to. Safe to share.

    Where its user may not write projections, `problem` says why, and pages show how far behind they
    are.
    """

    def __init__(self, url: str | None) -> None:
        self._url = url
        self._changed = Condition()
        self._wanted = self._done = 0
        self._closed = False
        self._thread: Thread | None = None
        self.problem: str | None = None
        """Why the projections cannot be brought up, if so."""

    def bring_up(self, within_s: float) -> bool:
        """Bring the projections up to the log's present end; return whether that was in time."""
        if self._url is None:
            return False
        with self._changed:
            if self._closed:
                return False
            self._wanted += 1
            mine = self._wanted
            if self._thread is None:
                self._thread = Thread(
                    target=self._follow, args=(self._url,), name="console-follower", daemon=True
                )
                self._thread.start()
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._done >= mine or self._closed, within_s)

    def close(self) -> None:
        """End the thread after its present batch."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(timeout=5)

    def _follow(self, url: str) -> None:
        connection: psycopg.Connection[Any] | None = None
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._wanted > self._done)
                if self._closed:
                    break
                until = self._wanted
            began = clock.monotonic_s()
            try:
                connection = connection or connect(url, prepare_threshold=None)
                self.problem = catch_up_problem(connection)
                try_index_runs(connection)
            except Exception as error:
                self.problem = f"the projections cannot be brought up: {type(error).__name__}"
                if connection is not None:
                    with suppress(psycopg.Error):
                        connection.close()
                connection = None
            with self._changed:
                self._done = until
                self._changed.notify_all()
                rest = LEAST_PAUSE_S - (clock.monotonic_s() - began)
                self._changed.wait_for(lambda: self._closed, max(rest, 0))
        if connection is not None:
            connection.close()
