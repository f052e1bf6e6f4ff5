"""Annotations of runs: a name, tags, a note, and whether lists leave the run out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from failproof_es.core.case import operations_id
from failproof_es.engine.operations import operations_header
from failproof_es.events import RunAnnotated
from failproof_es.problems import InvalidInput
from failproof_es.store.errors import UnreadableState
from failproof_es.store.mapper import decode
from failproof_es.store.reading.reader import Connection
from failproof_es.store.store import Store
from failproof_es.store.writing.appending import append
from failproof_es.store.writing.event_header import Draft

LONGEST_NAME = 200
"""Most characters of a name."""
LONGEST_TAG = 50
"""Most characters of a tag."""
MOST_TAGS = 20
"""Most tags of a run."""
LONGEST_NOTE = 2_000
"""Most characters of a note."""
_AT_ONCE = 8
"""Annotations of a run that one query reads, from the newest on: the first valid one counts."""
_NEWEST_FIRST = (
    "SELECT event.* FROM unnest(%s::uuid[], %s::bigint[]) AS stream (id, below) "
    "CROSS JOIN LATERAL (SELECT topic, state, originator_id, originator_version "
    "FROM failproof.stored_events WHERE topic = 'RunAnnotated' AND originator_id = stream.id "
    "AND originator_version < stream.below AND (%s::bigint IS NULL OR notification_id <= %s) "
    f"ORDER BY originator_version DESC LIMIT {_AT_ONCE}) AS event "
    "ORDER BY originator_id, originator_version DESC"
)
_ABOVE_ALL = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationChange:
    """A change of a run's annotation; `None` keeps a value, an empty text removes it."""

    name: str | None = None
    tags: tuple[str, ...] = ()
    """Tags to add."""
    untag: tuple[str, ...] = ()
    """Tags to remove."""
    note: str | None = None
    hidden: bool | None = None


def annotate(store: Store, run_id: UUID, change: AnnotationChange) -> RunAnnotated | None:
    """Record the run's annotation after `change`; `None` if nothing would differ.

    Raises `InvalidInput` for a text that is too long, or too many tags; else as
    `failproof_es.store.writing.appending.append` does, such as `ReadOnlyLog`.
    """

    def decide(connection: Connection) -> Iterator[Draft]:
        before = annotations_of(connection, [run_id]).get(run_id)
        fields = _changed(before, change)
        if fields != _fields(before):
            name, tags, note, hidden = fields
            header = operations_header(run_id)
            yield Draft(RunAnnotated, header, name=name, tags=tags, note=note, hidden=hidden)

    events = append(store, decide)
    return events[0] if events and isinstance(events[0], RunAnnotated) else None


def annotations_of(
    connection: Connection, runs: Sequence[UUID], up_to: int | None = None
) -> dict[UUID, RunAnnotated]:
    """The last annotation of each of these runs, by run id; runs without one are missing.

    `up_to` is the last position that counts; `None` counts all. An event that is damaged or about
    another run leaves the annotation before it: `verify` reports it.
    """
    streams = {operations_id(run_id): run_id for run_id in runs}
    cursor = connection.cursor(binary=True)
    annotations: dict[UUID, RunAnnotated] = {}
    below = dict.fromkeys(streams, _ABOVE_ALL)
    while below:
        values = (list(below), list(below.values()), up_to, up_to)
        rows = cursor.execute(_NEWEST_FIRST, values).fetchall()
        read = Counter(stream for _, _, stream, _ in rows)
        below = {}
        for row in rows:
            stream, version = row[2:]
            if streams[stream] in annotations:
                continue
            event = _annotation_in(row, streams[stream])
            if event is not None:
                annotations[streams[stream]] = event
                below.pop(stream, None)
            elif read[stream] == _AT_ONCE:
                below[stream] = version
    return annotations


def _annotation_in(row: Sequence[Any], run_id: UUID) -> RunAnnotated | None:
    """The annotation of the run in a row of an event; `None` if it is damaged or of another run."""
    try:
        event = decode(*row)
    except UnreadableState:
        return None
    return event if isinstance(event, RunAnnotated) and event.about == run_id else None


_Fields = tuple[str | None, tuple[str, ...], str | None, bool]


def _fields(annotation: RunAnnotated | None) -> _Fields:
    if annotation is None:
        return None, (), None, False
    return annotation.name, annotation.tags, annotation.note, annotation.hidden


def _changed(before: RunAnnotated | None, change: AnnotationChange) -> _Fields:
    """The fields after `change`. Raises `InvalidInput` for values beyond their bounds."""
    name, tags, note, hidden = _fields(before)
    added = tuple(dict.fromkeys(tag.strip() for tag in (*tags, *change.tags)))
    fields = (
        name if change.name is None else change.name.strip() or None,
        tuple(tag for tag in added if tag not in change.untag),
        note if change.note is None else change.note.strip() or None,
        hidden if change.hidden is None else change.hidden,
    )
    _require_bounds(*fields)
    return fields


def _require_bounds(
    name: str | None, tags: tuple[str, ...], note: str | None, hidden: bool
) -> None:
    texts = (("name", name or "", LONGEST_NAME), ("note", note or "", LONGEST_NOTE))
    for what, text, most in (*texts, *(("tag", tag, LONGEST_TAG) for tag in tags)):
        if len(text) > most:
            raise InvalidInput.because(
                "limit-exceeded",
                f"the {what} has {len(text):,} characters",
                remedy=f"use at most {most:,}",
            )
    if "" in tags or any("," in tag for tag in tags):
        raise InvalidInput.because(
            "invalid-value",
            "a tag is empty or has a comma in it",
            remedy="give each tag with its own --tag",
        )
    if len(tags) > MOST_TAGS:
        raise InvalidInput.because(
            "limit-exceeded",
            f"the run would have {len(tags)} tags",
            remedy=f"use at most {MOST_TAGS}: --untag",
        )
