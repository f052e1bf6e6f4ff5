"""The log as an `eventsourcing` application: with our mapper, recorder and datastore."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
from eventsourcing.application import Application
from eventsourcing.persistence import ApplicationRecorder, InfrastructureFactory, Mapper
from eventsourcing.postgres import PostgresDatastore, PostgresFactory
from eventsourcing.utils import Environment
from psycopg.rows import dict_row

from failproof_es.store.connecting import (
    CONNECT_TIMEOUT_S,
    Connection,
    parameters_of,
    use_own_names,
)
from failproof_es.store.mapper import EventMapper
from failproof_es.store.writing.recorder import EventRecorder


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
        """Our factory. Environment variables that name persistence modules are ignored."""
        return LogFactory(self._url)

    def construct_mapper(self) -> Mapper[UUID]:
        """Our mapper: explicit topics, an allow-list, upcasting."""
        return EventMapper(self.construct_transcoder())


class LogDatastore(PostgresDatastore):
    """Connections on which names without a schema are PostgreSQL's own, as on all of ours."""

    def after_connect_func(self) -> Callable[[psycopg.Connection[Any]], None]:
        """The function that prepares each new connection."""
        prepare = super().after_connect_func()

        def after_connect(connection: psycopg.Connection[Any]) -> None:
            prepare(connection)
            use_own_names(connection)

        return after_connect


def datastore(url: str) -> PostgresDatastore:
    """A connection pool on `url`, with all its parameters."""
    settings = parameters_of(url)
    store = LogDatastore(
        dbname="", host="", port="", user="", password="", schema="failproof",
        pool_size=1, max_overflow=4, connect_timeout=CONNECT_TIMEOUT_S,
    )  # fmt: skip
    store.pool.connection_class = Connection
    store.pool.kwargs = {**settings, "row_factory": dict_row}
    return store


def _package_settings() -> dict[str, str]:
    """Settings that the package's factory requires, though it uses none of them."""
    keys = ("DBNAME", "HOST", "PORT", "USER", "PASSWORD")
    return {f"POSTGRES_{key}": "unused" for key in keys}
