"""`results`: one line of a table, or one object, per evaluation.

The columns of the table are here. The objects are each dialect's own
(`failproof_es.cli.rendering.result_rows`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import click

from failproof_es.cli.app.as_of import as_of_option
from failproof_es.cli.app.chosen_run import read_run
from failproof_es.cli.app.next_page import say_next_page
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.rendering.junit import junit_option, write_junit
from failproof_es.cli.rendering.output import (
    Column,
    Format,
    format_option,
    print_json,
    print_rows,
    print_table,
    say,
)
from failproof_es.cli.rendering.result_rows import result_rows, rows_of, run_shape_of, shape_of
from failproof_es.cli.rendering.sanitise import one_line, shortened
from failproof_es.core.history_errors import ImpossibleHistory
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.core.people import describe_outcome
from failproof_es.dialects.scorers import BETWEEN, names_of_scorers
from failproof_es.engine.required_plugins import require_dialect
from failproof_es.gates import gate_line
from failproof_es.problems import Problems
from failproof_es.reading.recorded_run import PlannedOutcome, RecordedRun
from failproof_es.reading.result_choice import ResultChoice
from failproof_es.support.plurals import plural

ANSWER_WIDTH = 60
WHY_WIDTH = 100

_COLUMNS = (
    Column("suite", "suite"),
    Column("case", "case"),
    Column("model", "model"),
    Column("class", "class"),
    Column("passed", "passed"),
    Column("accuracy", "accuracy", right=True),
    Column("why", "why"),
    Column("answer", "answer"),
)
_COLUMNS_WITH_ADDED = (*_COLUMNS[:-2], Column("added by scorers", "added"), *_COLUMNS[-2:])


@click.command(cls=CliCommand)
@click.argument("run")
@click.option("--shape", metavar="NAME", help="Print another shape that the dialect has.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="Print at most N evaluations. The command for the next page is printed on stderr.",
)
@click.option(
    "--after",
    type=click.IntRange(min=1),
    metavar="PLACE",
    help="Start after this place in the plan. The first evaluation has place 1.",
)
@click.option("--failed", is_flag=True, help="Only results that did not pass.")
@click.option("--errors", is_flag=True, help="Only evaluations without a usable answer.")
@click.option("--unscored", is_flag=True, help="Only evaluations that ended without a score.")
@click.option("--suite", "suites", multiple=True, metavar="ID", help="Only this suite.")
@click.option("--class", "classes", multiple=True, metavar="CLASS", help="Only this class.")
@click.option("--model", "models", multiple=True, metavar="KEY", help="Only this model.")
@click.option("--case", "cases", multiple=True, metavar="ID", help="Only this case.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only cases with this tag.")
@click.option("--severity", "severities", multiple=True, metavar="S", help="Only this severity.")
@click.option(
    "--grep",
    "text",
    metavar="TEXT",
    help="Only results with this text in the question, the answer, the reason or the error.",
)
@as_of_option("Print the results as they were at a position of the log or at a time.")
@junit_option
@format_option()
def results(
    run: str,
    shape: str | None,
    limit: int | None,
    after: int | None,
    as_of: str | None,
    junit: Path | None,
    output_format: Format,
    **choice: Any,
) -> None:
    """Print the results of RUN, in plan order.

    The table shows why a result did not pass, the first line of each answer, and the numbers that
    scorers added. As JSON each evaluation is a whole object, in the shape of its dialect.

    --failed, --errors and --unscored are alternatives. Several suites, classes, models, cases,
    tags or severities are alternatives, too. All other conditions hold together.

    Some shapes describe a whole run, such as evaluation-result of the command dialect. They give
    one object for each model, or a summary. As JSON that is a list, or the object itself if there
    is only one.

    With --limit only that many evaluations of the plan are read, however long the plan is; with
    conditions, as many as it takes to find them. JSON leaves out those that have not begun.
    """
    with session().open_store() as store, store.connect() as connection:
        recorded = read_run(connection, run, as_of)
        whole = None
        if shape is not None or output_format is not Format.TABLE:
            # Impossible requests are refused before anything is written or printed. The table is
            # read from the record alone and needs no dialect.
            require_dialect(recorded.started)
            whole = run_shape_of(recorded.started.dialect, shape)
            if whole is None:
                shape_of(recorded.started.dialect, shape)
        page = _PlanPage(after or 0, limit, ResultChoice(**choice))
        places: deque[int] = deque(maxlen=limit or 0)
        paged = after is not None or page != _PlanPage()
        _require_fitting(recorded, page, shape if whole else None, junit if paged else None)
        if junit is not None:
            write_junit(store, [recorded], junit)
        if output_format is Format.TABLE and whole is not None:
            for result in result_rows(recorded, shape):
                for line in whole.lines(result):
                    click.echo(one_line(line))
        elif output_format is Format.TABLE:
            scorers = names_of_scorers(recorded.started.configuration)
            columns = _COLUMNS_WITH_ADDED if scorers else _COLUMNS
            print_table(
                _table_rows(_results(recorded, page, places), scorers),
                columns,
                when_empty=_when_empty(recorded, page),
            )
        elif output_format is Format.JSON and whole is not None:
            summed_up = list(result_rows(recorded, shape))
            print_json(summed_up[0] if len(summed_up) == 1 else summed_up)
        elif page.choice.is_all:
            rows = result_rows(recorded, shape, after=page.after, limit=limit)
            print_rows(rows, (), output_format)
        else:
            keys = (planned.outcome.key for planned in _results(recorded, page, places))
            print_rows(rows_of(recorded, recorded.evaluations_of(keys), shape), (), output_format)
        if (imported := recorded.run.imported_from) is not None:
            say(f"run {recorded.started.run_number} is {one_line(imported)}")
        for name, gate in recorded.gates.items():
            if not gate["met"]:
                say(gate_line(name, gate))
        if recorded.started.branched_from is not None:
            _say_carried_over(recorded)
        _say_next(recorded, page, places)


class _PlanPage(NamedTuple):
    """A page of results: the first `limit` chosen ones after the plan's place `after`.

    Places count from 1. `None` as `limit` means all.
    """

    after: int = 0
    limit: int | None = None
    choice: ResultChoice = ResultChoice()


def _results(run: RecordedRun, page: _PlanPage, places: deque[int]) -> Iterator[PlannedOutcome]:
    """The results of the page in plan order; the place of each is added to `places`."""
    if page.choice.is_all:
        results_of_page = run.outcomes(after=page.after, limit=page.limit)
    else:
        matching = filter(page.choice.takes, run.outcomes(after=page.after))
        results_of_page = islice(matching, page.limit)
    for planned in results_of_page:
        places.append(planned.place)
        yield planned


def _require_fitting(
    run: RecordedRun, page: _PlanPage, whole_shape: str | None, junit: Path | None
) -> None:
    """Raise `InvalidInput` if the page does not exist, or if an output needs the whole run.

    `whole_shape` is the chosen shape if it describes whole runs; `junit` the file if results are
    chosen.
    """
    problems = Problems()
    if page.after > run.started.planned_evaluations:
        problems.error(
            f"the plan of run {run.started.run_number} has no place {page.after}",
            field="--after",
            remedy=f"its last place is {run.started.planned_evaluations}",
        )
    remedy = "leave out --limit, --after and what chooses results"
    if whole_shape is not None and page != _PlanPage():
        message = f"the shape {whole_shape!r} covers the whole run"
        problems.error(message, field="--shape", remedy=remedy)
    if junit is not None:
        problems.error("JUnit XML covers the whole run", field="--junit", remedy=remedy)
    problems.raise_errors()


def _when_empty(run: RecordedRun, page: _PlanPage) -> str:
    """The message for an empty page: why it has no evaluation, and what to do."""
    number = run.started.run_number
    if not page.choice.is_all:
        return f"no result fits; print all results: `failproof-es results {number}`"
    if page.after:
        return (
            f"{page.after} is the last place in the plan; "
            f"print all results: `failproof-es results {number}`"
        )
    return f"the plan of run {number} is empty; see `failproof-es show {number}`"


def _say_carried_over(run: RecordedRun) -> None:
    """Say on stderr how many of the results were carried over from another run."""
    carried_over = run.summary.asking().carried_over
    finished = plural(run.summary.total.finished, "finished evaluation")
    say(f"{carried_over:,} of {finished} carried over: `failproof-es show` says from where")


def _say_next(run: RecordedRun, page: _PlanPage, places: Sequence[int]) -> None:
    """Say on stderr how to print the next page, if there is one.

    `places` are those of the printed results, if conditions choose them.
    """
    if page.limit is None:
        return
    if not page.choice.is_all:
        if len(places) == page.limit:
            say_next_page("the next that fit", after=places[-1])
        return
    after = page.after + page.limit
    if (remaining := run.started.planned_evaluations - after) > 0:
        say_next_page(f"{remaining:,} more", after=after)


def _table_rows(
    results_of_page: Iterable[PlannedOutcome], scorers: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """The rows of the table, with the columns' keys.

    `scorers` are the names of scorers whose numbers are shown. Raises `ImpossibleHistory` if the
    record of an evaluation contradicts itself.
    """
    for planned in results_of_page:
        outcome = planned.outcome
        if outcome.impossible is not None:
            raise ImpossibleHistory(outcome.impossible)
        row: dict[str, Any] = {
            "suite": planned.case.suite_id,
            "case": planned.case.case_id,
            "model": outcome.model_key,
            "class": outcome.class_,
            "passed": outcome.passed,
            "accuracy": outcome.accuracy,
            "added": _added(outcome, scorers),
            "why": None,
            "answer": None if outcome.answer is None else first_line(outcome.answer),
        }
        if planned.by_people is not None:
            row["passed"] = describe_outcome(planned.by_people)
        elif outcome.status == "abandoned":
            row["why"] = f"({outcome.ended_kind}: {outcome.reason})"
        elif outcome.passed is False:
            row["why"] = shortened(one_line(outcome.reason), WHY_WIDTH)
        yield row


def _added(outcome: EvaluationOutcome, scorers: Sequence[str]) -> str | None:
    """The numbers that these scorers added, each with its name, as text; `None` without any."""
    numbers = (
        (name, value)
        for name, value in outcome.scores.items()
        if name.partition(BETWEEN)[0] in scorers
    )
    return ", ".join(f"{name} {value:.4g}" for name, value in numbers) or None


def first_line(text: str) -> str:
    """The first line of an answer that is not blank, sanitised and shortened for a table."""
    line = next((line for line in text.split("\n") if line.strip()), "")
    return shortened(one_line(line.strip()), ANSWER_WIDTH)
