"""`/streams/{stream}`: the events of one stream, in order, all of them or of one type."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from pydantic import Field

from failproof_es.console.page import Page, PageModel, PageRequest
from failproof_es.console.paging import PagedQuery, Paging, integer, one_page
from failproof_es.events import EVENTS
from failproof_es.problems import InvalidInput
from failproof_es.store.reading.experiments import run_numbers
from failproof_es.store.reading.log_pages import ListedEvent, stream_events, stream_topics

_AT_ONCE = 200


class StreamQuery(PagedQuery):
    """The choice of listed events of the stream."""

    topic: str | None = Field(None, max_length=200, description="Only events of this type.")


class StreamPage(PageModel):
    """The events of a stream."""

    stream_id: UUID
    kind: str | None
    """`run`, `evaluation`, `prompt`, ...; `None` where the event types do not tell."""
    run_id: UUID | None
    run_number: int | None
    archived: bool
    """Whether payloads of the listed events are in a file."""
    topics: dict[str, int]
    rows: tuple[ListedEvent, ...]
    paging: Paging


def read_stream(request: PageRequest[StreamQuery]) -> StreamPage:
    """The page of the stream that the path names."""
    connection, query = request.connection, request.query
    stream_id, topics = _stream(request)
    (after,) = query.begin(integer) or (0,)
    events = stream_events(
        connection, stream_id, after=after, topic=query.topic, limit=query.limit + 1
    )
    rows, following = one_page(events, query.limit, lambda event: (event.version,))
    first = (rows or stream_events(connection, stream_id, limit=1))[0]
    run_id = first.run_id
    total = sum(topics.values())
    kinds = {EVENTS[name].stream for name in topics if name in EVENTS}
    return StreamPage(
        as_of=request.as_of,
        stream_id=stream_id,
        kind=kinds.pop() if len(kinds) == 1 else None,
        run_id=run_id,
        run_number=None if run_id is None else run_numbers(connection, [run_id]).get(run_id),
        archived=any(row.archived for row in rows),
        topics=topics,
        rows=rows,
        paging=query.paging(
            rows,
            following,
            matching=total if query.topic is None else topics.get(query.topic, 0),
            total=total,
        ),
    )


def every_event(request: PageRequest[StreamQuery]) -> Iterator[ListedEvent]:
    """All events that match the filter."""
    stream_id, _ = _stream(request)
    after = 0
    while events := stream_events(
        request.connection, stream_id, after=after, topic=request.query.topic, limit=_AT_ONCE
    ):
        yield from events
        after = events[-1].version


def _stream(request: PageRequest[StreamQuery]) -> tuple[UUID, dict[str, int]]:
    """The stream's id, and its number of events by type. Raises `InvalidInput` without any."""
    try:
        stream_id = UUID(request.path["stream"])
    except ValueError:
        topics = {}
    else:
        topics = stream_topics(request.connection, stream_id)
    if not topics:
        raise InvalidInput.because(
            "unknown-stream",
            f"there is no stream {request.path['stream'][:60]!r} in the log",
            remedy="a stream is named by its id: that of a run, an evaluation or a stored case. "
            "Begin at /runs, or search above",
        )
    return stream_id, topics


PAGE = Page(
    name="stream",
    path="/streams/{stream}",
    says="The events of one stream, in order.",
    read=read_stream,
    rows=every_event,
)
