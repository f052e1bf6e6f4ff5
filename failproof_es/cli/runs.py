"""`runs`: every run on record, newest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from failproof_es.cli.output import Column, Format, format_option, print_rows
from failproof_es.cli.program import Command, session
from failproof_es.cli.recorded_run import RecordedRun
from failproof_es.store.reader import Connection

_COLUMNS = (
    Column("run", "run_number", right=True),
    Column("name", "name"),
    Column("status", "status"),
    Column("started", "started_at"),
    Column("models", "models_shown"),
    Column("finished", "finished_shown", right=True),
    Column("id", "run_id"),
)


@click.command(cls=Command)
@click.option("--limit", type=click.IntRange(min=1), help="How many runs at most.")
@format_option()
def runs(limit: int | None, output_format: Format) -> None:
    """List the runs, newest first."""
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
    for (run_id,) in numbers:
        recorded = RecordedRun.read(connection, run_id)
        started, run = recorded.started, recorded.run
        yield {
            "run_id": str(run_id),
            "run_number": started.run_number,
            "name": started.name,
            "status": run.status,
            "started_at": started.timestamp,
            "dialect": started.dialect,
            "models": [model.key for model in started.models],
            "planned": started.planned_evaluations,
            "finished": run.counts.finished if run.counts else None,
        }


def _for_people(row: dict[str, Any]) -> dict[str, Any]:
    finished = "-" if row["finished"] is None else row["finished"]
    return {
        **row,
        "models_shown": ", ".join(row["models"]),
        "finished_shown": f"{finished}/{row['planned']}",
    }
