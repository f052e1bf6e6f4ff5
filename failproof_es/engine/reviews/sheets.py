"""The record of the sheets that were exported for reviewers to fill in.

A sheet carries its id in every row. The id is a digest of the run, the reviewer, the position up to
which the sheet shows verdicts, and its blindness; the event `ReviewExported` has all of them.
Whatever happens to the columns of a file, these facts come from the record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from uuid import UUID

import orjson

from failproof_es.engine.operations import operations_of, record_operations
from failproof_es.events import ReviewExported
from failproof_es.store.reading.reader import Connection, find
from failproof_es.store.store import Store

_PREFIX = "sheet-"
"""Prefix that makes an id a text: a spreadsheet would round or rewrite some hexadecimal ids."""
_DIGITS = 32


def sheet_id(run_id: UUID, reviewer: str, position: int, *, blind: bool, queue: str | None) -> str:
    """The id of a sheet for this reviewer that shows the run as of `position`; the same for the
    same arguments. `blind` says that the sheet hides the engine's verdicts; `queue` is the queue
    whose evaluations it has."""
    content = orjson.dumps([str(run_id), reviewer, position, blind, queue])
    return _PREFIX + hashlib.sha256(b"review sheet\n" + content).hexdigest()[:_DIGITS]


def record_export(
    store: Store, run_id: UUID, reviewer: str, position: int, *, blind: bool, queue: str | None
) -> str:
    """Record that a sheet is about to be written; return its id.

    `position`, `blind` and `queue` are as in `sheet_id`. Raises as
    `failproof_es.store.writing.appending.append` does, such as `ReadOnlyLog`.
    """
    sheet = sheet_id(run_id, reviewer, position, blind=blind, queue=queue)
    fields = {
        "sheet": sheet, "reviewer": reviewer, "position": position, "blind": blind, "queue": queue,
    }  # fmt: skip
    record_operations(store, run_id, [(ReviewExported, fields)])
    return sheet


def exports_of(connection: Connection, run_id: UUID) -> Iterator[ReviewExported]:
    """The export of every sheet of the run, first to last."""
    return operations_of(connection, run_id, ReviewExported)


def find_export(connection: Connection, run_id: UUID, sheet: str) -> ReviewExported | None:
    """The recorded export of the sheet with this id; `None` if there is none, or if the id does not
    fit the recorded facts."""
    for export in exports_of(connection, run_id):
        own = sheet_id(
            run_id, export.reviewer, export.position, blind=export.blind, queue=export.queue
        )
        if sheet == export.sheet == own:
            return export
    return None


def run_of_sheet(connection: Connection, sheet: str) -> UUID | None:
    """The run that a sheet with this id was exported of; `None` if no event has the id."""
    for row in find(connection, topics=[ReviewExported.__name__]):
        event = row.event()
        if isinstance(event, ReviewExported) and event.sheet == sheet:
            return event.about
    return None


def saw_engine(connection: Connection, run_id: UUID, reviewer: str) -> bool:
    """Whether a sheet with the engine's verdicts on this run was exported for the reviewer."""
    return any(
        export.reviewer == reviewer and not export.blind
        for export in exports_of(connection, run_id)
    )
