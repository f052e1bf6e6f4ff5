"""The log as an `eventsourcing` application: with our mapper, recorder and datastore."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

from eventsourcing.application import Application
from eventsourcing.persistence import ApplicationRecorder, InfrastructureFactory, Mapper
from eventsourcing.postgres import PostgresDatastore, PostgresFactory
from eventsourcing.utils import Environment
from psycopg.rows import dict_row

from failproof_es.store.connecting import connect, parameters_of
from failproof_es.store.lending import Lender
from failproof_es.store.mapper import EventMapper
from failproof_es.store.writing.recorder import EventRecorder

_MOST_IDLE = 2
"""Number of idle connections that are kept: one for the journal, one for appends beside it."""


class LogFactory(PostgresFactory):
    """Constructs the log's infrastructure from one connection URL."""

    def __init__(self, url: str) -> None:
        super().__init__(Environment("failproof", _package_settings()))
        self.datastore.close()
        self.datastore = datastore(url)

    def application_recorder(self) -> ApplicationRecorder:
        """The recorder of the log."""
        return EventRecorder(self.datastore)


class EventLog(Application[UUID]):
    """The append-only log. `recorder` appends and reads, `events.get` reads one stream."""

    name = "failproof"

    def __init__(self, url: str) -> None:
        self._url = url
        super().__init__()

    def construct_factory(self, env: Environment) -> InfrastructureFactory[Any]:
        """Our factory; ignores environment variables that name persistence modules."""
        return LogFactory(self._url)

    def construct_mapper(self) -> Mapper[UUID]:
        """Our mapper, with an allow-list of topics and upcasting."""
        return EventMapper(self.construct_transcoder())


class _LentConnections(Lender):
    """Replaces the package's connection pool.

    The pool reconnects on its own schedule, with pauses that double without bound: after an outage
    of 80 s, appends waited for 40 s more.
    """

    def open(self, wait: bool = False, timeout: float = 0.0) -> None:
        """Does nothing: connections are made on demand."""


def datastore(url: str) -> PostgresDatastore:
    """A datastore whose connections `connect` makes, with all parameters of `url`."""
    parameters_of(url)
    store = PostgresDatastore(dbname="", host="", port="", user="", password="", schema="failproof")
    pool: Any = _LentConnections(partial(connect, url, row_factory=dict_row), _MOST_IDLE)
    store.pool = pool
    return store


def _package_settings() -> dict[str, str]:
    """Settings that the package's factory requires, though it uses none of them."""
    keys = ("DBNAME", "HOST", "PORT", "USER", "PASSWORD")
    return {f"POSTGRES_{key}": "unused" for key in keys}
