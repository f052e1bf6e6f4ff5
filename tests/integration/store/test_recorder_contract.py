"""The contract tests that the `eventsourcing` package ships, run against our recorder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from eventsourcing.tests.persistence import (
    ApplicationRecorderTestCase,
    NonInterleavingNotificationIDsBaseCase,
)

from failproof_es.store.writing.application import datastore
from failproof_es.store.writing.recorder import EventRecorder


class OnFreshDatabase:
    """Gives each contract test a recorder on an empty database."""

    recorder: EventRecorder

    @pytest.fixture(autouse=True)
    def _open(self, database_url: str) -> Iterator[None]:
        store = datastore(database_url)
        self.recorder = EventRecorder(store)
        self.recorder.create_table()
        yield
        store.close()

    def create_recorder(self) -> EventRecorder:
        return self.recorder


class TestApplicationRecorder(OnFreshDatabase, ApplicationRecorderTestCase[EventRecorder]):
    def test_insert_subscribe(self) -> None:
        self.optional_test_insert_subscribe()


class TestNonInterleavingNotificationIds(OnFreshDatabase, NonInterleavingNotificationIDsBaseCase):
    pass
