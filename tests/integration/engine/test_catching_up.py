"""What a resume shows of what was done before: the same from rows as from every event."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from failproof_es.cli.progress.recorded_progress import catch_up_with, count_events
from failproof_es.cli.progress.state import ProgressState
from failproof_es.engine.history import read_run, recorded_evaluations
from failproof_es.events import ErrorRecorded, Event, PricesRecorded, RequestSent
from failproof_es.store.reading import reader
from failproof_es.store.store import Store
from tests.benchmarks.rebuild import begun, history

CASES = 6


def failed(request: Event, version: int) -> Event:
    """The server's error as the answer to the request."""
    assert isinstance(request, RequestSent)
    told = {
        name: getattr(request, name)
        for name in ("originator_id", "run_id", "prompt_id", "model_key", "repetition", "purpose")
    }
    return ErrorRecorded(
        **told, originator_version=version, timestamp=datetime.now(UTC), turn=0, attempt=1,
        kind="http", message="HTTP 500: broken", disposition="transient", stack_trace="",
        status=500, headers={}, body="", latency_ms=1.0,
    )  # fmt: skip


@pytest.fixture
def run_id(store: Store) -> UUID:
    """A run of six cases, each of which came one event further; the last one failed first."""
    found = uuid4()
    events, prompts = begun(CASES, found)
    with store.connect() as connection:
        connection.execute("SELECT failproof.number_run(%s)", (found,))
    store.log.events.put(events)
    for place, prompt in enumerate(prompts):
        life = list(history(prompt, found))
        if place == CASES - 1:
            life = [life[0], failed(life[0], 2)]
        store.log.events.put(life[:place])
    return found


def test_it_is_the_same_from_rows_as_from_every_event(
    store: Store, run_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted, restored = ProgressState(), ProgressState()
    with store.connect() as connection:
        counted.use_prices(read_run(connection, run_id).prices or {})
        count_events(counted, connection, run_id)
        monkeypatch.setattr(
            "failproof_es.cli.progress.recorded_progress.count_events",
            lambda *_: pytest.fail("every event was read"),
        )
        catch_up_with(restored, connection, run_id)
        for recorded in recorded_evaluations(connection, read_run(connection, run_id)):
            if recorded.history and not recorded.state().finished:
                for _ in range(2):  # a second pass takes them up again
                    restored.remember(recorded)
    assert counted.finished == 1 and counted.total.asking.errors == 1
    assert restored.models == counted.models
    assert restored.errors == counted.errors
    assert restored._open == counted._open
    assert (restored.phase, restored.name, restored.planned) == (
        counted.phase, counted.name, counted.planned,
    )  # fmt: skip


def test_a_run_with_a_long_plan_is_read_a_few_events_at_a_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is at the edge of a portion, the whole stream is read once."""
    monkeypatch.setattr("failproof_es.core.run.CHUNK", 1)
    run = uuid4()
    events, _ = begun(5, run)
    store.log.events.put(events)
    with store.connect() as connection:
        for at_once in (1, 2, 3, 5, 6, 7):
            rows = list(reader.iterate_stream(connection, run, at_once))
            assert [row.version for row in rows] == [1, 2, 3, 4, 5, 6]
        assert list(reader.iterate_stream(connection, uuid4())) == []
    assert PricesRecorded.__name__ not in {row.topic for row in rows}
