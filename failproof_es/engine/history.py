"""Reads a run from the log: its own stream, its plan, its evaluations with their cases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol
from uuid import UUID

import psycopg

from failproof_es.configuration.recorded import repetitions_of
from failproof_es.core.case import Case
from failproof_es.core.evaluation import Evaluation, EvaluationKey, ImpossibleHistory, fold
from failproof_es.core.history_errors import require
from failproof_es.core.run import (
    Run,
    evolve_run,
    fold_run,
    planned_evaluations,
)
from failproof_es.events import CarriedOver, CasesPlanned, Event, PromptStored
from failproof_es.problems import InvalidInput
from failproof_es.store.errors import UnreadableEvent, UnreadableState
from failproof_es.store.reading.archives import require_attached
from failproof_es.store.reading.carried_over import resolve_reference
from failproof_es.store.reading.reader import (
    RecordedEvent,
    iterate_stream,
    portions,
    read_beginnings,
    read_event,
    read_streams,
)

Connection = psycopg.Connection[Any]

UNREADABLE = (ImpossibleHistory, UnreadableEvent)
"""Errors that damaged or altered events raise."""

WINDOW = 200
"""Number of evaluations that are read at once: bounds memory, not concurrency."""


@dataclass(frozen=True, slots=True)
class RecordedEvaluation:
    """One planned evaluation, its case, and all its events so far."""

    key: EvaluationKey
    case: Case
    history: Sequence[Event]
    carried_over: CarriedOver | None = None
    """The reference, if the history is another run's; its events then have this run's ids."""
    broken: Exception | None = None
    """The error of reading its record; the history holds the events before the error."""
    prompt: RecordedEvent | None = None
    """The row of the case, if the case was read from the log."""

    def state(self) -> Evaluation:
        """The evaluation's state, folded from its history.

        Raises `broken` if there is one, or `ImpossibleHistory` if an event cannot follow those
        before it.
        """
        if self.broken is not None:
            raise self.broken
        return fold(self.history)


class HistoryRow(Protocol):
    """A row of a stream, read from the log."""

    @property
    def position(self) -> int:
        """The position of the row in the log."""

    def event(self) -> Event:
        """The event. Raises one of `UNREADABLE` if it cannot be read."""


ReadStreams = Callable[[Connection, Sequence[UUID]], Mapping[UUID, Sequence[HistoryRow]]]
"""Reads every event of the given streams, by stream, in version order."""


def read_run(connection: Connection, run_id: UUID) -> Run:
    """The run, folded from its own stream.

    Raises `InvalidInput` if there is no such run, and one of `UNREADABLE` if an event cannot be
    read.
    """
    run = fold_run(row.event() for row in iterate_stream(connection, run_id))
    if not run.version:
        raise InvalidInput.because(
            "unknown-run", f"there is no run {run_id}", remedy="list runs with `failproof-es runs`"
        )
    return run


def read_run_prefix(connection: Connection, run_id: UUID) -> tuple[Run, Exception | None]:
    """The run, folded as far as its stream is valid, and the error that follows, if there is one.

    Raises the error if not even the run's first event is valid.
    """
    run, broken = Run(), None
    try:
        for row in iterate_stream(connection, run_id):
            run = evolve_run(run, row.event())
    except UNREADABLE as error:
        broken = error
    if run.manifest is None:
        raise broken or ImpossibleHistory(f"run {run_id} has no stream")
    return run, broken


def read_chunk(connection: Connection, run_id: UUID, chunk: int) -> tuple[str, ...]:
    """The digests of a chunk of the run's plan, numbered from 0.

    The chunks' events, `CasesPlanned`, directly follow `RunStarted`. Raises `ImpossibleHistory` if
    the event at the chunk's place is another one.
    """
    row = read_event(connection, run_id, chunk + 2)
    event = row.event() if row else None
    if not isinstance(event, CasesPlanned) or event.chunk != chunk:
        raise ImpossibleHistory(f"run {run_id}: chunk {chunk} of its plan is out of order")
    return event.digests


def read_evaluations(
    connection: Connection,
    keys: Sequence[EvaluationKey],
    *,
    up_to: int | None = None,
    read: ReadStreams = read_streams,
    started_keys: Collection[EvaluationKey] | None = None,
) -> list[RecordedEvaluation]:
    """The evaluations of these keys, in order, with their events up to position `up_to` (all if it
    is `None`). An evaluation that has not begun has no events. A carried-over evaluation has the
    history of its source. `read` reads each stream once. Only the streams of `started_keys` are
    read; those of all keys if it is `None`. Raises `ImpossibleHistory` if the log has not the case
    of a key."""
    prompts = read_streams(connection, list({key.prompt_id for key in keys}))
    cases = {prompt: stored_case(prompts, prompt) for prompt in {key.prompt_id for key in keys}}
    stream_ids = [key.evaluation_id for key in keys if started_keys is None or key in started_keys]
    rows = read(connection, stream_ids) if stream_ids else {}
    histories = {stream: _history(events, up_to) for stream, events in rows.items()}
    references = {
        stream: first
        for stream, (history, _) in histories.items()
        if history and isinstance(first := history[0], CarriedOver)
    }
    elsewhere = [reference.source_evaluation_id for reference in references.values()]
    sources = read_streams(connection, elsewhere) if elsewhere else {}
    for stream, reference in references.items():
        histories[stream] = _follow_reference(histories[stream], reference, sources)
    return [
        RecordedEvaluation(
            key,
            cases[key.prompt_id],
            (history := histories.get(key.evaluation_id, ([], None)))[0],
            references.get(key.evaluation_id),
            history[1],
            prompts[key.prompt_id][0],
        )
        for key in keys
    ]


History = tuple[list[Event], Exception | None]
"""The readable events, and the error that ended the reading, if any."""


def _history(rows: Sequence[HistoryRow], up_to: int | None) -> History:
    history: list[Event] = []
    for row in rows:
        if up_to is None or row.position <= up_to:
            try:
                history.append(row.event())
            except UNREADABLE as error:
                return history, error
    return history, None


def _follow_reference(
    history: History, reference: CarriedOver, sources: Mapping[UUID, Sequence[RecordedEvent]]
) -> History:
    """The events of the carried-over evaluation that `reference` names, with this run's ids.

    If they cannot be read, the run's own events and the error. No event may follow the reference.
    """
    own, broken = history
    try:
        fold(own)
        if broken is None:
            return resolve_reference(
                reference, sources.get(reference.source_evaluation_id, [])
            ), None
    except UNREADABLE as error:
        broken = error
    return own, broken


def split_by_size(
    connection: Connection,
    keys: Sequence[EvaluationKey],
    started_keys: Collection[EvaluationKey] | None = None,
) -> Iterator[list[EvaluationKey]]:
    """The keys in order, in batches that `read_evaluations` can read in little memory.

    Only `started_keys` have events; all keys may have some if it is `None`.
    """
    by_id = {key.evaluation_id: key for key in keys}
    related_streams = {key.evaluation_id: [key.prompt_id] for key in keys}
    absent = {
        stream
        for stream, key in by_id.items()
        if started_keys is not None and key not in started_keys
    }
    present = [stream for stream in by_id if stream not in absent]
    for row in read_beginnings(connection, present, CarriedOver.__name__) if present else ():
        with suppress(UnreadableState):  # `read_evaluations` reports the error
            event = row.event()
            assert isinstance(event, CarriedOver)
            related_streams[row.stream_id].append(event.source_evaluation_id)
    for streams in portions(connection, list(by_id), related_streams, absent):
        yield [by_id[stream] for stream in streams]


def iterate_evaluations(
    connection: Connection,
    keys: Sequence[EvaluationKey],
    *,
    up_to: int | None = None,
    read: ReadStreams = read_streams,
) -> Iterator[RecordedEvaluation]:
    """The evaluations of these keys, read as by `read_evaluations`, one by one.

    Memory is bounded however long the answers are.
    """
    for portion in split_by_size(connection, keys):
        yield from read_evaluations(connection, portion, up_to=up_to, read=read)


def planned_windows(
    run: Run, digests: Sequence[str], models: Sequence[str]
) -> Iterator[list[EvaluationKey]]:
    """The evaluations planned for these digests and models, in plan order: lists of up to `WINDOW`
    keys."""
    manifest = run.started
    planned = planned_evaluations(
        manifest.originator_id,
        digests,
        models,
        repetitions_of(manifest),
    )
    while window := list(islice(planned, WINDOW)):
        yield window


def recorded_evaluations(
    connection: Connection,
    run: Run,
    *,
    up_to: int | None = None,
    read: ReadStreams = read_streams,
) -> Iterator[RecordedEvaluation]:
    """Every planned evaluation in plan order, begun or not, with its events up to position `up_to`.

    Holds a few of them in memory. `read` is as in `read_evaluations`. Raises `RunIsArchived` if the
    run is archived meanwhile.
    """
    run_id = run.started.originator_id
    models = [model.key for model in run.started.models]
    for chunk in range(run.chunks):
        for window in planned_windows(run, read_chunk(connection, run_id, chunk), models):
            yield from iterate_evaluations(connection, window, up_to=up_to, read=read)
            if read is read_streams:  # other readers belong to the holder of the run's lease
                require_attached(connection, run_id)  # recorded before events are removed


def stored_case(streams: Mapping[UUID, Sequence[RecordedEvent]], prompt: UUID) -> Case:
    """The case in a prompt's stream.

    Raises `ImpossibleHistory` if the stream is missing from `streams` or holds anything else.
    """
    rows = streams.get(prompt)
    if not rows:
        raise ImpossibleHistory(f"prompt {prompt} is planned but not in the log")
    event = rows[0].event()
    if not isinstance(event, PromptStored):
        raise ImpossibleHistory(f"stream {event.originator_id} does not begin with PromptStored")
    require(len(rows) == 1, rows[-1].event(), "the stream of a prompt holds its case alone")
    return event.case
