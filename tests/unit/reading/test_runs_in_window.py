"""Which runs were under way in a window of time: clocks of hosts may be a day apart."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple, cast
from uuid import UUID

import pytest

from failproof_es.events import Event, RunCompleted, RunPaused, RunResumed, RunStarted
from failproof_es.reading import runs_in_window as module
from failproof_es.reading.runs_in_window import runs_in_window
from failproof_es.store.reading.reader import Connection
from tests.unit.event_samples import SAMPLES, WHEN

HOUR, DAY, SECOND = timedelta(hours=1), timedelta(days=1), timedelta(seconds=1)


class Row(NamedTuple):
    """An event as `find` gives it."""

    stream_id: UUID
    recorded: Event

    @property
    def topic(self) -> str:
        return type(self.recorded).__name__

    def event(self) -> Event:
        return self.recorded


def life(run: int, *topics: type[Event]) -> list[Row]:
    """The events of a run, an hour apart."""
    samples = {type(event): event for event in SAMPLES}
    return [
        Row(UUID(int=run), samples[topic].model_copy(update={"timestamp": WHEN + hour * HOUR}))
        for hour, topic in enumerate(topics)
    ]


def test_a_run_is_under_way_from_its_start_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        *life(1, RunStarted, RunPaused, RunResumed, RunCompleted),
        *life(2, RunStarted, RunPaused),
        *life(3, RunStarted),
    ]
    monkeypatch.setattr(module, "find", lambda connection, topics: iter(rows))
    end = WHEN + 3 * HOUR
    for since, until, expected in (
        (None, None, [1, 2, 3]),
        (end + DAY, None, [1, 2, 3]),
        (end + DAY + SECOND, None, [2, 3]),
        (None, WHEN - DAY, [1, 2, 3]),
        (None, WHEN - DAY - SECOND, []),
    ):
        runs = runs_in_window(cast(Connection, None), since, until)
        assert [run.int for run in runs] == expected, (since, until)
