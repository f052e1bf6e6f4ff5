"""Logins, and a server on which nobody has any role yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from failproof_es.store.embedded.server import EmbeddedServer
from tests.own_server import own_server


@pytest.fixture
def login(postgres_server: EmbeddedServer) -> Iterator[Callable[[str], str]]:
    """Makes logins with the given attributes; they are gone afterwards."""
    made: list[sql.Identifier] = []

    def make(attributes: str) -> str:
        name = f"login_{uuid4().hex}"
        made.append(sql.Identifier(name))
        with psycopg.connect(postgres_server.url, autocommit=True) as connection:
            connection.execute(
                sql.SQL("CREATE ROLE {} LOGIN {}").format(made[-1], sql.SQL(attributes))
            )
        return name

    yield make
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        for name in made:
            connection.execute(sql.SQL("DROP ROLE {}").format(name))


@pytest.fixture
def returned(database_url: str) -> Iterator[None]:
    """Take the database back at the end, so that its owner can be dropped."""
    yield
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("ALTER DATABASE {} OWNER TO postgres").format(
                sql.Identifier(connection.info.dbname)
            )
        )
        for name in connection.execute(
            "SELECT rolname FROM pg_roles WHERE rolname LIKE 'login%%'"
        ).fetchall():
            connection.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(sql.Identifier(*name)))


@pytest.fixture
def other_server() -> Iterator[EmbeddedServer]:
    """A server on which no role of ours exists yet."""
    with own_server() as server:
        yield server
