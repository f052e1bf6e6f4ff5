"""Learns on one connection, for all waiters, when a follower has brought the projections up.

A notification only makes a viewer look before its next poll; nothing depends on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread

import psycopg
from psycopg import sql

from failproof_es.console.database import ReadOnlyDatabase
from failproof_es.problems import InvalidInput
from failproof_es.store.reading.reader import PROJECTED_CHANNEL
from failproof_es.support import clock

_LOOK_EVERY_S = 0.5
"""Seconds between checks whether anybody still waits."""
_IDLE_S = 15.0
"""Seconds without a waiter after which the connection is closed."""
_PAUSES_S = (1.0, 2.0, 5.0, 15.0, 60.0)
"""Seconds between attempts to connect again."""


class Wakeups:
    """Wakes waiting tasks. Belongs to one event loop, but for `close`."""

    def __init__(self, database: ReadOnlyDatabase) -> None:
        self._database = database
        self._closing = Event()
        self._thread: Thread | None = None
        self._pulse = asyncio.Event()
        self._wanted_at = 0.0
        self.heard_at = float("-inf")
        """Time of the last notification (`clock.monotonic_s`)."""

    async def wait(self, after: float, within_s: float) -> None:
        """Wait for a notification that comes after `after`, at most `within_s` seconds."""
        self._wanted_at = clock.monotonic_s()
        if self._thread is None or not self._thread.is_alive():
            loop = asyncio.get_running_loop()
            self._thread = Thread(
                target=self._listen,
                args=(lambda: loop.call_soon_threadsafe(self._hear),),
                name="console-wakeups",
                daemon=True,
            )
            self._thread.start()
        if self.heard_at > after:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._pulse.wait()

    def close(self) -> None:
        """End the connection and its thread."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _hear(self) -> None:
        self.heard_at = clock.monotonic_s()
        self._pulse.set()
        self._pulse = asyncio.Event()

    @property
    def _is_over(self) -> bool:
        return self._closing.is_set() or clock.monotonic_s() - self._wanted_at > _IDLE_S

    def _listen(self, hear: Callable[[], object]) -> None:
        """Call `hear` for each notification until nobody waits; connect again after errors."""
        tries = 0
        while not self._is_over:
            with (
                # InvalidInput: a server that cannot be used; RuntimeError: a closed event loop.
                suppress(psycopg.Error, InvalidInput, RuntimeError),
                self._database.apart() as connection,
            ):
                connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(PROJECTED_CHANNEL)))
                while not self._is_over:
                    for _ in connection.notifies(timeout=_LOOK_EVERY_S):
                        tries = 0
                        hear()
            if self._is_over:
                return
            self._closing.wait(_PAUSES_S[min(tries, len(_PAUSES_S) - 1)])
            tries += 1
