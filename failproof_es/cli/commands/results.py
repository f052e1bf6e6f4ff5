"""`results`: one line of a table, or one object, per evaluation.

The columns of the table are here. The objects are each dialect's own
(`failproof_es.cli.rendering.result_rows`).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click

from failproof_es.catalogue.result import RecordedResult
from failproof_es.cli.app.as_of import as_of_option
from failproof_es.cli.app.chosen_run import read_run
from failproof_es.cli.app.next_page import argument_words
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.app.result_choice import choice_options, named_conditions, require_known_names
from failproof_es.cli.app.results_behind import results_behind, rows_left_out
from failproof_es.cli.rendering.failed_results import expected_beside_got
from failproof_es.cli.rendering.junit import junit_option, write_junit
from failproof_es.cli.rendering.output import (
    BelowRows,
    Format,
    data_stream,
    format_option,
    print_json,
    print_rows,
    print_table,
    say,
)
from failproof_es.cli.rendering.result_columns import (
    COLUMNS,
    WORST_FIRST,
    cells_of,
    json_of,
    named_columns,
    named_order,
    table_columns,
    usual_columns,
)
from failproof_es.cli.rendering.result_pages import PlanPage, results_of
from failproof_es.cli.rendering.result_rows import result_rows, rows_of, run_shape_of, shape_of
from failproof_es.cli.rendering.result_texts import describe_unfinished, describe_why, first_line
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.core.run import describe_shortfall
from failproof_es.dialects.protocol import RunShape
from failproof_es.dialects.scorers import BETWEEN, names_of_scorers
from failproof_es.engine.required_plugins import require_dialect
from failproof_es.exports.result_table import csv_lines
from failproof_es.gate_words import gate_line
from failproof_es.problems import InvalidInput, Problems
from failproof_es.reading.given_reviews import with_reviews
from failproof_es.reading.recorded_run import PlannedOutcome, RecordedRun
from failproof_es.reading.result_conditions import CHOICES, Conditions
from failproof_es.support.class_words import class_named
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import one_line, shortened

QUESTION_WIDTH = 40

_LONGEST_PLAN = 10_000
"""Most planned evaluations that are read to list those that have not ended."""
_MOST_LISTED = 10
_OBJECTS = (Format.JSON, Format.JSONL)
"""The formats that leave out evaluations that have not begun."""
_COLUMNS = ("suite", "case", "model", "class", "passed", "accuracy", "question", "why", "answer")
_COLUMNS_OF_FAILURES = ("suite", "case", "model", "severity", "class", "accuracy", "question")
"""Columns for failed results; each shows the expectation and the answer below it."""
_COLUMNS_OF_CASES = ("suite", "case", "model", "class", "passed", "accuracy")
"""Columns for named cases; each shows its whole question and answer below it."""


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
@choice_options
@click.option(
    "--class", "classes", multiple=True, metavar="CLASS", help="Only answers of this class."
)
@click.option(
    "--grep",
    "text",
    metavar="TEXT",
    help="Only results with this text in the case's id, title, description, question or tags, in "
    "the answer, the reason or the error.",
)
@click.option(
    "--columns",
    metavar="NAMES",
    help="Print these columns, separated by commas: those of `export --shape csv`, such as "
    "case,why,expected,got,latency_ms.",
)
@click.option(
    "--sort",
    metavar="COLUMN",
    help="Sort by this column; -COLUMN: the greatest first; worst: failed results first, by "
    "severity (a tag severity:WORD counts, too), then by score.  [default: the plan's order; "
    "with --failed worst]",
)
@as_of_option("Print the results as they were at a position of the log or at a time.")
@junit_option
@format_option(Format.TABLE, Format.JSON, Format.JSONL, Format.CSV)
def results(
    run: str,
    shape: str | None,
    limit: int | None,
    after: int | None,
    columns: str | None,
    sort: str | None,
    as_of: str | None,
    junit: Path | None,
    output_format: Format,
    **choice: Any,
) -> None:
    """Print the results of RUN, in plan order; with --failed the worst first.

    The table shows why a result did not pass, the first line of each answer, and the numbers that
    scorers added. With --failed each result shows what was expected, and what came instead; with
    --case its question and its whole answer. As JSON each evaluation is a whole object, in the
    shape of its dialect; with --columns it has these columns. CSV has the columns of `export
    --shape csv`.

    --failed, --errors and --unscored are alternatives. Several suites, classes, models, cases,
    tags or severities are alternatives, too. All other conditions hold together.

    Some shapes describe a whole run, such as evaluation-result of the command dialect. They give
    one object for each model, or a summary. As JSON that is a list, or the object itself if there
    is only one.

    Results are read from the projections, which nobody compares with the log here: `verify RUN`
    does.

    With --limit only that many evaluations of the plan are read, however long the plan is. With
    conditions, as many are read as it takes to find them; sorted, all of them. Then --after counts
    sorted results. JSON leaves out those that have not begun; its last object, `left_out`, says
    what is behind --limit.
    """
    limit = None if limit is None else min(limit, sys.maxsize)
    names = None if columns is None else named_columns(columns)
    order = None if sort is None else named_order(sort)
    if shape is not None and (names is not None or output_format is Format.CSV):
        message = f"the shape {shape!r} has no columns to choose, and is no CSV"
        remedy = "leave it out"
        raise InvalidInput.because("options-conflict", message, field="--shape", remedy=remedy)
    with session().open_store() as store, store.lend() as connection:
        recorded = read_run(connection, run, as_of)
        whole = None
        if shape is not None or (names is None and output_format in (Format.JSON, Format.JSONL)):
            # Impossible requests are refused before anything is written or printed. The table is
            # read from the record alone and needs no dialect.
            require_dialect(recorded.started)
            whole = run_shape_of(recorded.started.dialect, shape)
            if whole is None:
                shape_of(recorded.started.dialect, shape)
        conditions = _conditions(choice)
        require_known_names(recorded, conditions)
        if order is None and conditions.only_failed:
            order = WORST_FIRST
        page = PlanPage(recorded, after or 0, limit, conditions, order)
        paged = after is not None or not page.is_whole
        _require_fitting(page, shape if whole else None, junit if paged else None)
        if junit is not None:
            write_junit(store, [recorded], junit)
        if whole is not None:
            _print_whole(whole, list(result_rows(recorded, shape)), output_format)
        elif output_format is Format.TABLE:
            _print_results(page, names, choice)
        elif output_format is Format.CSV:
            _print_csv(page, names)
        else:
            objects = chain(_objects(page, names, shape), rows_left_out(page))
            print_rows(objects, (), output_format)
        if (imported := recorded.run.imported_from) is not None:
            say(f"run {recorded.started.run_number} is {one_line(imported)}")
        for name, gate in recorded.gates.items():
            if not gate["met"]:
                say(gate_line(name, gate))
        if recorded.started.branched_from is not None:
            _say_carried_over(recorded)
        objects_of_all = page.is_whole and whole is None and output_format in _OBJECTS
        if choice["unscored"] or objects_of_all:
            _say_unfinished(recorded)
        for others in results_behind(page):
            count = others["results"]
            what = "the next that fit" if count is None else f"{count:,} more"
            say(f"{what}: `{others['command']}`")


def _conditions(options: dict[str, Any]) -> Conditions:
    """The conditions that the options of the command give."""
    statuses = (name for flag, names in CHOICES.items() if options[flag] for name in names)
    named = {
        "status": tuple(statuses),
        "class_": tuple(map(class_named, options["classes"])),
        **named_conditions(options),
    }
    return Conditions(named, options["text"])


def _print_results(page: PlanPage, names: Sequence[str] | None, choice: dict[str, Any]) -> None:
    """Print the page as a table with these columns, or with the usual ones."""
    run, results_of_page = page.run, results_of(page)
    when_empty = _when_empty(page, choice)
    if names is not None:
        rows = (cells_of(RecordedResult.of(planned, run), names) for planned in results_of_page)
        print_table(rows, table_columns(names), when_empty=when_empty)
        return
    scorers = names_of_scorers(run.started.configuration)
    usual: tuple[str, ...] = _COLUMNS
    details = _details_of_reviews
    if page.names_cases:
        usual, details = _COLUMNS_OF_CASES, _details_of_case
    elif page.choice.only_failed:
        usual, details = _COLUMNS_OF_FAILURES, _details_of_failure
        if not _has_severities(run):
            usual = tuple(name for name in usual if name != "severity")
    reviewed = with_reviews(
        run.connection,
        results_of_page,
        lambda planned: planned.outcome.evaluation_id,
        up_to=run.up_to,
    )
    usual_rows = (
        {**_usual_row(run, planned, usual, scorers), "reviews": reviews}
        for planned, reviews in reviewed
    )
    print_table(
        usual_rows,
        usual_columns(usual, has_scorers=bool(scorers)),
        when_empty=when_empty,
        details=details,
        below=BelowRows(whole_texts=page.names_cases),
    )


def _details_of_reviews(row: dict[str, Any]) -> list[tuple[str, str]]:
    return [("review", review.describe()) for review in row["reviews"]]


def _details_of_failure(row: dict[str, Any]) -> list[tuple[str, str]]:
    return [*expected_beside_got(row["planned"]), *_details_of_reviews(row)]


def _details_of_case(row: dict[str, Any]) -> list[tuple[str, str]]:
    """The user's turns, the expectation, and the whole answer of a result, with labels."""
    planned: PlannedOutcome = row["planned"]
    outcome = planned.outcome
    details = [("question", question) for question in planned.case.questions]
    details += [
        (label, text)
        for label, text in expected_beside_got(planned)
        if label != "answer" and text != outcome.answer
    ]
    if row["why"] is not None and not planned.failed:
        details.append(("why", row["why"]))
    answers = [] if outcome.answer is None else [("answer", outcome.answer)]
    return [*details, *answers, *_details_of_reviews(row)]


def _has_severities(run: RecordedRun) -> bool:
    return any(key.severity is not None for key in run.summary.counts.groups)


def _print_csv(page: PlanPage, names: Sequence[str] | None) -> None:
    columns = [(column.name, column) for column in COLUMNS.values()]
    if names is not None:
        columns = [(name, COLUMNS[name]) for name in names]
    rows = (RecordedResult.of(planned, page.run) for planned in results_of(page))
    for line in csv_lines(rows, columns):
        data_stream().write(line.decode())


def _require_fitting(page: PlanPage, whole_shape: str | None, junit: Path | None) -> None:
    """Raise `InvalidInput` if the page does not exist, or if an output needs the whole run.

    `whole_shape` is the chosen shape if it describes whole runs; `junit` the file if results are
    chosen.
    """
    problems, run = Problems(), page.run
    if page.after > run.started.planned_evaluations:
        problems.error(
            "out-of-range",
            f"the plan of run {run.started.run_number} has no place {page.after}",
            field="--after",
            remedy=f"its last place is {run.started.planned_evaluations}",
        )
    remedy = "leave out --limit, --after and what chooses results"
    if whole_shape is not None and not page.is_whole:
        message = f"the shape {whole_shape!r} covers the whole run"
        problems.error("options-conflict", message, field="--shape", remedy=remedy)
    if junit is not None:
        problems.error(
            "options-conflict", "JUnit XML covers the whole run", field="--junit", remedy=remedy
        )
    problems.raise_errors()


def _when_empty(page: PlanPage, choice: dict[str, Any]) -> str:
    """The message for an empty page: why it has no evaluation, and what to do.

    `choice` are the options that choose results.
    """
    run = page.run
    number = run.started.run_number
    missing = run.summary.total.missing
    if page.choice.only_failed and missing and not run.summary.total.failed:
        ended = f"{plural(missing, 'evaluation')} ended without a score"
        return f"no result failed, and {ended}: `failproof-es results {number} --unscored`"
    if page.choice.choose:
        all_of_run = plural(run.started.planned_evaluations, "evaluation")
        options = " ".join(argument_words({**choice, "after": page.after or None}))
        return (
            f"none of the {all_of_run} of run {number} fits {options}: "
            f"`failproof-es results {number}` prints all"
        )
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


def _say_unfinished(run: RecordedRun) -> None:
    """Say on stderr how many planned evaluations have not ended, so that no result tells why."""
    planned = run.started.planned_evaluations
    if unfinished := planned - run.summary.total.finished:
        say(
            f"{describe_shortfall(unfinished, planned, run.run.status)}: "
            f"`failproof-es results {run.started.run_number}` lists the plan, `failproof-es runs "
            "--unscored` every run with such evaluations"
        )
        if planned <= _LONGEST_PLAN:
            _list_unfinished(run)


def _list_unfinished(run: RecordedRun) -> None:
    """List on stderr how far the evaluations came that have not ended; the first ones by name."""
    unfinished = [planned for planned in run.outcomes() if not planned.outcome.finished]
    counts = Counter(describe_unfinished(planned.outcome) for planned in unfinished)
    say("; ".join(f"{count:,} {words}" for words, count in counts.items()))
    for planned in unfinished[:_MOST_LISTED]:
        outcome, case = planned.outcome, planned.case.names[1]
        words = describe_unfinished(outcome)
        say(one_line(f"  {case} {outcome.model_key} #{outcome.repetition}: {words}"))
    if (more := len(unfinished) - _MOST_LISTED) > 0:
        say(f"  and {more:,} more")


def _usual_row(
    run: RecordedRun, planned: PlannedOutcome, names: Sequence[str], scorers: Sequence[str]
) -> dict[str, Any]:
    """A row of the usual table: it shortens why a result did not pass, and its answer.

    `scorers` are the names of scorers whose numbers are shown.
    """
    outcome = planned.outcome
    answer = None if outcome.answer is None else first_line(outcome.answer)
    return {
        **cells_of(RecordedResult.of(planned, run), names),
        "question": _question(planned),
        "added": _added_scores(outcome, scorers),
        "why": None if planned.by_people is not None else describe_why(planned),
        "answer": answer,
        "planned": planned,
    }


def _question(planned: PlannedOutcome) -> str | None:
    """The first line of the last question, shortened for a table."""
    questions = planned.case.questions
    return shortened(first_line(questions[-1]), QUESTION_WIDTH) if questions else None


def _objects(
    page: PlanPage, names: Sequence[str] | None, shape: str | None
) -> Iterator[dict[str, Any]]:
    """The results of the page as JSON: these columns, or the shape of the dialect."""
    run = page.run
    if names is not None:
        for planned in results_of(page):
            yield json_of(RecordedResult.of(planned, run), names)
    elif page.is_of_plan:
        yield from result_rows(run, shape, after=page.after, limit=page.limit)
    else:
        keys = (planned.outcome.key for planned in results_of(page))
        yield from rows_of(run, run.evaluations_of(keys), shape)


def _print_whole(whole: RunShape, results: list[dict[str, Any]], output_format: Format) -> None:
    """Print the objects of a shape of whole runs: a single one by itself."""
    if output_format is Format.TABLE:
        for result in results:
            for line in whole.lines(result):
                click.echo(one_line(line))
    elif output_format is Format.JSON:
        print_json(results[0] if len(results) == 1 else results)
    else:
        print_rows(results, (), output_format)


def _added_scores(outcome: EvaluationOutcome, scorers: Sequence[str]) -> str | None:
    """The numbers that these scorers added, each with its name, as text; `None` without any."""
    numbers = (
        (name, value)
        for name, value in outcome.scores.items()
        if name.partition(BETWEEN)[0] in scorers
    )
    return ", ".join(f"{name} {value:.4g}" for name, value in numbers) or None
