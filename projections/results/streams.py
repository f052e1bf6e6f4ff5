"""Reads the streams of evaluations up to a position, for folding by the projection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from uuid import UUID

from failproof_es.core.evaluation import EvaluationKey, ImpossibleHistory, fold
from failproof_es.events import CarriedOver, EvaluationEvent, Event
from failproof_es.store.errors import UnreadableState
from failproof_es.store.reading.carried_over import resolve_reference
from failproof_es.store.reading.reader import (
    Connection,
    RecordedEvent,
    UnreadableEvent,
    portions,
    read_streams,
)
from projections.protocol import Fact

Streams = dict[str, list[Fact]]
"""New events by the id of their stream as text: a `UUID` takes ten times as long to look up."""
UNREADABLE = (ImpossibleHistory, UnreadableState, UnreadableEvent)


class StreamSummary(NamedTuple):
    """The readable events of a stream, up to the first error."""

    history: Sequence[Event]
    broken: Exception | None = None
    carried_over: CarriedOver | None = None


class StreamSlice(NamedTuple):
    """A stream, and the range of positions of its new events."""

    stream: UUID
    first: int
    last: int


def id_array(ids: Iterable[str]) -> str:
    """Ids that are text as a PostgreSQL array in text form. For `UUID` objects use `uuid_array`."""
    return "{" + ",".join(ids) + "}"


def read_slices(
    connection: Connection, stretches: Sequence[StreamSlice]
) -> Iterator[tuple[StreamSlice, list[RecordedEvent]]]:
    """Each slice with the events of its stream up to the slice's end, in version order.

    The list includes the events before the slice, too.
    """
    by_stream = {stretch.stream: stretch for stretch in stretches}
    for portion in portions(connection, list(by_stream)):
        rows = read_streams(connection, portion)
        for stream in portion:
            stretch = by_stream[stream]
            stream_rows = rows.get(stream, [])
            yield stretch, [row for row in stream_rows if row.position <= stretch.last]


def summarize_stream(rows: Iterable[RecordedEvent]) -> StreamSummary:
    """The events in these rows of one stream, up to the first unreadable row.

    If there is one, `broken` is its error.
    """
    history: list[Event] = []
    for row in rows:
        try:
            history.append(row.event())
        except UNREADABLE as error:
            return StreamSummary(history, error)
    return StreamSummary(history)


def key_of(event: Event) -> EvaluationKey | None:
    """The key of the event's evaluation; `None` if the event is not in that evaluation's stream.

    Also `None` for other kinds of events.
    """
    if not isinstance(event, EvaluationEvent) or event.run_id is None:
        return None
    key = EvaluationKey(event.run_id, event.prompt_id, event.model_key, event.repetition)
    return key if key.evaluation_id == event.originator_id else None


def follow_references(
    connection: Connection, summaries: Sequence[tuple[StreamSummary, int]]
) -> list[StreamSummary]:
    """The summaries, with carried-over ones replaced by those of their sources, in order.

    Each is given with the position of its reference: later events of its source cannot have been
    carried over.
    """
    references = [_reference(summary) for summary, _ in summaries]
    stretches = [StreamSlice(r.source_evaluation_id, 0, 0) for r in references if r is not None]
    sources: dict[UUID, list[RecordedEvent]] = {}
    for portion in portions(connection, list({stretch.stream for stretch in stretches})):
        sources.update(read_streams(connection, portion))
    return [
        summary
        if reference is None
        else _followed(
            summary,
            reference,
            [r for r in sources.get(reference.source_evaluation_id, []) if r.position <= position],
        )
        for (summary, position), reference in zip(summaries, references, strict=True)
    ]


def _reference(summary: StreamSummary) -> CarriedOver | None:
    first = summary.history[0] if summary.history else None
    return first if isinstance(first, CarriedOver) else None


def _followed(
    summary: StreamSummary, reference: CarriedOver, source: Sequence[RecordedEvent]
) -> StreamSummary:
    broken = summary.broken
    try:
        fold(summary.history)
        if broken is None:
            return StreamSummary(resolve_reference(reference, source), None, reference)
    except UNREADABLE as error:
        broken = error
    return StreamSummary(summary.history, broken, reference)
