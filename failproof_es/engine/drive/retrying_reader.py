"""Reads the log while a run is driven, and retries through an outage of its server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from failproof_es.store.reading.reader import Connection
from failproof_es.store.store import Store

P = ParamSpec("P")
T = TypeVar("T")


class RetryingReader:
    """Reads in a thread, and waits through an outage of the server."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def read(
        self, read: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return what `read` returns, called with a connection and these arguments.

        The connection is lent (`Store.lend`). Raises `LogUnavailable` when the server stays away.
        """

        def attempt() -> T:
            with self._store.lend() as connection:
                return read(connection, *args, **kwargs)

        return await asyncio.to_thread(self._store.outage.retry, attempt)
