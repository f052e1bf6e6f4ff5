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
    """Reads the log in a thread, and tries again while the database server is away."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def read(
        self, read: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return what `read` returns, called with a connection to the log and these arguments.

        The connection is lent (`Store.lend`): `read` must not keep it. During an outage `read` is
        called again. Raises `LogUnavailable` when the server stays away.
        """

        def attempt() -> T:
            with self._store.lend() as connection:
                return read(connection, *args, **kwargs)

        return await asyncio.to_thread(self._store.outage.retry, attempt)
