"""`runs`: every run on record, newest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import click

from failproof_es.cli.output import Column, Format, format_option, print_rows
from failproof_es.cli.program import Command, session
from failproof_es.cli.reading import say_warning
from failproof_es.cli.suite_table import passed_of, percent
from failproof_es.engine.attempts import GATES, Places
from failproof_es.reading.recorded_run import feeder_for
from failproof_es.report.wording import usd
from failproof_es.store.reader import Connection
from failproof_es.summary import RunSummary

_PAGE = 100
"""So many runs are read at once."""
_COLUMNS = (
    Column("run", "run_number", right=True),
    Column("name", "name"),
    Column("status", "status"),
    Column("started", "started_at"),
    Column("models", "models_shown"),
    Column("attempt", "attempt_shown", right=True),
    Column("overlapping", "overlapping", right=True),
    Column("finished", "finished_shown", right=True),
    Column("passed", "passed_shown"),
    Column("gates", "gates_shown"),
    Column("cost", "cost_shown", right=True),
    Column("id", "run_id"),
)


@click.command(cls=Command)
@click.option("--limit", type=click.IntRange(min=1), help="List at most this many runs.")
@format_option()
def runs(limit: int | None, output_format: Format) -> None:
    """List the runs, newest first.

    They are printed as they are read, a hundred at a time.

    \b
    attempt      which attempt at the same experiment this is: the same cases and models
    overlapping  how many earlier runs asked much of the same; `show RUN` names them
    finished     the evaluations scored or abandoned, of those planned
    passed       the share that passed, of those that passed or failed, for each model
    cost         of all answers, judges included; `-` if a price or a token count is unknown
    """
    with session().open_store() as store, store.connect() as connection:
        rows = listed(connection, limit)
        if output_format is Format.TABLE:
            print_rows(map(_for_people, rows), _COLUMNS, output_format)
        else:
            print_rows(rows, _COLUMNS, output_format)


def listed(connection: Connection, limit: int | None) -> Iterator[dict[str, Any]]:
    """What is printed of every run, newest first; a hundred of them are read at a time."""
    feeder = feeder_for(connection)
    say_warning(feeder)
    places, summaries = Places(connection), feeder.summaries(limit=limit)
    while page := list(islice(summaries, _PAGE)):
        known = places.of([each.run_id for each in page])
        yield from (_row(each, *known.get(each.run_id, (None, None))) for each in page)


def _row(summary: RunSummary, attempt: int | None, attempts: int | None) -> dict[str, Any]:
    started, run = summary.run.started, summary.run
    asked = started.experiment
    return {
        "run_id": str(summary.run_id),
        "run_number": started.run_number,
        "name": started.name,
        "status": run.status,
        "started_at": started.timestamp,
        "dialect": started.dialect,
        "models": list(summary.models),
        "experiment": None if asked is None else asked.digest,
        "attempt": attempt,
        "attempts": attempts,
        "overlapping": None if asked is None else asked.overlapping,
        "planned": summary.planned,
        "finished": summary.total.finished,
        "passed": list(_passed(summary)),
        "gates_met": run.gates_met,
        "cost_usd": None if summary.cost_usd is None else float(summary.cost_usd),
    }


def _passed(summary: RunSummary) -> Iterator[dict[str, Any]]:
    """Of each model how many passed, failed and were scored, what was carried over included."""
    for model in summary.models:
        group = summary.group(model=model)
        yield {
            "model": model,
            "passed": group.passed,
            "failed": group.failed,
            "scored": group.scored,
            "rate": group.pass_rate,
        }


def _told(passed: Sequence[dict[str, Any]]) -> str:
    """`18/20 (90.0%)`; of several models each under its name, one after the other."""
    several = len(passed) > 1
    return ", ".join(
        (f"{each['model']} " if several else "")
        + f"{passed_of(each['passed'], each['failed'])} ({percent(each['rate'])})"
        for each in passed
    )


def _for_people(row: dict[str, Any]) -> dict[str, Any]:
    return {
        **row,
        "models_shown": ", ".join(row["models"]),
        "attempt_shown": row["attempt"] and f"{row['attempt']} of {row['attempts']}",
        "passed_shown": _told(row["passed"]),
        "cost_shown": None if row["cost_usd"] is None else usd(row["cost_usd"]),
        "gates_shown": GATES[row["gates_met"]],
        "finished_shown": f"{row['finished']}/{row['planned']}",
    }
