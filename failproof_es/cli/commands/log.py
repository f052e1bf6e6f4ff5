"""`log`: the events themselves, for auditors."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any
from uuid import UUID

import click
import orjson

from failproof_es.cli.app.chosen_run import print_left_out, say_archived, say_left_out
from failproof_es.cli.app.next_page import say_next_page
from failproof_es.cli.app.option_values import moment_argument
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.rendering.output import Format, format_option
from failproof_es.events import EVENTS
from failproof_es.events.line import line_of
from failproof_es.reading.case_names import CaseNames
from failproof_es.store.reading.experiments import run_numbers
from failproof_es.store.reading.reader import (
    Connection,
    RecordedEvent,
    find,
    max_position,
    resolve_run,
)
from failproof_es.support.untrusted_text import json_text, one_line, shortened

_FOLLOW_EVERY_S = 0.5
_SUMMARY_WIDTH = 96
_AT_ONCE = 100
_LINE = "{:>9}  {:<26}  {:<19}  {:<36}  {:>3}  {}"
_HEADING = _LINE.format("position", "recorded (UTC)", "event", "stream", "v", "says")


@click.command(cls=CliCommand)
@click.argument("run", required=False)
@click.option("--stream", type=click.UUID, metavar="ID", help="Only this stream's events.")
@click.option(
    "--type",
    "types",
    multiple=True,
    type=click.Choice(sorted(EVENTS)),
    metavar="EVENT",
    help="Only events of this type, e.g. ErrorRecorded. Can be repeated.",
)
@click.option(
    "--after", type=int, metavar="POSITION", help="Only events after this position of the log."
)
@click.option("--up-to", type=int, metavar="POSITION", help="Only events up to this position.")
@click.option(
    "--since", type=moment_argument, metavar="TIME", help="Recorded at this time or later."
)
@click.option(
    "--until", type=moment_argument, metavar="TIME", help="Recorded at this time or earlier."
)
@click.option("--limit", type=click.IntRange(min=1), help="How many events at most.")
@click.option("--follow", "-f", is_flag=True, help="Keep printing new events until interrupted.")
@format_option(Format.TABLE, Format.JSONL)
def log(
    run: str | None,
    stream: UUID | None,
    types: tuple[str, ...],
    after: int | None,
    up_to: int | None,
    since: datetime | None,
    until: datetime | None,
    limit: int | None,
    follow: bool,
    output_format: Format,
) -> None:
    """Print the events of the log, or of RUN, in commit order.

    Times are the database's own. A line of JSON carries the payload exactly as it is
    stored, byte for byte (on a terminal, control characters are shown as JSON escapes).
    The prompts of a run are streams of their own: find them with --type PromptStored. Archived
    runs are named on stderr, and as JSON also in the last line, `left_out`. The command for the
    events behind --limit is on stderr.
    """
    # The database's counter has a maximum. One event more tells whether there is a next page.
    limit = None if limit is None else min(limit, sys.maxsize - 1)
    at_most = limit if limit is None or follow else limit + 1
    with session().open_store() as store, store.lend() as connection:
        filters: dict[str, Any] = {
            "run_id": None if run is None else resolve_run(connection, run),
            "stream_id": stream,
            "topics": types,
            "up_to": up_to,
            "since": since,
            "until": until,
        }
        run_id = filters["run_id"]
        archives = [] if run_id is None else say_archived(connection, run_id)
        if run_id is None and stream is None:
            archives = say_left_out(connection)
        events = _follow if follow else find
        remaining = events(connection, after=after, limit=at_most, **filters)
        rows = islice(remaining, limit)
        if output_format is Format.JSONL:
            _print_lines(rows, flush=follow)
        else:
            click.echo(_HEADING)
            width = _summary_width()
            names = CaseNames(connection)
            while window := list(islice(rows, 1 if follow else _AT_ONCE)):
                names.read(window)
                for row in window:
                    click.echo(_table_line(row, width, names.of(row)))
        if run_id is not None and not archives:  # it may have been archived meanwhile
            archives = say_archived(connection, run_id)
        if not follow and (event := next(remaining, None)) is not None:
            number = run_id and run_numbers(connection, [run_id]).get(run_id, run_id)
            say_next_page("later events", run=number, after=event.position - 1)
        print_left_out(archives, output_format)


def _follow(
    connection: Connection, *, after: int | None, limit: int | None, **filters: Any
) -> Iterator[RecordedEvent]:
    """Every matching event, also later ones as they come, until `limit` or `up_to` is reached.

    `filters` are as for `find`; `after` is a position, `None` for the beginning.
    """
    position = after or 0
    remaining = limit
    while remaining is None or remaining > 0:
        newest = max_position(connection)
        if newest > position:
            for row in find(connection, after=position, limit=remaining, **filters):
                yield row
                position = row.position
                remaining = None if remaining is None else remaining - 1
            position = max(position, newest)
        if filters["up_to"] is not None and position >= filters["up_to"]:
            return
        time.sleep(_FOLLOW_EVERY_S)


def _print_lines(rows: Iterator[RecordedEvent], *, flush: bool) -> None:
    """Write each event as a JSON line of exact bytes; on a terminal, escape control characters.

    `flush` shows each line at once.
    """
    to_terminal = sys.stdout.isatty()
    out = sys.stdout.buffer
    for row in rows:
        line = json_line(row)
        out.write((json_text(line.decode()).encode() if to_terminal else line) + b"\n")
        if flush:
            out.flush()
    out.flush()


def json_line(row: RecordedEvent) -> bytes:
    """The event as one line of JSON without a line feed, its payload exactly as stored.

    Raises `UnreadableEvent` if the payload is not a JSON object: the line would not be JSON.
    """
    row.payload()
    head = orjson.dumps(
        {
            "position": row.position,
            "stream_id": row.stream_id,
            "stream_version": row.version,
            "event_type": row.topic,
            "run_id": row.run_id,
            "recorded_at": row.recorded_at.astimezone(UTC),
        },
        option=orjson.OPT_UTC_Z,
    )
    return head[:-1] + b',"payload":' + row.state + b"}"


def _table_line(row: RecordedEvent, width: int, case: str | None) -> str:
    """The event as a line of fixed columns; its content has at most `width` characters.

    So a log of any length prints while it is read. The content begins with the name of its case.
    """
    recorded = row.recorded_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    place = (row.position, recorded, one_line(row.topic), str(row.stream_id), row.version)
    return _LINE.format(*place, summary(row, width, case))


def _summary_width() -> int:
    """The width, in characters, that the fixed columns leave on the terminal."""
    if not sys.stdout.isatty():
        return _SUMMARY_WIDTH
    return max(shutil.get_terminal_size().columns - len(_HEADING) + len("says"), 16)


def summary(row: RecordedEvent, width: int = _SUMMARY_WIDTH, case: str | None = None) -> str:
    """The event's content in a few words, at most `width` characters, for the table only.

    `case` is the name of its case, to be put first.
    """
    content = line_of(row.topic, row.payload())
    return shortened(one_line(": ".join(filter(None, (case, content)))), width)
