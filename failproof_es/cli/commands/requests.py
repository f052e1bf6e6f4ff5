"""`requests`: the sent requests, their models, and the person who started the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any
from uuid import UUID

import click

from failproof_es.cli.app.chosen_run import print_left_out, say_left_out
from failproof_es.cli.app.option_values import moment_argument
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.rendering.output import Format, format_option, moment, print_json, say
from failproof_es.cli.rendering.request_lines import body_lines
from failproof_es.core.request_body import RequestBodies, SentBody
from failproof_es.engine.history import UNREADABLE, stored_case
from failproof_es.events import Event, RequestSent
from failproof_es.reading.runs_in_window import runs_in_window
from failproof_es.store.reading.reader import (
    Connection,
    RecordedEvent,
    find,
    read_event,
    read_streams,
    resolve_run,
)
from failproof_es.support.timestamps import utc_text
from failproof_es.support.untrusted_text import one_line

_MOST_STREAMS = 500
"""Number of evaluations whose last bodies are held."""


@click.command(cls=CliCommand)
@click.argument("run", required=False)
@click.option(
    "--model", "models", multiple=True, metavar="NAME",
    help="Only requests to this model or judge, by its key or the name that was sent. May be "
    "repeated.",
)  # fmt: skip
@click.option(
    "--case", "cases", multiple=True, metavar="ID",
    help="Only requests for this case, or SUITE/ID, those to judges included. May be repeated.",
)  # fmt: skip
@click.option("--since", type=moment_argument, metavar="TIME", help="Sent at this time or later.")
@click.option("--until", type=moment_argument, metavar="TIME", help="Sent at this time or earlier.")
@format_option(Format.TABLE, Format.JSONL)
def requests(
    run: str | None,
    models: tuple[str, ...],
    cases: tuple[str, ...],
    since: datetime | None,
    until: datetime | None,
    output_format: Format,
) -> None:
    """Print the whole requests, with the person who started the run, and the case.

    Of RUN or of all runs, in the order of the log. Times are those that the log signs, by the clock
    of the host that sent. A request whose text is not the one of the recorded SHA-256 says so. Name
    a run or a time: requests have no index of their own. Archived runs are named on stderr, and as
    JSON also in the last line, `left_out`.
    """
    with session().open_store() as store, store.lend() as connection:
        run_ids = None if run is None else [resolve_run(connection, run)]
        if run_ids is None and (since or until):
            run_ids = runs_in_window(connection, since, until)
        archives = say_left_out(connection, run_ids)
        sent = _SentRequests(connection)
        printed = 0
        topics = (RequestSent.__name__,)
        for row in find(connection, run_ids=run_ids, topics=topics):
            request = row.event()
            assert isinstance(request, RequestSent)
            body = sent.body(request)
            sent_at = request.timestamp
            if (since and sent_at < since) or (until and sent_at > until):
                continue
            if models and not {request.model, request.judge or request.model_key} & set(models):
                continue
            if cases and not {*sent.case_names(request)} & {*cases}:
                continue
            printed += 1
            if output_format is Format.TABLE:
                for line in sent.lines(row, request, body):
                    click.echo(one_line(line))
            else:
                print_json(sent.document(row, request, body), indent=False)
    print_left_out(archives, output_format)
    if not printed:
        say("no request fits")


class _SentRequests:
    """Requests with their whole bodies and their runs; each run and case is looked up once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._started: dict[UUID | None, dict[str, Any]] = {}
        self._cases: dict[UUID, tuple[str, str]] = {}
        self._bodies: dict[UUID, RequestBodies] = {}
        """Request bodies of the evaluations with the latest requests."""
        self._read: set[UUID] = set()

    def document(self, row: RecordedEvent, request: RequestSent, sent: SentBody) -> dict[str, Any]:
        """The request as an object for JSON."""
        started = self._run(row.run_id)
        return {
            "position": row.position,
            "sent_at": utc_text(request.timestamp),
            "recorded_at": utc_text(row.recorded_at),
            "run_number": started.get("run_number"),
            "who": started.get("who"),
            "where": started.get("where"),
            "case": self.case_names(request)[1],
            "model_key": request.model_key,
            "judge": request.judge,
            "model": request.model,
            "endpoint": request.endpoint,
            "attempt": request.attempt,
            "body": sent.text,
            "body_sha256": sent.sha256,
            "is_as_sent": sent.problem is None,
        }

    def lines(self, row: RecordedEvent, request: RequestSent, sent: SentBody) -> Iterator[str]:
        """The request as lines for people, not escaped yet."""
        document = self.document(row, request, sent)
        judge = "" if request.judge is None else f" as {request.judge}"
        by = f"by {document['who']} on {document['where']}"
        sent_at = moment(request.timestamp)
        yield f"{sent_at} UTC  run {document['run_number']} {by}  {document['case']}"
        yield f"  to {request.model}{judge} at {request.endpoint}, attempt {request.attempt}"
        yield from body_lines(document["body"], is_as_sent=document["is_as_sent"])

    def _run(self, run_id: UUID | None) -> dict[str, Any]:
        if run_id not in self._started:
            row = None if run_id is None else read_event(self._connection, run_id, 1)
            self._started[run_id] = {} if row is None else row.upcast_payload()
        return self._started[run_id]

    def case_names(self, request: RequestSent) -> tuple[str, str]:
        """`Case.names` of the case that the request is for; its prompt's id if it is unreadable."""
        prompt = request.prompt_id
        if prompt not in self._cases:
            self._cases[prompt] = (str(prompt), str(prompt))
            with suppress(*UNREADABLE):
                case = stored_case(read_streams(self._connection, [prompt]), prompt)
                self._cases[prompt] = case.names
        return self._cases[prompt]

    def body(self, request: RequestSent) -> SentBody:
        """The whole body. Requests must be passed in the order of the log.

        A request can continue one that was sent before the first one of all: then the requests of
        its evaluation are read from their beginning.
        """
        stream = request.originator_id
        bodies = self._bodies.pop(stream, None) or RequestBodies()
        sent = bodies.rebuild(request)
        if sent.problem is not None and request.continues is not None and stream not in self._read:
            self._read.add(stream)
            bodies = RequestBodies(self._before(request))
            sent = bodies.rebuild(request)
        self._bodies[stream] = bodies
        if len(self._bodies) > _MOST_STREAMS:
            del self._bodies[next(iter(self._bodies))]
            self._read.clear()
        return sent

    def _before(self, request: RequestSent) -> Iterator[Event]:
        stream = request.originator_id
        for row in read_streams(self._connection, [stream]).get(stream, ()):
            if row.version >= request.originator_version:
                return
            if row.topic == RequestSent.__name__:
                yield row.event()
