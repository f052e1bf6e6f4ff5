"""`case`: one case over all runs and models."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from itertools import chain
from shlex import quote
from typing import Any

import click

from failproof_es.cli.app.chosen_run import left_out_rows, say_left_out
from failproof_es.cli.app.next_page import say_next_page
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.rendering.output import (
    Column,
    Format,
    columns_of_keys,
    format_option,
    print_rows,
    print_table,
    say,
)
from failproof_es.cli.rendering.result_texts import first_line, partial_pass
from failproof_es.core.case import Case
from failproof_es.core.people import describe_outcome
from failproof_es.events import Reviewed
from failproof_es.problems import InvalidInput
from failproof_es.reading.as_of import reader_without_update
from failproof_es.reading.case_results import (
    CaseRecord,
    CaseResult,
    archived_runs_with,
    case_records,
    case_results,
    judge_words,
    similar_cases,
)
from failproof_es.reading.given_reviews import given_reviews
from failproof_es.reading.recorded_run import reader_for
from failproof_es.store.reading.reader import Connection
from failproof_es.support.class_words import class_word
from failproof_es.support.document import json_name
from failproof_es.support.untrusted_text import one_line, shortened

_LIMIT = 20
_LONGEST_LINE = 300
_JUDGE_WIDTH = 200
"""Characters of a judge's reply that the table shows at most."""
_COLUMNS = (
    Column("run", "run_number", right=True),
    Column("when", "when"),
    Column("model", "model_key"),
    *columns_of_keys("class", "result"),
    Column("score", "accuracy", right=True),
    Column("why", "why", is_text=True),
    Column("answer", "answer", is_text=True),
)
_SUITE = Column("suite", "suite_id")
_LEFT_OUT = frozenset({"answer_cut"})
_PASSED = {"passed": True, "failed": False}
"""The decision of a grader, by the state of its result."""


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

    ID is the case's name in its suite, or SUITE/ID. Cases of this name in several suites, and the
    versions of a case that changed between runs, are listed together. Archived runs that asked it
    are named on stderr, and as JSON also in the last object, `left_out`.

    The table shows the first line of each answer; `results RUN --case ID` prints whole ones. Below
    each result are its reviews and the versions of its graders. As JSON a result has
    everything that is known of it: the question as it was asked, what was expected, the whole
    answer, the scores, the graders with their versions, every review. Its `source` is always
    `projections`, which nobody compares with the log here: `verify RUN` does.
    """
    with session().open_store() as store, store.lend() as connection:
        _require_rows(connection)
        found = list(case_results(connection, case, suite=suite, before=before, limit=limit + 1))
        archived = archived_runs_with(connection, case, suite)
        archives = say_left_out(connection, archived) if archived else []
        if not found and before is None:
            raise _no_result(connection, case, suite)
        rows = found[:limit]
        evaluations = [row.result.evaluation_id for row in rows]
        of_evaluations = case_records(connection, evaluations)
        judges_wrote = [judge_words(connection, row.result) for row in rows]
    records = [of_evaluations[evaluation] for evaluation in evaluations]
    suites = {row.result.suite_id for row in rows}
    if output_format is Format.TABLE:
        columns = (_COLUMNS[0], _SUITE, *_COLUMNS[1:]) if len(suites) > 1 else _COLUMNS
        for label, texts in (("system", _system), ("question", _question), ("expected", _expected)):
            _say_once(label, filter(None, map(texts, records)))
        is_one = _say_once("graded by", map(_graders, records)) == 1
        print_table(
            map(_for_people, rows, records, judges_wrote),
            columns,
            when_empty="no earlier result",
            details=_reviews if is_one else _details,
        )
        if rows:
            _say_whole_answers(rows[0].run_number, records[0].case)
    else:
        objects = chain(map(_as_json, rows, records), left_out_rows(archives))
        print_rows(objects, (), output_format)
    if len(found) > limit:
        say_next_page("older results", before=rows[-1].result.last_position)


def _require_rows(connection: Connection) -> None:
    """Update the projections, or say how far they reach if this login may not.

    Raises `InvalidInput` if there are none to read.
    """
    reader = reader_for(connection)
    if reader.warning is None:
        return
    _, as_of = reader_without_update(connection)
    if as_of.source == "log":
        raise InvalidInput.because(
            "projections-outdated",
            f"results of all runs are read from the projections: {reader.warning}",
            remedy="print those of one run: `failproof-es results RUN --case ID`",
        )
    say(
        f"results up to position {as_of.events_up_to:,} of {as_of.head:,}: this login may not "
        "bring the projections up to the log; `failproof-es runs` by the engine's does"
    )


def _no_result(connection: Connection, case: str, suite: str | None) -> InvalidInput:
    """The error for a case without results: no such case, or nothing was asked of it yet."""
    names = ", ".join(map(repr, similar_cases(connection, case)))
    of_suite = "" if suite is None else f" of the suite {suite!r}"
    remedy = f"similar names: {names}" if names else "`failproof-es console` lists all cases"
    message = f"no run has a result of a case {case!r}{of_suite}"
    return InvalidInput.because("unknown-case", message, remedy=remedy)


def _say_whole_answers(run_number: int, case: Case) -> None:
    """Say on stderr which command prints the whole answers of the run to the case."""
    say(f"whole answers: `failproof-es results {run_number} --case {quote(case.names[1])}`")


def _question(record: CaseRecord) -> str:
    """The user's turns of the case."""
    return " / ".join(record.case.questions)


def _system(record: CaseRecord) -> str:
    """The system turns of the case; empty without any."""
    return " / ".join(turn.content for turn in record.case.turns if turn.role == "system")


def _expected(record: CaseRecord) -> str:
    """The expectation of the case as JSON; empty if it has none."""
    expectation = record.case.expectation
    return json.dumps(expectation, ensure_ascii=False) if expectation else ""


def _say_once(label: str, texts: Iterable[str]) -> int:
    """Print each different text on one line, shortened, and return how many there are."""
    different = dict.fromkeys(texts)
    for text in different:
        click.echo(f"{label}: {shortened(one_line(text), _LONGEST_LINE)}")
    return len(different)


def _graders(record: CaseRecord) -> str:
    graders = record.outcome.graded_by.items()
    return ", ".join(f"{name} {version}" for name, version in graders) or "nothing"


def _details(row: dict[str, Any]) -> list[tuple[str, str]]:
    """The reviews of a result, and the versions of its graders, with labels."""
    return [*_reviews(row), ("graded by", _graders(row["record"]))]


def _reviews(row: dict[str, Any]) -> list[tuple[str, str]]:
    return [("review", review.describe()) for review in given_reviews(row["record"].reviews)]


def _for_people(row: CaseResult, record: CaseRecord, judge_wrote: str | None) -> dict[str, Any]:
    result = row.result
    failed = result.by_people is None and result.state != "passed"
    passed = result.by_people is None and result.state == "passed"
    why = result.reason or result.error_message
    if judge_wrote is not None:
        why = f"{why}; the judge wrote: {shortened(judge_wrote, _JUDGE_WIDTH)}"
    return {
        "run_number": row.run_number,
        "suite_id": result.suite_id,
        "when": result.finished_at or row.started_at,
        "model_key": result.model_key + (f" #{result.repetition}" if result.repetition > 1 else ""),
        "class": result.class_ and class_word(result.class_, _PASSED.get(result.state)),
        "result": result.state if result.by_people is None else describe_outcome(result.by_people),
        "accuracy": result.accuracy,
        "why": why if failed else partial_pass(record.case) if passed else None,
        "answer": first_line(record.outcome.answer or "") or None,
        "record": record,
    }


def _as_json(row: CaseResult, record: CaseRecord) -> dict[str, Any]:
    result = {
        json_name(name): value
        for name, value in asdict(row.result).items()
        if name not in _LEFT_OUT
    }
    return {
        "run_number": row.run_number,
        "run_name": row.run_name,
        "started_at": row.started_at,
        "source": "projections",
        **result,
        "question": [turn.model_dump(mode="json") for turn in record.case.turns],
        "expected": record.case.expectation,
        "answer": record.outcome.answer,
        "reason": record.outcome.reason,
        "scores": dict(record.outcome.scores),
        "graded_by": dict(record.outcome.graded_by),
        "reviews": [_review(review) for review in record.reviews],
    }


def _review(review: Reviewed) -> dict[str, Any]:
    fields = ("reviewer", "verdict", "items", "severity", "tags", "notes", "blind")
    document = review.model_dump(mode="json", include=set(fields))
    return {"at": review.timestamp, **{name: document[name] for name in fields}}
