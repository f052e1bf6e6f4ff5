"""`/runs/{run}/matrix`: which model failed which case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from pydantic import Field

from failproof_es.catalogue.pass_rate import PassRate, build_pass_rate
from failproof_es.configuration.recorded import recorded_configuration, repetitions_of
from failproof_es.configuration.variants import split_variants
from failproof_es.console.page import Page, PageRequest
from failproof_es.console.pages.evaluation import require_evaluation
from failproof_es.console.pages.results import (
    ChosenOfRun,
    ChosenResults,
    begin_of_results,
    facts_of_choice,
    position_of_results,
    run_of_results,
)
from failproof_es.console.paging import PagedQuery
from failproof_es.console.parts.conversation import TurnShown, read_conversation, shown_turns
from failproof_es.console.parts.evaluation import EvaluationVerdict, verdict_of
from failproof_es.console.parts.expectations import (
    ExpectationShown,
    expected_of,
    shown_expectations,
)
from failproof_es.core.case import Case
from failproof_es.core.run import Run
from failproof_es.core.summary import RunTotals
from failproof_es.engine.history import UNREADABLE, read_evaluations, stored_case
from failproof_es.problems import InvalidInput
from failproof_es.reading.overviews.counted_results import (
    count_results,
    is_large,
    is_listed_by_severity,
)
from failproof_es.reading.overviews.result_matrix import (
    AskedModels,
    MatrixCell,
    MatrixRow,
    count_cases_of_results,
    page_of_matrix,
)
from failproof_es.store.reading.reader import Connection, portions, read_streams
from failproof_es.support.document import Document

MOST_COLUMNS = 12
"""Most models that a page shows beside each other."""
_MOST_VARIANTS = 100
"""Most rows of the table of variants."""


class MatrixQuery(ChosenResults, PagedQuery):
    """The choice of cases and models, and of one conversation."""

    limit: int = Field(20, ge=1, le=200, description="Cases of a page.")
    column: int = Field(
        1, ge=1, le=10_000, description="Place of the first model that is shown, from 1."
    )
    show: UUID | None = Field(
        None, description="Evaluation whose conversation stands beside the matrix."
    )


class MatrixColumn(Document):
    """A model of the run, with its results in the whole run."""

    model: str
    """Its key."""
    base: str
    """Key of the model that it is a variant of; else the same."""
    variant: str
    """The prompt and the parameters that make the variant; empty where it is none."""
    passed: PassRate | None
    """`None` before anything has ended."""


class VariantRow(Document):
    """A prompt and parameters of the run's matrix, with the models that were asked with them."""

    variant: str
    columns: tuple[MatrixColumn | None, ...]
    """The columns by model; `None` for a model that was not asked with this variant."""


class Variants(Document):
    """The variants of a run's matrix: prompts and parameters by models."""

    models: tuple[str, ...]
    rows: tuple[VariantRow, ...]
    more: int
    """Number of variants that are not listed."""


class MatrixCase(Document):
    """A case, with the result of each model."""

    prompt_id: UUID
    suite_id: str | None = None
    case_id: str
    category: str | None = None
    severity: str | None = None
    expected: str | None
    """The expectation of the case, shortened; `None` where the log lacks the case."""
    first: UUID | None
    """The evaluation that needs attention first, of the models that are shown."""
    cells: tuple[MatrixCell | None, ...]


class ShownEvaluation(Document):
    """The evaluation beside the matrix."""

    evaluation_id: UUID
    case_id: str
    model: str
    repetition: int
    verdict: EvaluationVerdict
    expectations: tuple[ExpectationShown, ...]
    turns: tuple[TurnShown, ...]
    conversation_problem: str | None
    """Why the turns are as recorded, and not as the dialect composes them; else `None`."""
    previous: UUID | None
    """The evaluation of the same model in the row above."""
    next: UUID | None


class MatrixPage(ChosenOfRun):
    """The cases of one page, those with a failure first."""

    repetitions: int
    models: int
    """Number of models that the run asks."""
    columns: tuple[MatrixColumn, ...]
    """The models that are shown."""
    variants: Variants | None
    """`None` where the run has no matrix of prompts and parameters."""
    rows: tuple[MatrixCase, ...]
    shown: ShownEvaluation | None


def read_matrix(request: PageRequest[MatrixQuery]) -> MatrixPage:
    """The page of cases that begins after the cursor."""
    query, connection = request.query, request.connection
    run_id = run_of_results(request)
    run = request.reader.run(run_id)
    up_to = position_of_results(request)
    repetitions = repetitions_of(run.started)
    every_column = _columns(request, run)
    columns = every_column[query.column - 1 :][:MOST_COLUMNS]
    planned = run.started.planned_evaluations
    page = page_of_matrix(
        connection,
        AskedModels(run_id, tuple(column.model for column in every_column), repetitions),
        query.filter,
        columns=[column.model for column in columns],
        up_to=up_to,
        after=begin_of_results(query),
        limit=query.limit,
        by_severity=is_listed_by_severity(planned),
    )
    numbers = count_results(connection, run_id, query.filter, up_to=up_to, planned=planned)
    total = matching = None
    if not is_large(planned):
        total, matching = count_cases_of_results(connection, run_id, query.filter, up_to=up_to)
    cases = _read_cases(connection, [row.prompt_id for row in page.rows])
    rows = tuple(_case_shown(row, cases[row.prompt_id]) for row in page.rows)
    return MatrixPage(
        **facts_of_choice(request, run, numbers),
        repetitions=repetitions,
        models=len(every_column),
        columns=columns,
        variants=_variants(every_column),
        rows=rows,
        looked_at=page.looked_at,
        paging=query.paging(rows, page.following, matching=matching, total=total),
        shown=None if query.show is None else _show_evaluation(request, run_id, query.show, rows),
    )


def _columns(request: PageRequest[MatrixQuery], run: Run) -> tuple[MatrixColumn, ...]:
    """The models of the run, in the order of its configuration."""
    keys = [model.key for model in run.started.models]
    matrix = recorded_configuration(run.started).matrix
    variants = [(key, "") for key in keys] if matrix is None else split_variants(matrix, keys)
    run_id = run.started.originator_id
    totals = request.reader.totals_of([run_id]).get(run_id)
    return tuple(
        MatrixColumn(model=key, base=base, variant=variant, passed=_rate(totals, key))
        for key, (base, variant) in zip(keys, variants, strict=True)
    )


def _rate(totals: RunTotals | None, model: str) -> PassRate | None:
    if totals is None or model not in totals.models:
        return None
    return build_pass_rate(totals.clusters[model], totals.models[model].unscored)


def _variants(columns: Sequence[MatrixColumn]) -> Variants | None:
    """The variants by model; `None` where no model has one."""
    labels = list(dict.fromkeys(column.variant for column in columns))
    if not any(labels):
        return None
    models = list(dict.fromkeys(column.base for column in columns))[:MOST_COLUMNS]
    by_place = {(column.variant, column.base): column for column in columns}
    return Variants(
        models=tuple(models),
        rows=tuple(
            VariantRow(
                variant=label, columns=tuple(by_place.get((label, model)) for model in models)
            )
            for label in labels[:_MOST_VARIANTS]
        ),
        more=max(len(labels) - _MOST_VARIANTS, 0),
    )


def _read_cases(connection: Connection, prompt_ids: Sequence[UUID]) -> Mapping[UUID, Case | None]:
    """The stored cases by id; `None` where the log lacks a case of the plan."""
    cases: dict[UUID, Case | None] = {}
    for portion in portions(connection, prompt_ids):
        streams = read_streams(connection, portion)
        for prompt_id in portion:
            try:
                cases[prompt_id] = stored_case(streams, prompt_id)
            except UNREADABLE:
                cases[prompt_id] = None
    return cases


def _case_shown(row: MatrixRow, case: Case | None) -> MatrixCase:
    named = case or row.first
    return MatrixCase.copy_of(
        row,
        named,
        case_id=(named and named.case_id) or str(row.prompt_id),
        expected=case and expected_of(case),
        first=row.first and row.first.evaluation_id,
    )


def _show_evaluation(
    request: PageRequest[MatrixQuery], run_id: UUID, evaluation_id: UUID, rows: Sequence[MatrixCase]
) -> ShownEvaluation:
    """The evaluation beside the matrix. Raises `InvalidInput` where the run has none of this id."""
    _, key = require_evaluation(request, str(evaluation_id))
    if key.run_id != run_id:
        raise InvalidInput.because(
            "unknown-evaluation",
            f"the evaluation {evaluation_id} is of another run",
            remedy=f"open it at /evaluations/{evaluation_id}",
        )
    [recorded] = read_evaluations(request.connection, [key], up_to=request.as_of.events_up_to)
    run = request.reader.run(run_id)
    [outcome] = request.reader.outcomes(run, [key])
    spoken, problem = read_conversation(recorded, run.started)
    previous, following = _find_neighbours(evaluation_id, rows)
    return ShownEvaluation.copy_of(
        key,
        case_id=recorded.case.case_id,
        model=key.model_key,
        verdict=verdict_of(outcome),
        expectations=shown_expectations(recorded.case, outcome),
        turns=shown_turns(evaluation_id, spoken)[0],
        conversation_problem=problem,
        previous=previous,
        next=following,
    )


def _find_neighbours(
    evaluation_id: UUID, rows: Sequence[MatrixCase]
) -> tuple[UUID | None, UUID | None]:
    """The evaluations above and below this one in its column."""
    by_column = zip(*(row.cells for row in rows), strict=True)
    for cells in by_column:
        column = [cell.first.evaluation_id for cell in cells if cell is not None]
        if evaluation_id in column:
            at = column.index(evaluation_id)
            return column[at - 1] if at else None, next(iter(column[at + 1 :]), None)
    return None, None


PAGE = Page(
    name="matrix",
    path="/runs/{run}/matrix",
    word="Cases by models",
    says="Which model of a run failed which case: cases by models, with a conversation beside.",
    read=read_matrix,
)
