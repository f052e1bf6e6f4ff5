"""`audit`: who did what to a run, when and why (specification 001 § 8.2)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any
from uuid import UUID

import click

from failproof_es.cli.app.chosen_run import print_left_out, say_archived, say_left_out, say_warning
from failproof_es.cli.app.errors import ExitCode
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.rendering.audit_rows import INCOMPLETE, AuditRows
from failproof_es.cli.rendering.output import (
    Column,
    Format,
    columns_of_keys,
    format_option,
    print_rows,
    say,
)
from failproof_es.cli.usage import WrongUsage
from failproof_es.core.case import operations_id, prompt_id, run_id
from failproof_es.core.transcript import AWAITING_REVIEW
from failproof_es.engine.reviews.people import review_rows
from failproof_es.events import EVENTS, CasesPlanned, RunArchived, RunStarted
from failproof_es.problems import InvalidInput
from failproof_es.reading.incomplete_runs import describe_incomplete_runs
from failproof_es.reading.recorded_run import reader_for
from failproof_es.store.reading.reader import (
    Connection,
    RecordedEvent,
    find,
    iterate_streams,
    resolve_run,
)
from projections.audit_trail import AuditRecord, AuditTrail, audit_record, log_record
from projections.protocol import Fact

_COLUMNS = (
    Column("position", "position", right=True),
    Column("time (UTC)", "time"),
    *columns_of_keys("event", "who"),
    *columns_of_keys("case", "model", "says", folds=True),
)
_COLUMNS_OF_ALL = (_COLUMNS[0], *columns_of_keys("run", folds=True), *_COLUMNS[1:])
_ACTS = sorted(
    topic for topic in AuditTrail.topics if {"who", "where"} <= set(EVENTS[topic].model_fields)
)
"""The topics of acts of people. All of them have an index."""
_THROWN_AWAY = sorted(topic for topic in AuditTrail.topics if EVENTS[topic].throws_away)
"""The topics of events without a result. All of them have an index."""
_FILE_LISTS = ("suites", "sources", "written")
"""The fields of events that list files with their SHA-256."""


@click.command(cls=CliCommand)
@click.argument("run", required=False)
@click.option("--all", "every", is_flag=True, help="Every event, with all that it says.")
@click.option(
    "--file", "file", type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Print which events name this file, such as a report: its run, position, time and writer. "
    "Exits 1 if it is not on record.",
)  # fmt: skip
@click.option(
    "--only", type=click.Choice(["thrown-away"]),
    help="thrown-away: refused starts, skipped cases, orphaned requests, abandoned evaluations, "
    "and runs that failed, were given up, archived or hidden, have not ended, or asked a part of "
    "their cases.",
)  # fmt: skip
@format_option(Format.TABLE, Format.JSONL)
def audit(
    run: str | None, every: bool, file: Path | None, only: str | None, output_format: Format
) -> None:
    """Print the audit trail of RUN, of a validation that failed, or of all runs.

    A validation that failed is named by the id that its run would have had, an import by the id
    that it printed.

    The trail holds the resolved configuration, validations, retries, errors and pauses. It
    also holds changed limits, written files and reviews. With --json each line is a record as
    specification 001 § 8.2 defines it: event, timestamp, test_run_id, details. `position` in the
    details is the event's place in the log; a field of that name of its own is `own_position`. The
    projection `audit_trail` holds the same records. Archived runs are named on stderr, and as JSON
    also in the last line, `left_out`.

    Without RUN it has what people did about any run: starts, also refused ones, resumptions,
    runs given up or archived, written files, reviews. With --only thrown-away it has what left no
    result; a `RunStarted` there has `incomplete` in its details, with what the run did not ask or
    end. Its JSON also has `run_number`, `case` and `model`.

    With --all what went as planned is there, too: stored prompts, requests, responses, classes,
    scores, with bodies and stack traces. The view failproof.audit_log holds the same.
    """
    if every and (run is None or file is not None):
        raise WrongUsage("options-conflict", "--all needs RUN, and does not go with --file")
    if only is not None and (every or file is not None):
        raise WrongUsage("options-conflict", "--only does not go with --all and --file")
    digest = None if file is None else _digest(file)
    with session().open_store() as store, store.lend() as connection:
        run_id = None if run is None else _run_id(connection, run)
        archives: list[RunArchived] = []
        if run_id is not None:
            archives = say_archived(connection, run_id)
        elif only is not None:
            archives = say_left_out(connection)
        if only is not None:
            records = _thrown_away(connection, run_id)
        elif run_id is None or digest is not None:
            records = _acts(connection, run_id, digest)
        else:
            records = _every_record(connection, run_id) if every else _records(connection, run_id)
        columns = _COLUMNS_OF_ALL if run_id is None else _COLUMNS
        if digest is not None:
            records = iter(_require_recorded(records, digest))
        rows = AuditRows(connection)
        as_json = AuditRecord.document if only is None else rows.document
        row_of = rows.row if output_format is Format.TABLE else as_json
        print_rows(
            map(row_of, records), columns, output_format, when_empty="no such act is on record"
        )
        if run_id is not None and not archives:  # it may have been archived meanwhile
            archives = say_archived(connection, run_id)
        print_left_out(archives, output_format)


def _require_recorded(records: Iterable[AuditRecord], digest: str) -> list[AuditRecord]:
    """The records that name a file; exits 1 if there are none."""
    recorded = list(records)
    if not recorded:
        say(f"not on record: no event names a file with SHA-256 {digest}")
        click.get_current_context().exit(ExitCode.FAILED)
    return recorded


def _digest(file: Path) -> str:
    """The SHA-256 of a file, in hexadecimal. Raises `InvalidInput` if it cannot be read."""
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise InvalidInput.because(
            "file-unreadable", f"{file}: {error.strerror}", remedy="check the path"
        ) from None


def _acts(connection: Connection, run_id: UUID | None, digest: str | None) -> Iterator[AuditRecord]:
    """Acts of people, on one run or any; with `digest`, the events that name such a file."""
    for row in find(connection, topics=_ACTS):
        if digest is not None and digest.encode() not in row.state:
            continue
        record = audit_record(_fact(row))
        if (
            record is not None
            and (run_id is None or record.test_run_id == str(run_id))
            and (digest is None or digest in _files_named(record.details))
        ):
            yield record


def _thrown_away(connection: Connection, run_id: UUID | None) -> Iterator[AuditRecord]:
    """Events without a result, in one run or any; and the starts of incomplete runs."""
    reader = reader_for(connection)
    say_warning(reader)
    incomplete = describe_incomplete_runs(connection, reader, run_id)
    for row in find(connection, topics=[*_THROWN_AWAY, RunStarted.__name__]):
        record = audit_record(_fact(row))
        if record is None or (run_id is not None and record.test_run_id != str(run_id)):
            continue
        if row.topic == RunStarted.__name__:
            if (text := incomplete.get(row.stream_id)) is not None:
                yield record._replace(details={**record.details, INCOMPLETE: text})
            continue
        is_shown = record.details.get("hidden") is False  # an annotation that hides no run
        is_left_to_people = record.details.get("kind") == AWAITING_REVIEW
        if not (is_shown or is_left_to_people):
            yield record


def _files_named(details: Mapping[str, Any]) -> Iterator[str | None]:
    """The SHA-256 of each file that an event was made from, or that it says was written."""
    yield details.get("sha256")
    yield details.get("file_sha256")
    for file in chain.from_iterable(details.get(name) or () for name in _FILE_LISTS):
        yield file.get("sha256")


def _run_id(connection: Connection, run: str) -> UUID:
    """The id of the run that `run` names.

    An id may also be that of a failed validation or an import, which have no run.
    """
    candidate = run_id(run)
    if any(find(connection, stream_id=operations_id(candidate), limit=1)):
        return candidate
    return resolve_run(connection, run)


def _merged_events(
    connection: Connection,
    run_id: UUID,
    others: Iterable[RecordedEvent] = (),
    topics: Sequence[str] = (),
) -> Iterator[RecordedEvent]:
    """The events of the run, of operations on it, its reviews and `others`, in the log's order."""
    operations = list(find(connection, stream_id=operations_id(run_id), topics=topics))
    reviews = review_rows(connection, run_id)
    own = find(connection, run_id=run_id, topics=topics)
    return merge(own, operations, reviews, others, key=attrgetter("position"))


def _records(connection: Connection, run_id: UUID) -> Iterator[AuditRecord]:
    rows = _merged_events(connection, run_id, topics=sorted(AuditTrail.topics))
    return filter(None, map(audit_record, map(_fact, rows)))


def _every_record(connection: Connection, run_id: UUID) -> Iterator[AuditRecord]:
    """Every event of the run, of operations on it, and of the prompts that it planned.

    The records have the keys of specification 001 § 8.2, in the order of the log.
    """
    planned = [
        prompt_id(digest)
        for row in find(connection, run_id=run_id, topics=[CasesPlanned.__name__])
        for digest in row.payload()["digests"]
    ]
    for row in _merged_events(connection, run_id, iterate_streams(connection, planned)):
        record = log_record(_fact(row))
        yield record._replace(test_run_id=record.test_run_id or str(run_id))


def _fact(row: RecordedEvent) -> Fact:
    run_id = None if row.run_id is None else str(row.run_id)
    return Fact(row.position, str(row.stream_id), row.topic, run_id, row.upcast_payload())
