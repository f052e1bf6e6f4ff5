"""`case`: one case over all runs and models."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from failproof_es.cli.app.next_page import say_next_page
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.rendering.output import Column, Format, format_option, print_rows
from failproof_es.cli.rendering.sanitise import shortened
from failproof_es.core.people import describe_outcome
from failproof_es.problems import InvalidInput
from failproof_es.reading.case_results import (
    CaseResult,
    case_results,
    judge_words,
    similar_cases,
)
from failproof_es.reading.recorded_run import reader_for
from failproof_es.store.reading.reader import Connection
from failproof_es.support.document import json_name

_LIMIT = 20
_JUDGE_WIDTH = 200
"""Characters of a judge's reply that the table shows at most."""
_COLUMNS = (
    Column("run", "run_number", right=True),
    Column("when", "when"),
    Column("model", "model_key"),
    Column("class", "class"),
    Column("result", "result"),
    Column("score", "accuracy", right=True),
    Column("why", "why", is_text=True),
)
_SUITE = Column("suite", "suite_id")
_LEFT_OUT = frozenset({"answer_cut"})


@click.command(cls=CliCommand)
@click.argument("case", metavar="ID")
@click.option("--suite", metavar="ID", help="Only the case of this suite.")
@click.option(
    "--limit",
    type=click.IntRange(min=1, max=100_000),
    default=_LIMIT,
    show_default=True,
    metavar="N",
    help="Print at most N results. The command for the next page is printed on stderr.",
)
@click.option(
    "--before",
    type=click.IntRange(min=1, max=2**63 - 1),
    metavar="POSITION",
    help="Print only results that ended before this position of the log.",
)
@format_option()
def case(
    case: str, suite: str | None, limit: int, before: int | None, output_format: Format
) -> None:
    """Print every result of the case ID, of all runs and models, newest first.

    ID is the case's name in its suite. Cases of this name in several suites, and the versions of a
    case that changed between runs, are listed together. Long reasons are cut: `results RUN --case
    ID --json` prints them whole, with the answers.
    """
    with session().open_store() as store, store.connect() as connection:
        reader = reader_for(connection)
        if reader.warning is not None:
            raise InvalidInput.because(
                f"results of all runs are read from the projections: {reader.warning}",
                remedy="print those of one run: `failproof-es results RUN --case ID`",
            )
        found = list(case_results(connection, case, suite=suite, before=before, limit=limit + 1))
        if not found and before is None:
            raise _no_result(connection, case, suite)
        rows = found[:limit]
        words = [judge_words(connection, row.result) for row in rows]
    suites = {row.result.suite_id for row in rows}
    if output_format is Format.TABLE:
        columns = (_COLUMNS[0], _SUITE, *_COLUMNS[1:]) if len(suites) > 1 else _COLUMNS
        shown = map(_for_people, rows, words)
        print_rows(shown, columns, output_format, when_empty="no earlier result")
    else:
        print_rows(map(_as_json, rows), (), output_format)
    if len(found) > limit:
        say_next_page("older results", before=rows[-1].result.last_position)


def _no_result(connection: Connection, case: str, suite: str | None) -> InvalidInput:
    """The error for a case without results: no such case, or nothing was asked of it yet."""
    names = ", ".join(map(repr, similar_cases(connection, case)))
    of_suite = "" if suite is None else f" of the suite {suite!r}"
    remedy = f"similar names: {names}" if names else "`failproof-es console` lists all cases"
    message = f"no run has a result of a case {case!r}{of_suite}"
    return InvalidInput.because(message, remedy=remedy)


def _for_people(row: CaseResult, judge_wrote: str | None) -> dict[str, Any]:
    result = row.result
    failed = result.by_people is None and result.state != "passed"
    why = result.reason or result.error_message
    if judge_wrote is not None:
        why = f"{why}; the judge wrote: {shortened(judge_wrote, _JUDGE_WIDTH)}"
    return {
        "run_number": row.run_number,
        "suite_id": result.suite_id,
        "when": result.finished_at or row.started_at,
        "model_key": result.model_key + (f" #{result.repetition}" if result.repetition > 1 else ""),
        "class": result.class_,
        "result": result.state if result.by_people is None else describe_outcome(result.by_people),
        "accuracy": result.accuracy,
        "why": why if failed else None,
    }


def _as_json(row: CaseResult) -> dict[str, Any]:
    result = {
        json_name(name): value
        for name, value in asdict(row.result).items()
        if name not in _LEFT_OUT
    }
    return {
        "run_number": row.run_number,
        "run_name": row.run_name,
        "started_at": row.started_at,
        **result,
    }
