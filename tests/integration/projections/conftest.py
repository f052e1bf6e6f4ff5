"""A world that was followed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from failproof_es.store.store import Store
from projections.runner import prepare
from tests.conftest import as_administrator
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
    """A run of 42 cases and two models."""
    return World(42)


@pytest.fixture
def followed(store: Store, world: World) -> Rows:
    """The rows after following the whole world in one batch."""
    record(store, world.events)
    with store.connect() as connection:
        prepare(connection)
        follow_to_the_end(connection)
        return rows(connection)
