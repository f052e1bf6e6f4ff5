"""`runs`: every run on record, newest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from failproof_es.cli.output import Column, Format, format_option, print_rows
from failproof_es.cli.program import Command, session
from failproof_es.cli.reading import say_warning
from failproof_es.cli.suite_table import passed_of, percent
from failproof_es.engine.attempts import GATES, places_of
from failproof_es.reading.recorded_run import feeder_for
from failproof_es.report.wording import usd
from failproof_es.store.reader import Connection
from failproof_es.summary import RunSummary

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
@click.option("--limit", type=click.IntRange(min=1), help="How many runs at most.")
@format_option()
def runs(limit: int | None, output_format: Format) -> None:
    """List the runs, newest first.

    Passed is of the evaluations that passed or failed, of each model; the cost is that of all
    answers, judges included, and `-` where a price or a count of tokens is unknown; finished is
    what was scored or abandoned, of what was planned. Attempts are the runs
    that asked the same of the same models; those that overlap asked much of the same before
    (`show RUN` names them).
    """
    with session().open_store() as store, store.connect() as connection:
        rows = _rows(connection, limit)
        if output_format is Format.TABLE:
            print_rows(map(_for_people, rows), _COLUMNS, output_format)
        else:
            print_rows(rows, _COLUMNS, output_format)


def _rows(connection: Connection, limit: int | None) -> Iterator[dict[str, Any]]:
    feeder = feeder_for(connection)
    say_warning(feeder)
    places = places_of(connection)
    for summary in feeder.summaries(limit=limit):
        started, run = summary.run.started, summary.run
        attempt, attempts = places.get(summary.run_id, (None, None))
        asked = started.experiment
        yield {
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
