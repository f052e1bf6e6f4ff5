"""Finds the run that a command is about: by number or id, now or in the past."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any
from uuid import UUID

import click

from failproof_es.cli.app.as_of import position_of
from failproof_es.cli.rendering.output import Format, print_rows, say
from failproof_es.events import RunArchived
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.reading.result_reader import ResultReader
from failproof_es.store.reading.archives import RunIsArchived, archive_of, archived_runs
from failproof_es.store.reading.reader import Connection, resolve_run
from failproof_es.support.plurals import plural

_MOST_ARCHIVES = 5
_META_KEY = "failproof_es.cli.app.chosen_run.said"


def read_run(connection: Connection, run: str, as_of: str | None = None) -> RecordedRun:
    """The run that `run` names (number, id or `latest`), as it was at `as_of`, else now.

    Warns if the projections are behind. Raises `InvalidInput` if there is no such run or time.
    """
    run_id = resolve_run(connection, run)
    position = None if as_of is None else position_of(connection, as_of)
    return with_warning(RecordedRun.read(connection, run_id, position))


def with_warning(run: RecordedRun) -> RecordedRun:
    """The same run, after a warning on stderr if it is read from the log, not the projections."""
    say_warning(run.reader)
    return run


def say_archived(connection: Connection, run_id: UUID) -> list[RunArchived]:
    """If the run's events are in an archive file, say so on stderr; return its `RunArchived`."""
    archive = archive_of(connection, run_id)
    if archive is None:
        return []
    say(f"what happened in its evaluations is not here: {RunIsArchived(archive)}")
    return [archive]


def say_left_out(connection: Connection, runs: Collection[UUID] | None = None) -> list[RunArchived]:
    """Say on stderr which of these runs are archived, and what attaches each; `None`: of all runs.

    For commands that read events or rows of several runs: those of archived runs are missing.
    Returns the `RunArchived` of each, for `left_out_rows`.
    """
    archives = [
        archive
        for run_id, archive in archived_runs(connection).items()
        if runs is None or run_id in runs
    ]
    if not archives:
        return []
    say(f"not in this answer, because archived: {plural(len(archives), 'run')}")
    for archive in archives[-_MOST_ARCHIVES:]:
        say(f"  {RunIsArchived(archive)}")
    if (more := len(archives) - _MOST_ARCHIVES) > 0:
        say(f"  and {plural(more, 'older one')}: `failproof-es runs`")
    return archives


def print_left_out(archives: Sequence[RunArchived], output_format: Format) -> None:
    """Print the row of `left_out_rows` if the answer is JSON lines."""
    if output_format is Format.JSONL:
        print_rows(left_out_rows(archives), (), output_format)


def left_out_rows(
    archives: Sequence[RunArchived], others: Sequence[dict[str, Any]] = ()
) -> Iterator[dict[str, Any]]:
    """The last row of an answer in JSON: the archived runs that it lacks, and `others`.

    No row if it lacks nothing.
    """
    archived = [
        {
            "run_number": archive.run_number,
            "run_id": archive.about,
            "why": "archived",
            "file": archive.file,
            "sha256": archive.sha256,
            "events": archive.events,
        }
        for archive in archives
    ]
    if archived or others:
        yield {"left_out": [*archived, *others]}


def say_warning(reader: ResultReader) -> None:
    """Say on stderr why the log is read instead of the projections, if it is; once per command."""
    context = click.get_current_context(silent=True)
    warnings = set[str]() if context is None else context.meta.setdefault(_META_KEY, set())
    if reader.warning is not None and reader.warning not in warnings:
        warnings.add(reader.warning)
        say(f"warning: {reader.warning}")
