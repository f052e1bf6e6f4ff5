"""Reading the log while a run is driven, through an outage of its server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import psycopg
from tenacity import Retrying, retry_if_exception_type, stop_after_delay
from tenacity.wait import wait_exponential

from failproof_es.store.reader import Connection
from failproof_es.store.store import Store

P = ParamSpec("P")
T = TypeVar("T")


class PatientReader:
    """Reads in a thread, and waits up to `outage_s` for a server that is away."""

    def __init__(self, store: Store, outage_s: float) -> None:
        self._store = store
        self._outage_s = outage_s

    async def read(
        self, read: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """What `read` returns, given a connection of its own and these arguments.

        Raises `psycopg.OperationalError` when the server stays away.
        """

        def attempt() -> T:
            with self._store.connect() as connection:
                return read(connection, *args, **kwargs)

        retrying = Retrying(
            retry=retry_if_exception_type(psycopg.OperationalError),
            wait=wait_exponential(multiplier=0.1, max=5),
            stop=stop_after_delay(self._outage_s),
            before_sleep=lambda _: self._store.recover(),
            reraise=True,
        )
        return await asyncio.to_thread(retrying, attempt)
