"""`/runs/{run}/archive`: the rest of an archived run in the log, and how to attach the run."""

from __future__ import annotations

from datetime import datetime
from shlex import quote
from uuid import UUID

from failproof_es.console.page import Page, PageModel, PageRequest
from failproof_es.console.paging import Query
from failproof_es.core.case import operations_id
from failproof_es.engine.history import read_run
from failproof_es.problems import InvalidInput
from failproof_es.store.reading.archives import archive_of, archived_by
from failproof_es.store.reading.log_pages import stream_topics
from failproof_es.store.reading.reader import read_event, resolve_run


class ArchivePage(PageModel):
    """An archived run: the events in the log, the removed events, and the file."""

    run_id: UUID
    run_number: int
    name: str
    status: str
    """The ending of the run."""
    reason: str | None
    started_at: datetime
    planned: int
    finished: int | None = None
    """Counted at the run's end; `None` where nothing was counted."""
    scored: int | None = None
    abandoned: int | None = None
    gates_met: bool | None
    first_event: int
    """Position of the run's first event, which stayed."""
    kept: dict[str, int]
    """Number of events of the run's own stream by type: they stayed."""
    archived_at: datetime
    archived_event: int
    """Position of the event that archived the run."""
    operations_id: UUID
    """The stream of that event."""
    file: str
    bytes: int
    sha256: str
    attach: str
    """The command that attaches the run."""
    tree_size: int
    tree_root: str
    """Size and root (hexadecimal) of the checkpoint under which it was archived."""
    streams: int
    events: int
    topics: dict[str, int]
    """Number of events that left, by type."""
    first_position: int
    last_position: int
    first_index: int
    last_index: int


def read_archive(request: PageRequest[Query]) -> ArchivePage:
    """The archive of the run that the path names."""
    connection = request.connection
    run_id = resolve_run(connection, request.path["run"])
    archive, position = archive_of(connection, run_id), archived_by(connection, run_id)
    first = read_event(connection, run_id, 1)
    if archive is None or position is None or first is None:
        raise InvalidInput.because(
            "run-not-archived",
            "this run is not archived",
            remedy="its page has everything: /runs/RUN",
        )
    run = read_run(connection, run_id)
    return ArchivePage.copy_of(
        archive,
        run.started,
        run,
        run.counts,
        as_of=request.as_of,
        run_id=run_id,
        started_at=run.started.timestamp,
        planned=run.started.planned_evaluations,
        first_event=first.position,
        kept=stream_topics(connection, run_id),
        archived_at=archive.timestamp,
        archived_event=position,
        operations_id=operations_id(run_id),
        attach=f"failproof-es attach {quote(archive.file)}",
    )


PAGE = Page(
    name="archive",
    path="/runs/{run}/archive",
    says="What the log still holds of an archived run, and where the rest is.",
    read=read_archive,
)
