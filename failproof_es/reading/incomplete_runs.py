"""The runs that did not ask all of their cases, have not ended, or cannot be counted."""

from __future__ import annotations

from uuid import UUID

from failproof_es.core.run import describe_shortfall
from failproof_es.events.base import DRIVEN
from failproof_es.reading.listed_runs import ListedRun, list_runs
from failproof_es.reading.result_reader import EVERY_RUN, ResultReader, RunFilter
from failproof_es.store.reading.reader import Connection


def describe_incomplete_runs(
    connection: Connection, reader: ResultReader, run_id: UUID | None = None
) -> dict[UUID, str]:
    """In words, why each such run is incomplete; of all runs, or of one."""
    which = EVERY_RUN if run_id is None else RunFilter(text=str(run_id))
    described = (
        (run.run_id, describe_incomplete(run)) for run in list_runs(connection, reader, which=which)
    )
    return {run: text for run, text in described if text is not None}


def describe_incomplete(run: ListedRun) -> str | None:
    """The cases that the run did not ask or has not ended, or why that is unknown; `None` if none.

    The events that end a run early have its counts.
    """
    if run.problem is not None:
        return f"its evaluations cannot be counted: {run.problem}"
    parts = []
    if run.planned and run.unfinished and run.status in DRIVEN:
        parts.append(describe_shortfall(run.unfinished, run.planned, run.status))
    if run.selection is not None:
        parts.append(f"asked {run.selection}")
    return "; ".join(parts) or None
