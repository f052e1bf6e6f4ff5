"""`/evaluations/{evaluation}`: what exactly happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from failproof_es.console.links import to
from failproof_es.console.page import (
    Asked,
    Attached,
    Attachments,
    NotFound,
    Page,
    PageModel,
)
from failproof_es.console.pages.results import Chosen, ChosenResults, chosen_of
from failproof_es.console.paging import Query
from failproof_es.console.parts.evaluation import (
    LINE,
    AttemptShown,
    CaseShown,
    Grader,
    ImportedShown,
    JudgeShown,
    ReviewShown,
    Step,
    TurnShown,
    Verdict,
    attempt_shown,
    dumped,
    graders_of,
    imported_shown,
    json_shown,
    review_shown,
    steps_of,
    verdict_of,
)
from failproof_es.console.parts.judging import items_of, judged_items
from failproof_es.console.texts import (
    Quotation,
    quotes_in,
    text_shown,
    with_quotations,
)
from failproof_es.core.case import Case
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.people import OUTCOMES, PeopleOutcome
from failproof_es.dialects import dialect_named
from failproof_es.engine.history import UNREADABLE, RecordedEvaluation, read_evaluations
from failproof_es.engine.reviews.conversation import ConversationTurn, conversation
from failproof_es.engine.reviews.people import read_reviews, status_of_reviews
from failproof_es.events import (
    AnswerImported,
    ErrorRecorded,
    EvaluationEvent,
    ResponseReceived,
)
from failproof_es.problems import InvalidInput
from failproof_es.reading.chosen_results import ListedResult, page_of_results, place_of
from failproof_es.reading.exchanges import (
    ReadEvent,
    body_at,
    exchanges_of,
    is_evaluation,
    read_history,
)
from failproof_es.reading.rows import RowFeeder
from failproof_es.reading.same_case import SameCase, same_case
from failproof_es.support.untrusted_text import shortened

_BESIDE = 50


class EvaluationPage(PageModel):
    """Everything that is on record of one evaluation."""

    evaluation_id: UUID
    run_id: UUID
    run_number: int
    run_name: str
    remarks: tuple[str, ...]
    """What has to stand beside the numbers of the run."""
    model: str
    repetition: int
    case: CaseShown
    verdict: Verdict
    turns: tuple[TurnShown, ...]
    conversation_problem: str | None
    """Why the turns are those that are on record, and not as its dialect would put them."""
    judges: tuple[JudgeShown, ...]
    attempts: tuple[AttemptShown, ...]
    imported: ImportedShown | None
    """What another tool recorded, where nobody asked here."""
    steps: tuple[Step, ...]
    graders: tuple[Grader, ...]
    reviews: tuple[ReviewShown, ...]
    by_people: PeopleOutcome | None
    """What people decided; `None` where it was not left to them."""
    checklist: dict[str, str]
    """What each item of the case asks, by its key; empty where it has none."""
    in_run: tuple[SameCase, ...]
    """The same case in this run: other models and repetitions."""
    elsewhere: tuple[SameCase, ...]
    """The same case in other runs, newest first."""
    chosen: tuple[Chosen, ...]
    previous: ListedResult | None
    """The result before this one in the list that the filter leaves."""
    next: ListedResult | None


def read_evaluation(asked: Asked[ChosenResults]) -> EvaluationPage:
    """The evaluation that the path names, by its id."""
    connection, up_to = asked.connection, asked.standing.events_up_to
    history, key = _history(asked)
    run = asked.feeder.run(key.run_id)
    [recorded] = read_evaluations(connection, [key], up_to=up_to)
    [outcome] = asked.feeder.outcomes(run, [key])
    spoken, problem = _spoken(recorded)
    quotes = [each for v in outcome.judges for each in quotes_in(v.judge, v.verdict)]
    turns, quoted = _turns(key.evaluation_id, spoken, quotes)
    reviews = read_reviews(connection, [key.evaluation_id], up_to=up_to).get(key.evaluation_id, [])
    items = items_of(recorded.case.expectation)
    previous, following = _beside(asked, key)
    return EvaluationPage(
        as_of=asked.standing,
        evaluation_id=key.evaluation_id,
        run_id=key.run_id,
        run_number=run.started.run_number,
        run_name=run.started.name,
        remarks=asked.remarks_on(run),
        model=key.model_key,
        repetition=key.repetition,
        case=_case(recorded, key),
        verdict=verdict_of(outcome),
        turns=turns,
        conversation_problem=problem,
        judges=tuple(
            JudgeShown(
                judge=each.judge,
                verdict=None if each.verdict is None else json_shown(each.verdict),
                problem=None if each.problem is None else shortened(each.problem, 2000),
                items=judged_items(each.verdict, items, own),
                quotations=own,
            )
            for each in outcome.judges
            for own in [tuple(one for one in quoted if one.judge == each.judge)]
        ),
        attempts=tuple(
            attempt_shown(number, each, key, run.prices or {})
            for number, each in enumerate(exchanges_of(history), 1)
        ),
        imported=imported_shown(history, run.imported_from),
        steps=tuple(steps_of(history)),
        graders=tuple(graders_of(history)),
        reviews=tuple(map(review_shown, reviews)),
        by_people=OUTCOMES[status_of_reviews(reviews)] if outcome.awaiting_review else None,
        checklist={key: shortened(item.text, LINE) for key, item in items.items()},
        in_run=_same(asked, key, in_run=True),
        elsewhere=_same(asked, key, in_run=False),
        chosen=tuple(chosen_of(asked.query)),
        previous=previous,
        next=following,
    )


def _history(asked: Asked[Any]) -> tuple[list[ReadEvent], EvaluationKey]:
    """Its events. Raises `NotFound` where there is no such evaluation, or none yet."""
    said = asked.path["evaluation"]
    try:
        evaluation_id = UUID(said)
    except ValueError:
        raise NotFound(
            "That is no id of an evaluation: ids look like 0190c1f0-0000-8000-8000-000000000000.",
            "Choose one in the results of a run, at /runs.",
        ) from None
    history = read_history(asked.connection, evaluation_id, asked.standing.events_up_to)
    own = history[-1].event if history else None
    if not is_evaluation(history) or not isinstance(own, EvaluationEvent) or own.run_id is None:
        raise NotFound(
            f"There is no evaluation {evaluation_id} with events up to "
            f"{asked.standing.events_up_to:,}.",
            "It may not have begun, or its run is archived. Choose one in the results of a run, "
            "at /runs.",
        )
    return history, EvaluationKey(own.run_id, own.prompt_id, own.model_key, own.repetition)


def _spoken(recorded: RecordedEvaluation) -> tuple[list[ConversationTurn], str | None]:
    """The conversation; where its dialect cannot say it, the case's turns and the replies."""
    try:
        state = recorded.state()
        turns = conversation(dialect_named(recorded.case.dialect), recorded.case, state)
        return [part for turn in turns for part in turn.parts], None
    except InvalidInput as error:
        why = error.problems[0].message
    except UNREADABLE as error:
        why = str(error)
    texts = []
    for each in recorded.history:
        if isinstance(each, ResponseReceived) and each.judge is None:
            texts.append(each.text)
        elif isinstance(each, AnswerImported):
            texts += [reply.text for reply in each.replies]
    return [
        *(ConversationTurn(turn.role, turn.content) for turn in recorded.case.turns),
        *(ConversationTurn("assistant", text, is_earlier_answer=True) for text in texts),
    ], shortened(why, LINE)


_SENT = ("system", "user")
"""Roles of turns that no model said."""


def _turns(
    evaluation: UUID, spoken: Sequence[ConversationTurn], quotes: Sequence[tuple[str, str]]
) -> tuple[tuple[TurnShown, ...], tuple[Quotation, ...]]:
    """Each turn; what judges quote is marked in the answers, the last one's word on it kept."""
    found: dict[tuple[str, str], Quotation] = {}
    turns = []
    for number, each in enumerate(spoken, 1):
        whole = to("evaluations", evaluation, "texts", f"turn-{number}")
        shown = text_shown(each.text, whole)
        if not each.scripted:
            shown, told = with_quotations(each.text, quotes, whole)
            for one in told:
                if one.found != "not found" or (one.judge, one.quote) not in found:
                    found[one.judge, one.quote] = one
        turns.append(
            TurnShown(
                number=number,
                role=each.role,
                scripted=each.scripted,
                speaker=each.speaker,
                text=shown,
            )
        )
    return tuple(turns), tuple(found.values())


def _case(recorded: RecordedEvaluation, key: EvaluationKey) -> CaseShown:
    case: Case = recorded.case
    whole = to("evaluations", key.evaluation_id, "texts", "case")
    return CaseShown(
        case_id=case.case_id,
        suite_id=case.suite_id,
        category=case.category,
        severity=case.severity,
        label=case.label,
        tags=case.tags,
        digest=case.digest(),
        prompt_id=key.prompt_id,
        position=None if recorded.prompt is None else recorded.prompt.position,
        document=json_shown(case.document, whole),
    )


def _same(asked: Asked[Any], key: EvaluationKey, *, in_run: bool) -> tuple[SameCase, ...]:
    if not isinstance(asked.feeder, RowFeeder):
        return ()
    return tuple(
        same_case(
            asked.connection,
            key.prompt_id,
            run_id=key.run_id,
            own=key.evaluation_id,
            up_to=asked.standing.events_up_to,
            in_run=in_run,
            limit=_BESIDE,
        )
    )


def _beside(
    asked: Asked[ChosenResults], key: EvaluationKey
) -> tuple[ListedResult | None, ListedResult | None]:
    """The results before and after this one within the filter."""
    if not isinstance(asked.feeder, RowFeeder):
        return None, None
    own = place_of(asked.connection, key.evaluation_id)
    if own is None:
        return None, None
    reached = asked.standing.events_up_to
    up_to = reached if asked.query.up_to is None else min(asked.query.up_to, reached)
    previous, following = (
        page_of_results(
            asked.connection,
            key.run_id,
            asked.query.filter,
            up_to=up_to,
            after=own,
            limit=1,
            backwards=backwards,
        ).rows
        for backwards in (True, False)
    )
    return next(iter(previous), None), next(iter(following), None)


def read_part(asked: Asked[Query]) -> Attached:
    """A text of the evaluation, whole: `case`, `turn-N`, and by an event's position its body."""
    history, key = _history(asked)
    part = asked.path["part"]
    kind, _, _number = part.partition("-")
    name = f"evaluation-{key.evaluation_id}-{kind}"
    body: bytes | None = None
    if kind in ("case", "turn"):
        [recorded] = read_evaluations(asked.connection, [key], up_to=asked.standing.events_up_to)
        if part == "case":
            body, name = (
                dumped(recorded.case.document).encode(errors="backslashreplace"),
                name + ".json",
            )
        for turn, each in enumerate(_spoken(recorded)[0], 1):
            if part == f"turn-{turn}":
                body = each.text.encode(errors="backslashreplace")
                name = f"{name}-{turn}.txt"
    for found in history:
        if part == f"body-{found.row.position}":
            body = body_at(history, found.row.position)
            name = f"{name}-{found.row.position}.txt"
        if part == f"message-{found.row.position}" and isinstance(found.event, ErrorRecorded):
            body = found.event.message.encode(errors="backslashreplace")
            name = f"{name}-{found.row.position}.txt"
    if body is None:
        raise NotFound(
            "The evaluation has no such text.", f"Open it at /evaluations/{key.evaluation_id}."
        )
    return Attached(name, body)


PAGE = Page(
    name="evaluation",
    path="/evaluations/{evaluation}",
    says="What exactly happened in one evaluation.",
    query=ChosenResults,
    model=EvaluationPage,
    read=read_evaluation,
    attachments=Attachments(
        "/texts/{part}", "A text of an evaluation that its page cuts, whole.", read_part
    ),
)
