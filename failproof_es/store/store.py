"""One database with everything this package keeps in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from itertools import chain
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import psycopg

from failproof_es.events import CasesPlanned, RunStarted
from failproof_es.problems import InvalidInput
from failproof_es.store.application import EventLog
from failproof_es.store.embedded import EmbeddedServer
from failproof_es.store.migration import migrate
from failproof_es.store.recorder import append_parameters, query

Describe = Callable[[int], tuple[RunStarted, Iterable[CasesPlanned]]]

Price = tuple[Decimal, Decimal, Decimal, str]
"""US dollars per million input, cached input and output tokens, and the price data's version."""

DATABASE_URL = "FAILPROOF_ES_DATABASE_URL"


class Store:
    """The log's database: the embedded server's, or any other by its URL."""

    def __init__(self, url: str, embedded: EmbeddedServer | None = None) -> None:
        self.url = url
        self.embedded = embedded
        self._log: EventLog | None = None

    @classmethod
    def open(cls, database_url: str | None = None) -> Store:
        """Reach the database and bring its schema up to date.

        The argument counts first, then `FAILPROOF_ES_DATABASE_URL`, then the embedded
        server, which is started if need be. Raises `InvalidInput` when it cannot be used.
        """
        url = database_url or os.environ.get(DATABASE_URL)
        embedded = None
        if not url:
            embedded = EmbeddedServer()
            url = embedded.ensure_running()
        store = cls(url, embedded)
        try:
            with store.connect() as connection:
                migrate(connection)
        except psycopg.Error as error:
            raise InvalidInput.because(
                f"the database cannot be used: {_without_password(str(error), url)}",
                remedy=f"check --database-url or {DATABASE_URL}, and that the server is running",
            ) from None
        return store

    @property
    def log(self) -> EventLog:
        """The log as an `eventsourcing` application, constructed when first asked for."""
        if self._log is None:
            self._log = EventLog(self.url)
        return self._log

    def connect(self, **options: Any) -> psycopg.Connection[Any]:
        """A connection of the caller's own, in autocommit unless told otherwise."""
        return psycopg.connect(self.url, **{"autocommit": True, "connect_timeout": 10, **options})

    def recover(self) -> None:
        """Start the embedded server again if it is down; any other server is waited for."""
        if self.embedded is not None:
            self.embedded.ensure_running()

    def begin_run(self, run_id: UUID, describe: Describe) -> RunStarted:
        """Record a new run with its whole plan in one transaction, under a dense number.

        `describe` gets the number and returns the run's first events. Raises
        `InvalidInput` when a run with this id is on record.
        """
        with self.connect() as connection, connection.transaction():
            connection.execute(query("lock_log"))
            row = connection.execute(
                "SELECT coalesce(max(run_number), 0) + 1, bool_or(run_id = %s) "
                "FROM failproof.run_numbers",
                (run_id,),
            ).fetchone()
            number, taken = row or (1, False)
            if taken:
                raise InvalidInput.because(
                    f"run {run_id} exists already",
                    remedy="leave `test_run.id` out to have one generated, or resume that run",
                )
            connection.execute(
                "INSERT INTO failproof.run_numbers (run_number, run_id) VALUES (%s, %s)",
                (number, run_id),
            )
            started, chunks = describe(number)
            append = query("append")
            for event in chain([started], chunks):
                entry = self.log.mapper.to_stored_event(event)
                connection.execute(append, append_parameters([entry]))
        return started

    def record_prices(self, run_id: UUID, prices: Mapping[str, Price]) -> None:
        """Put the prices, by model key, beside the log that a run's costs are computed with."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.executemany(
                query("record_price"), [(run_id, key, *price) for key, price in prices.items()]
            )

    def close(self) -> None:
        """Give back every connection. The embedded server keeps running."""
        if self._log is not None:
            self._log.close()
            self._log = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _without_password(message: str, url: str) -> str:
    try:
        password = psycopg.conninfo.conninfo_to_dict(url).get("password")
    except psycopg.ProgrammingError:  # not even a URL, and the message may quote all of it
        return "its URL is not like postgresql://user@host:5432/name"
    return message.replace(str(password), "***") if password else message
