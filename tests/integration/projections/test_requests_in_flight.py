"""`progress.in_flight`: every request is counted out when it is sent and back in once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from uuid import UUID

import orjson
import psycopg
from hypothesis import given, settings
from hypothesis import strategies as st

from failproof_es.evaluation import EvaluationKey, fold
from failproof_es.events import VOIDS_ANSWER, Event
from failproof_es.store.mapper import encode
from failproof_es.store.store import Store
from projections.protocol import Fact
from projections.relations import LIVE, enter
from projections.runner import prepare
from tests.unit.histories import PROMPT, RUN, History, lived

OUTCOMES = ("answer", "nonsense", "another model", "transient", "deferred", "final", "killed")


@st.composite
def runs(draw: st.DrawFn) -> list[Event]:
    """The events of a few evaluations, in any order that keeps each one's own."""
    streams = []
    for number in range(draw(st.integers(1, 3))):
        judges = draw(st.sampled_from([(), ("j1",), ("j1", "j2")]))
        outcomes = draw(st.lists(st.sampled_from(OUTCOMES), max_size=12))
        events = lived(("a", "b"), judges, outcomes, retries=2)
        other = number + 2
        stream = EvaluationKey(RUN, PROMPT, "model", other).evaluation_id
        of = {"originator_id": stream, "repetition": other}
        streams.append([e.model_copy(update=of) for e in events])
    mixed: list[Event] = []
    while streams := [left for left in streams if left]:
        mixed.append(draw(st.sampled_from(streams)).pop(0))
    return mixed


def open_requests(events: Sequence[Event]) -> int:
    """How many requests have no outcome, by the fold that the engine decides with."""
    by_stream: dict[UUID, list[Event]] = {}
    for event in events:
        by_stream.setdefault(event.originator_id, []).append(event)
    return sum(fold(history).in_flight is not None for history in by_stream.values())


def counted_in_flight(
    connection: psycopg.Connection[Any], events: Sequence[Event], batches: Sequence[int]
) -> list[int]:
    """What the projection says at the end of each batch."""
    connection.execute("TRUNCATE projections.progress")
    found = []
    for begin, end in pairwise(batches):
        facts = [
            Fact(position, str(e.originator_id), type(e).__name__, str(RUN),
                 orjson.loads(encode(e)))
            for position, e in enumerate(events[begin:end], start=begin + 1)
        ]  # fmt: skip
        projection = Progress()
        with connection.transaction(), connection.cursor() as cursor:
            enter(connection, LIVE)
            if wanted := [fact for fact in facts if fact.topic in projection.topics]:
                projection.apply(cursor, wanted)
        row = connection.execute("SELECT sum(in_flight) FROM projections.progress").fetchone()
        assert row is not None
        found.append(int(row[0] or 0))
    return found


def test_requests_in_flight_are_those_without_an_outcome_at_every_moment_of_any_history(
    store: Store,
) -> None:
    with store.connect() as connection:
        prepare(connection)

        @settings(max_examples=40)
        @given(runs())
        def check(events: list[Event]) -> None:
            live = counted_in_flight(connection, events, range(len(events) + 1))
            assert live == [open_requests(events[: n + 1]) for n in range(len(events))]
            rebuilt = counted_in_flight(connection, events, [0, len(events)]) if events else []
            assert rebuilt == live[-1:]

        check()


def test_an_answer_of_another_model_leaves_nothing_in_flight(store: Store) -> None:
    history = History().sent().answered().failed(disposition="final", kind=VOIDS_ANSWER)
    with store.connect() as connection:
        prepare(connection)
        assert counted_in_flight(connection, history.events, range(4)) == [1, 0, 0]
        row = connection.execute("SELECT answers, errors FROM projections.progress").fetchone()
        assert row == (1, 1)
