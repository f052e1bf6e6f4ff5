"""`runs`: every run on record, newest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from failproof_es.cli.output import Column, Format, format_option, print_rows
from failproof_es.cli.program import Command, session
from failproof_es.cli.suite_table import percent
from failproof_es.engine.attempts import GATES, places_of
from failproof_es.reading.recorded_run import RecordedRun
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

    Passed is of the evaluations that were scored, of each model; the cost is that of all answers,
    judges included, and `-` where a price or a count of tokens is unknown. Attempts are the runs
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
    numbers = connection.execute(
        "SELECT run_id FROM failproof.run_list ORDER BY run_number DESC LIMIT %s", (limit,)
    ).fetchall()
    places = places_of(connection)
    for (run_id,) in numbers:
        recorded = RecordedRun.read(connection, run_id)
        started, run, summary = recorded.started, recorded.run, recorded.summary
        attempt, attempts = places.get(run_id, (None, None))
        asked = started.experiment
        yield {
            "run_id": str(run_id),
            "run_number": started.run_number,
            "name": started.name,
            "status": run.status,
            "started_at": started.timestamp,
            "dialect": started.dialect,
            "models": [model.key for model in started.models],
            "experiment": None if asked is None else asked.digest,
            "attempt": attempt,
            "attempts": attempts,
            "overlapping": None if asked is None else asked.overlapping,
            "planned": started.planned_evaluations,
            "finished": run.counts.finished if run.counts else None,
            "passed": list(_passed(summary)),
            "gates_met": run.gates_met,
            "cost_usd": None if summary.unpriced else float(summary.spent.known_usd),
        }


def _passed(summary: RunSummary) -> Iterator[dict[str, Any]]:
    """Of each model k of n that were scored, what was carried over included."""
    for model in summary.models:
        group = summary.group(model=model)
        yield {
            "model": model,
            "passed": group.passed,
            "scored": group.scored,
            "rate": group.pass_rate,
        }


def _told(passed: Sequence[dict[str, Any]]) -> str:
    """`18/20 (90.0%)`; of several models each under its name, one after the other."""
    several = len(passed) > 1
    return ", ".join(
        (f"{each['model']} " if several else "")
        + f"{each['passed']:,}/{each['scored']:,} ({percent(each['rate'])})"
        for each in passed
    )


def _for_people(row: dict[str, Any]) -> dict[str, Any]:
    finished = "-" if row["finished"] is None else row["finished"]
    return {
        **row,
        "models_shown": ", ".join(row["models"]),
        "attempt_shown": row["attempt"] and f"{row['attempt']} of {row['attempts']}",
        "passed_shown": _told(row["passed"]),
        "cost_shown": None if row["cost_usd"] is None else usd(row["cost_usd"]),
        "gates_shown": GATES[row["gates_met"]],
        "finished_shown": f"{finished}/{row['planned']}",
    }
