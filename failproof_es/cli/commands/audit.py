"""`audit`: who did what to a run, when and why (specification 001 § 8.2)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from heapq import merge
from operator import attrgetter
from typing import Any
from uuid import UUID

import click
import orjson

from failproof_es.cli.app.chosen_run import say_archived
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.rendering.audit_rows import AuditRows
from failproof_es.cli.rendering.output import Column, Format, format_option, print_rows
from failproof_es.core.case import operations_id, prompt_id, run_id
from failproof_es.engine.reviews.people import review_rows
from failproof_es.events import CasesPlanned
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
    Column("event", "event"),
    Column("who", "who"),
    Column("case", "case"),
    Column("model", "model"),
    Column("says", "says"),
)


@click.command(cls=CliCommand)
@click.argument("run")
@click.option("--all", "every", is_flag=True, help="Every event, with all that it says.")
@format_option(Format.TABLE, Format.JSONL)
def audit(run: str, every: bool, output_format: Format) -> None:
    """Print the audit trail of RUN, or of a validation that failed.

    A validation that failed is named by the id that its run would have had, an import by the id
    that it printed.

    The trail holds the resolved configuration, validations, retries, errors and pauses. It
    also holds changed limits, written files and reviews. With --json each line is a record as
    specification 001 § 8.2 defines it: event, timestamp, test_run_id, details. The projection
    `audit_trail` holds the same.

    With --all what went as planned is there, too: stored prompts, requests, responses, classes,
    scores, with bodies and stack traces. The view failproof.audit_log holds the same.
    """
    with session().open_store() as store, store.connect() as connection:
        run_id = _run_id(connection, run)
        was_archived = say_archived(connection, run_id)
        records = _every_record(connection, run_id) if every else _records(connection, run_id)
        if output_format is Format.JSONL:
            for record in records:
                sys.stdout.buffer.write(orjson.dumps(record, option=orjson.OPT_UTC_Z) + b"\n")
            sys.stdout.buffer.flush()
        else:
            print_rows(map(AuditRows(connection).row, records), _COLUMNS, output_format)
        if not was_archived:  # else it may have been archived meanwhile
            say_archived(connection, run_id)


def _run_id(connection: Connection, run: str) -> UUID:
    """The id of the run that `run` names.

    An id may also be that of a failed validation or an import, which have no run.
    """
    candidate = run_id(run)
    if any(find(connection, stream_id=operations_id(candidate), limit=1)):
        return candidate
    return resolve_run(connection, run)


def _records(connection: Connection, run_id: UUID) -> Iterator[dict[str, Any]]:
    topics = sorted(AuditTrail.topics)
    reviews = review_rows(connection, run_id)
    operations = list(find(connection, stream_id=operations_id(run_id), topics=topics))
    own = find(connection, run_id=run_id, topics=topics)
    for row in merge(own, operations, reviews, key=attrgetter("position")):
        record = audit_record(_fact(row))
        if record is not None:
            yield _as_specified(record)


def _every_record(connection: Connection, run_id: UUID) -> Iterator[dict[str, Any]]:
    """Every event of the run, of operations on it, and of the prompts that it planned.

    The records have the keys of specification 001 § 8.2, in the order of the log.
    """
    planned = [
        prompt_id(digest)
        for row in find(connection, run_id=run_id, topics=[CasesPlanned.__name__])
        for digest in row.payload()["digests"]
    ]
    operations = list(find(connection, stream_id=operations_id(run_id)))
    reviews = review_rows(connection, run_id)
    prompts = iterate_streams(connection, planned)
    own = find(connection, run_id=run_id)
    for row in merge(own, operations, reviews, prompts, key=attrgetter("position")):
        record = log_record(_fact(row))
        yield _as_specified(record._replace(test_run_id=record.test_run_id or str(run_id)))


def _as_specified(record: AuditRecord) -> dict[str, Any]:
    fields = record._asdict()
    place = {"position": fields.pop("position")}
    return {**fields, "details": {**place, **fields["details"]}}


def _fact(row: RecordedEvent) -> Fact:
    run_id = None if row.run_id is None else str(row.run_id)
    return Fact(row.position, str(row.stream_id), row.topic, run_id, row.upcast_payload())
