"""`progress.in_flight`: every request is counted out when it is sent and back in once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import psycopg
from hypothesis import given, settings
from hypothesis import strategies as st

from failproof_es.core.evaluation import EvaluationKey, fold
from failproof_es.events import VOIDS_ANSWER, EvaluationEvent, Event
from failproof_es.store.store import Store
from projections.runner import catch_up, prepare
from tests.examples import examples
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


def counted_in_flight(connection: psycopg.Connection[Any], run_id: UUID) -> int:
    """What the rows say."""
    row = connection.execute(
        "SELECT count(*) FROM projections.run_results WHERE run_id = %s AND in_flight", (run_id,)
    ).fetchone()
    assert row is not None
    return int(row[0])


def of_run(events: Sequence[Event], run_id: UUID) -> list[Event]:
    """The same, in another run: each example has one of its own."""
    return [
        event.model_copy(
            update={
                "run_id": run_id,
                "originator_id": EvaluationKey(
                    run_id, PROMPT, "model", event.repetition
                ).evaluation_id,
            }
        )
        for event in events
        if isinstance(event, EvaluationEvent)
    ]


def test_requests_in_flight_are_those_without_an_outcome_at_every_moment_of_any_history(
    store: Store,
) -> None:
    with store.connect() as connection:
        prepare(connection)

        @settings(max_examples=examples(0.2))
        @given(runs())
        def check(found: list[Event]) -> None:
            run_id = uuid4()
            events = of_run(found, run_id)
            for n, event in enumerate(events):
                store.log.events.put([event])
                catch_up(connection)
                assert counted_in_flight(connection, run_id) == open_requests(events[: n + 1])

        check()


def test_an_answer_of_another_model_leaves_nothing_in_flight(store: Store) -> None:
    history = History().sent().answered().failed(disposition="final", kind=VOIDS_ANSWER)
    with store.connect() as connection:
        prepare(connection)
        for expected, event in zip((1, 0, 0), history.events, strict=True):
            store.log.events.put([event])
            catch_up(connection)
            assert counted_in_flight(connection, RUN) == expected
        row = connection.execute("SELECT errors FROM projections.run_results").fetchone()
        assert row is not None and len(row[0]) == 1
