"""Lists archived runs, of which the projections have no rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from uuid import UUID

from failproof_es.engine.annotations import annotations_of
from failproof_es.events import RunAnnotated, RunArchived
from failproof_es.reading.log import LogReader
from failproof_es.reading.result_reader import RunFilter, RunInArchive, UnreadableRun
from failproof_es.store.reading.archives import RunIsArchived, archived_runs
from failproof_es.store.reading.reader import Connection


def list_archived(
    connection: Connection,
    which: RunFilter,
    *,
    limit: int | None = None,
    before: int | None = None,
    up_to: int | None = None,
) -> Iterator[RunInArchive | UnreadableRun]:
    """The archived runs that match `which` but for its status, newest first, at most `limit`.

    With `before`, only runs with smaller numbers. `up_to` is the last position whose annotations
    count; `None`: all do. Reads the own stream of each run that it looks at.
    """
    reader = LogReader(connection)
    which = replace(which, status=None)
    archives, annotations = _choose_shown(connection, which, up_to)
    runs = (
        reader.archived(run_id, archive.run_number, RunIsArchived(archive))
        for run_id, archive in sorted(archives.items(), key=lambda item: -item[1].run_number)
        if before is None or archive.run_number < before
    )
    matching = (
        run
        for run in runs
        if not which.chooses
        or (isinstance(run, RunInArchive) and which.matches(run.run, annotations.get(run.run_id)))
    )
    return islice(matching, limit)


def count_archived(connection: Connection, which: RunFilter, up_to: int | None = None) -> int:
    """Number of archived runs that are hidden or not, as `which` wants it, whatever else it
    wants."""
    archives, _ = _choose_shown(connection, RunFilter(hidden=which.hidden), up_to)
    return len(archives)


def count_matching(connection: Connection, which: RunFilter, up_to: int | None = None) -> int:
    """Number of archived runs that match `which` but for its status."""
    if not replace(which, status=None).chooses:
        return count_archived(connection, which, up_to)
    return sum(1 for _ in list_archived(connection, which, up_to=up_to))


def _choose_shown(
    connection: Connection, which: RunFilter, up_to: int | None
) -> tuple[dict[UUID, RunArchived], dict[UUID, RunAnnotated]]:
    """The archived runs that are hidden or not, as `which` wants it, and annotations if it needs
    them."""
    archives = archived_runs(connection)
    if not archives or not which.reads_annotations:
        return archives, {}
    annotations = annotations_of(connection, list(archives), up_to)
    if which.hidden is not None:
        hidden = {run_id for run_id, annotation in annotations.items() if annotation.hidden}
        archives = {
            run_id: archive
            for run_id, archive in archives.items()
            if (run_id in hidden) == which.hidden
        }
    return archives, annotations
