"""The progress of a run until now, counted from its record."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from failproof_es.cli.progress.state import OBSERVED, ProgressState
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.engine.history import WINDOW, iterate_evaluations
from failproof_es.events import CarriedOver, ErrorRecorded, Event, PricesRecorded, RunStarted
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.reading.reader import Connection, find, iterate_stream
from failproof_es.store.store import Store


def catch_up_with(state: ProgressState, connection: Connection, run_id: UUID) -> None:
    """Count the recorded events of a run until now in `state`.

    It is read from the projections if they hold all of it, else from the events.
    """
    recorded = RecordedRun.read(connection, run_id)
    state.use_prices(recorded.run.prices or {})
    if recorded.reader.source != "projections" or recorded.started.judges:
        count_events(state, connection, run_id)
        return
    for row in iterate_stream(connection, run_id):
        state.observe(row.event())
    state.restore(recorded.summary)
    for row in find(connection, run_id=run_id, topics=[ErrorRecorded.__name__]):
        if isinstance(error := row.event(), ErrorRecorded):
            state.errors.add(error)


def count_events(state: ProgressState, connection: Connection, run_id: UUID) -> None:
    """Count the recorded events of a run until now in `state`, from the log."""
    carried_over = []
    for row in find(connection, run_id=run_id, topics=OBSERVED):
        state.observe(event := row.event())
        if isinstance(event, CarriedOver):
            carried_over.append(carried_over_key(run_id, event))
    for begin in range(0, len(carried_over), WINDOW):
        for recorded in iterate_evaluations(connection, carried_over[begin : begin + WINDOW]):
            state.carry_over(recorded)


def carried_over_key(run_id: UUID, event: CarriedOver) -> EvaluationKey:
    """The key, in the run `run_id`, of the evaluation that the event carries over."""
    return EvaluationKey(run_id, event.prompt_id, event.model_key, event.repetition)


def recorded_prices(store: Store, started: RunStarted) -> Iterator[Event]:
    """The events that record the prices of a run that has just begun."""
    topics = [PricesRecorded.__name__]
    with store.lend() as connection:
        for row in find(connection, stream_id=started.originator_id, topics=topics):
            yield row.event()
