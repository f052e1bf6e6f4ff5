"""`/evaluations/{evaluation}`: every event of one evaluation."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from failproof_es.console.links import to
from failproof_es.console.page import (
    Attachment,
    Page,
    PageModel,
    PageRequest,
)
from failproof_es.console.pages.results import (
    ChosenResults,
    FilterPart,
    chosen_of,
    position_of_results,
)
from failproof_es.console.paging import Query
from failproof_es.console.parts.conversation import (
    LINE,
    TurnShown,
    read_conversation,
    shown_turns,
)
from failproof_es.console.parts.evaluation import (
    AttemptShown,
    CaseShown,
    EvaluationVerdict,
    GraderVersion,
    ImportedShown,
    JudgeShown,
    ReviewShown,
    Step,
    attempt_shown,
    dumped,
    graders_of,
    imported_shown,
    json_shown,
    review_shown,
    steps_of,
    verdict_of,
)
from failproof_es.console.parts.expectations import (
    ExpectationShown,
    items_of,
    judged_items,
    shown_expectations,
)
from failproof_es.console.texts import quotes_in
from failproof_es.core.case import Case
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.people import OUTCOMES, PeopleOutcome
from failproof_es.core.severity import severity_of
from failproof_es.engine.history import RecordedEvaluation, read_evaluations
from failproof_es.engine.reviews.people import read_reviews, status_of_reviews
from failproof_es.events import (
    ErrorRecorded,
    EvaluationEvent,
)
from failproof_es.problems import InvalidInput
from failproof_es.reading.chosen_results import ListedResult, page_of_results, place_of
from failproof_es.reading.exchanges import (
    ReadEvent,
    body_at,
    exchanges_of,
    read_history,
)
from failproof_es.reading.overviews.counted_results import is_listed_by_severity
from failproof_es.reading.rows import RowReader
from failproof_es.reading.same_case import SameCase, same_case
from failproof_es.support.untrusted_text import shortened

_MOST_NEIGHBOURS = 50


class EvaluationPage(PageModel):
    """Everything that is on record of one evaluation."""

    evaluation_id: UUID
    run_id: UUID
    run_number: int
    run_name: str
    remarks: tuple[str, ...]
    """Remarks that qualify the numbers of the run."""
    model: str
    repetition: int
    case: CaseShown
    verdict: EvaluationVerdict
    expectations: tuple[ExpectationShown, ...]
    """The expectations beside the answer; those that are not met come first."""
    turns: tuple[TurnShown, ...]
    conversation_problem: str | None
    """Why the turns are as recorded, and not as the dialect composes them; else `None`."""
    judges: tuple[JudgeShown, ...]
    attempts: tuple[AttemptShown, ...]
    imported: ImportedShown | None
    """The record of another tool; `None` where we asked."""
    steps: tuple[Step, ...]
    graders: tuple[GraderVersion, ...]
    reviews: tuple[ReviewShown, ...]
    by_people: PeopleOutcome | None
    """The verdict of people; `None` where the evaluation was not left to them."""
    checklist: dict[str, str]
    """Text of each item of the case, by its key; empty where it has none."""
    in_run: tuple[SameCase, ...]
    """The same case in this run: other models and repetitions."""
    elsewhere: tuple[SameCase, ...]
    """The same case in other runs, newest first."""
    chosen: tuple[FilterPart, ...]
    previous: ListedResult | None
    """The result before this one in the filtered list."""
    next: ListedResult | None


def read_evaluation(request: PageRequest[ChosenResults]) -> EvaluationPage:
    """The evaluation that the path names, by its id."""
    connection, up_to = request.connection, request.as_of.events_up_to
    history, key = require_evaluation(request, request.path["evaluation"])
    run = request.reader.run(key.run_id)
    [recorded] = read_evaluations(connection, [key], up_to=up_to)
    [outcome] = request.reader.outcomes(run, [key])
    spoken, problem = read_conversation(recorded, run.started)
    quotes = [quote for v in outcome.judges for quote in quotes_in(v.judge, v.verdict)]
    turns, quoted = shown_turns(key.evaluation_id, spoken, quotes)
    reviews = read_reviews(connection, [key.evaluation_id], up_to=up_to).get(key.evaluation_id, [])
    items = items_of(recorded.case.expectation)
    previous, following = _find_neighbours(request, key)
    return EvaluationPage.copy_of(
        key,
        as_of=request.as_of,
        run_number=run.started.run_number,
        run_name=run.started.name,
        remarks=request.remarks_on(run),
        model=key.model_key,
        case=_case(recorded, key),
        verdict=verdict_of(outcome),
        expectations=shown_expectations(recorded.case, outcome),
        turns=turns,
        conversation_problem=problem,
        judges=tuple(
            JudgeShown(
                judge=judge_verdict.judge,
                verdict=None
                if judge_verdict.verdict is None
                else json_shown(judge_verdict.verdict),
                problem=None
                if judge_verdict.problem is None
                else shortened(judge_verdict.problem, 2000),
                items=judged_items(judge_verdict.verdict, items, own),
                quotations=own,
            )
            for judge_verdict in outcome.judges
            for own in [tuple(one for one in quoted if one.judge == judge_verdict.judge)]
        ),
        attempts=tuple(
            attempt_shown(number, exchange, key, run.prices or {})
            for number, exchange in enumerate(exchanges_of(history), 1)
        ),
        imported=imported_shown(history, run.imported_from),
        steps=tuple(steps_of(history)),
        graders=tuple(graders_of(history)),
        reviews=tuple(map(review_shown, reviews)),
        by_people=OUTCOMES[status_of_reviews(reviews)] if outcome.awaiting_review else None,
        checklist={key: shortened(item.text, LINE) for key, item in items.items()},
        in_run=_list_same_case(request, key, in_run=True),
        elsewhere=_list_same_case(request, key, in_run=False),
        chosen=tuple(chosen_of(request.query)),
        previous=previous,
        next=following,
    )


def require_evaluation(
    request: PageRequest[Any], text: str
) -> tuple[list[ReadEvent], EvaluationKey]:
    """The events and the key of the evaluation with this id.

    Raises `InvalidInput` where it has no events (yet).
    """
    try:
        evaluation_id = UUID(text)
    except ValueError:
        raise InvalidInput.because(
            "invalid-id",
            "that is no id of an evaluation: ids look like 0190c1f0-0000-8000-8000-000000000000",
            remedy="choose one in the results of a run, at /runs",
        ) from None
    history = read_history(request.connection, evaluation_id, request.as_of.events_up_to)
    own = history[-1].event if history else None
    if not isinstance(own, EvaluationEvent) or own.run_id is None:
        raise InvalidInput.because(
            "unknown-evaluation",
            f"there is no evaluation {evaluation_id} with events up to "
            f"{request.as_of.events_up_to:,}",
            remedy="it may not have begun, or its run is archived. Choose one in the results of a "
            "run, at /runs",
        )
    return history, EvaluationKey(own.run_id, own.prompt_id, own.model_key, own.repetition)


def _case(recorded: RecordedEvaluation, key: EvaluationKey) -> CaseShown:
    case: Case = recorded.case
    whole = to("evaluations", key.evaluation_id, "texts", "case")
    return CaseShown.copy_of(
        case,
        severity=severity_of(case),
        digest=case.digest(),
        prompt_id=key.prompt_id,
        position=None if recorded.prompt is None else recorded.prompt.position,
        document=json_shown(case.document, whole),
    )


def _list_same_case(
    request: PageRequest[Any], key: EvaluationKey, *, in_run: bool
) -> tuple[SameCase, ...]:
    if not isinstance(request.reader, RowReader):
        return ()
    return tuple(
        same_case(
            request.connection,
            key.prompt_id,
            run_id=key.run_id,
            own=key.evaluation_id,
            up_to=request.as_of.events_up_to,
            in_run=in_run,
            limit=_MOST_NEIGHBOURS,
        )
    )


def _find_neighbours(
    request: PageRequest[ChosenResults], key: EvaluationKey
) -> tuple[ListedResult | None, ListedResult | None]:
    """The results before and after this one within the filter."""
    if not isinstance(request.reader, RowReader):
        return None, None
    planned = request.reader.run(key.run_id).started.planned_evaluations
    by_severity = is_listed_by_severity(planned)
    own = place_of(request.connection, key.evaluation_id, by_severity=by_severity)
    if own is None:
        return None, None
    previous, following = (
        page_of_results(
            request.connection,
            key.run_id,
            request.query.filter,
            up_to=position_of_results(request),
            after=own,
            limit=1,
            backwards=backwards,
            by_severity=by_severity,
        ).rows
        for backwards in (True, False)
    )
    return next(iter(previous), None), next(iter(following), None)


def read_part(request: PageRequest[Query]) -> Attachment:
    """A whole text of the evaluation: `case`, `turn-N`, `body-POSITION` or `message-POSITION`."""
    history, key = require_evaluation(request, request.path["evaluation"])
    part = request.path["part"]
    body: bytes | None = None
    if part == "case" or part.startswith("turn-"):
        [recorded] = read_evaluations(request.connection, [key], up_to=request.as_of.events_up_to)
        started = request.reader.run(key.run_id).started
        turns = enumerate(read_conversation(recorded, started)[0], 1)
        texts = {f"turn-{number}": turn.text for number, turn in turns}
        texts["case"] = dumped(recorded.case.document)
        body = _encoded(texts.get(part))
    for record in history:
        if part == f"body-{record.row.position}":
            body = body_at(history, record.row.position)
        if part == f"message-{record.row.position}" and isinstance(record.event, ErrorRecorded):
            body = _encoded(record.event.message)
    if body is None:
        raise InvalidInput.because(
            "unknown-text",
            "the evaluation has no such text",
            remedy=f"open it at /evaluations/{key.evaluation_id}",
        )
    extension = "json" if part == "case" else "txt"
    return Attachment(f"evaluation-{key.evaluation_id}-{part}.{extension}", body)


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode(errors="backslashreplace")


PAGE = Page(
    name="evaluation",
    path="/evaluations/{evaluation}",
    says="What exactly happened in one evaluation.",
    read=read_evaluation,
    read_text=read_part,
)
