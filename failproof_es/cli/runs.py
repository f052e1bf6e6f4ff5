"""`runs`: every run on record, newest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from failproof_es.cli.output import Column, Format, format_option, print_rows
from failproof_es.cli.program import Command, session
from failproof_es.cli.recorded_run import RecordedRun
from failproof_es.engine.attempts import GATES, places_of
from failproof_es.store.reader import Connection

_COLUMNS = (
    Column("run", "run_number", right=True),
    Column("name", "name"),
    Column("status", "status"),
    Column("started", "started_at"),
    Column("models", "models_shown"),
    Column("attempt", "attempt_shown", right=True),
    Column("overlapping", "overlapping", right=True),
    Column("finished", "finished_shown", right=True),
    Column("gates", "gates_shown"),
    Column("id", "run_id"),
)


@click.command(cls=Command)
@click.option("--limit", type=click.IntRange(min=1), help="How many runs at most.")
@format_option()
def runs(limit: int | None, output_format: Format) -> None:
    """List the runs, newest first.

    Attempts are the runs that asked the same of the same models; those that overlap asked much
    of the same before (`show RUN` names them).
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
        started, run = recorded.started, recorded.run
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
            "gates_met": run.gates_met,
        }


def _for_people(row: dict[str, Any]) -> dict[str, Any]:
    finished = "-" if row["finished"] is None else row["finished"]
    return {
        **row,
        "models_shown": ", ".join(row["models"]),
        "attempt_shown": row["attempt"] and f"{row['attempt']} of {row['attempts']}",
        "gates_shown": GATES[row["gates_met"]],
        "finished_shown": f"{finished}/{row['planned']}",
    }
