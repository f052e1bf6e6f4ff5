"""Operations on a run, recorded on a stream of their own.

A run's own stream has one writer and is sealed when the run ends. Checks happen before a run
begins, and files are written during and after it: these are recorded here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar
from uuid import UUID

from failproof_es.core.case import operations_id
from failproof_es.engine.identity import current_host, current_user
from failproof_es.events import OperationEvent
from failproof_es.store.reading.reader import Connection, find
from failproof_es.store.store import Store
from failproof_es.store.writing.appending import append_drafts
from failproof_es.store.writing.event_header import Draft, EventHeader

E = TypeVar("E", bound=OperationEvent)
Operation = tuple[type[OperationEvent], dict[str, Any]]


def record_operations(store: Store, run_id: UUID, operations: Sequence[Operation]) -> None:
    """Append operations, each an event type with its fields, to the stream of operations of the
    run. Raises as `failproof_es.store.writing.appending.append` does, such as `ReadOnlyLog`."""
    header = operations_header(run_id)
    append_drafts(store, [Draft(kind, header, **fields) for kind, fields in operations])


def operations_of(
    connection: Connection, run_id: UUID, kind: type[E], up_to: int | None = None
) -> Iterator[E]:
    """The operations of this type on the run up to a position (`None`: all), first to last."""
    topics = [kind.__name__]
    for row in find(connection, stream_id=operations_id(run_id), topics=topics, up_to=up_to):
        event = row.event()
        if isinstance(event, kind):
            yield event


def operations_header(run_id: UUID) -> EventHeader:
    """The header of an operation on the run, by the user of this process."""
    return EventHeader(
        operations_id(run_id), None, about=run_id, who=current_user(), where=current_host()
    )
