"""The contract tests that the `eventsourcing` package ships, run against our recorder."""

from __future__ import annotations

import time
from collections.abc import Iterator
from uuid import uuid4

import pytest
from eventsourcing.persistence import StoredEvent
from eventsourcing.postgres import PostgresSubscription
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
    test_performance = None  # type: ignore[assignment]
    test_concurrent_throughput = None  # type: ignore[assignment]
    """They print how long something takes, and hold nothing."""

    def test_insert_subscribe(self) -> None:
        self.optional_test_insert_subscribe()

    def test_an_event_that_nobody_was_notified_of_is_told(self) -> None:
        """As on a busy machine, where it is recorded before the other thread listens."""
        event = StoredEvent(
            originator_id=uuid4(), originator_version=1, topic="topic", state=b"state"
        )
        with pytest.MonkeyPatch.context() as deaf:
            deaf.setattr(PostgresSubscription, "_listen", lambda _: None)
            with self.recorder.subscribe() as subscription:
                time.sleep(0.5)  # it has looked at the empty log
                self.recorder.insert_events([event])
                assert next(subscription).originator_id == event.originator_id


class TestNonInterleavingNotificationIds(OnFreshDatabase, NonInterleavingNotificationIDsBaseCase):
    pass
