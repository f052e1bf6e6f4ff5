"""A world that was followed."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.schema.installation import WRITER
from failproof_es.store.store import Store
from projections.runner import prepare
from tests.conftest import as_administrator, create_database, database_url_as
from tests.integration.projections.world import Rows, World, follow_to_the_end, record, rows


@pytest.fixture
def store(store: Store) -> Iterator[Store]:
    """An administrator's store: these tests also break what they look at.

    The runner takes on the projector's role by itself.
    """
    with Store(as_administrator(store.url)) as administrators:
        yield administrators


@pytest.fixture(scope="session")
def world() -> World:
    """A run of 15 cases and two models: each pair of what happens to a request is among them."""
    return World(15)


@pytest.fixture(scope="session")
def followed_once(
    postgres_server: EmbeddedServer, migrated_database: str, world: World
) -> tuple[str, Rows]:
    """The name of a database in which the whole world was followed in one batch, and its rows."""
    name = f"followed_{uuid4().hex}"
    create_database(postgres_server, name, migrated_database)
    with Store.open(database_url_as(postgres_server, name, WRITER)):
        pass  # as any database of a test: opened once by the engine
    with Store(database_url_as(postgres_server, name)) as store:
        record(store, world.events)
        with store.connect() as connection:
            prepare(connection)
            follow_to_the_end(connection)
            return name, rows(connection)


@pytest.fixture
def template(request: pytest.FixtureRequest, migrated_database: str) -> str:
    """What was followed once is copied for each test that asks for it."""
    if "followed" not in request.fixturenames:
        return migrated_database
    name, _ = request.getfixturevalue("followed_once")
    return str(name)


@pytest.fixture
def followed(store: Store, followed_once: tuple[str, Rows]) -> Rows:
    """The rows after following the whole world in one batch. They are in the test's database."""
    _, found = followed_once
    with store.connect() as connection:
        assert rows(connection) == found
    return found
