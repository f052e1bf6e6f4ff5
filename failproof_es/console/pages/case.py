"""`/cases/{case}`: one case, and every run that asked it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from failproof_es.catalogue.pass_rate import PassRate, build_pass_rate
from failproof_es.console.page import Page, PageModel, PageRequest
from failproof_es.console.paging import PagedQuery, Paging, integer, one_page
from failproof_es.core.case import Case, prompt_id
from failproof_es.core.clusters import ClusterSums
from failproof_es.core.severity import severity_of
from failproof_es.engine.history import stored_case
from failproof_es.problems import InvalidInput
from failproof_es.reading.given_reviews import GivenReview, reviews_by_evaluation
from failproof_es.reading.listed_runs import TrendPoint
from failproof_es.reading.overviews.asked_cases import (
    AskedEvaluation,
    StoredCase,
    list_asked,
    rates_of,
    times_asked,
    trend_of,
    versions_of,
)
from failproof_es.store.reading.reader import RecordedEvent, read_streams
from failproof_es.support.document import Document
from failproof_es.support.percentages import ratio

_DIGEST = re.compile(r"[0-9a-f]{64}")
_FIND = "find it in the list of its suite: /suites, or /cases"


class ModelOnCase(Document):
    """The results on the case of the models with one key, whatever their version and settings."""

    model: str
    runs: int
    evaluations: int
    abandoned: int
    awaiting_review: int
    carried_over: int
    """Evaluations carried over from one of those; they are not counted again."""
    passed: PassRate
    """The rate of repetitions of this case alone: each counts as independent in the interval, and
    `clusters` is their number."""
    trend: tuple[TrendPoint, ...]
    """The latest runs in chronological order; `attempt` numbers them from 1."""


class CasePage(PageModel):
    """A stored case, and its results."""

    prompt_id: UUID
    digest: str
    """SHA-256 of the case as canonical JSON."""
    position: int
    """The event that stored it."""
    case: Case
    versions: tuple[StoredCase, ...]
    """Other cases of the same name."""
    models: tuple[ModelOnCase, ...]
    newest: int | None
    """Number of evaluations, the newest, that `models` covers; `None`: all of them."""
    rows: tuple[AskedEvaluation, ...]
    reviews: Mapping[UUID, tuple[GivenReview, ...]]
    """By the id of a listed evaluation, the last review of each person."""
    paging: Paging


def read_case(request: PageRequest[PagedQuery]) -> CasePage:
    """The case that the path names, by its id or its digest."""
    request.need_projections()
    query, connection = request.query, request.connection
    prompt, events = _stored(request)
    case = stored_case({prompt: events}, prompt)
    (before,) = query.begin(integer) or (None,)
    evaluations = list_asked(connection, prompt, before=before, limit=query.limit + 1)
    rows, following = one_page(
        evaluations, query.limit, lambda evaluation: (evaluation.last_position,)
    )
    rates = rates_of(connection, prompt)
    trends = trend_of(connection, prompt)
    total = times_asked(connection, prompt)
    position = events[0].position
    stored = StoredCase(
        prompt, case.suite_id, case.case_id, case.category, case.label, severity_of(case), position
    )
    return CasePage(
        as_of=request.as_of,
        prompt_id=prompt,
        digest=case.digest(),
        position=position,
        case=case,
        versions=versions_of(connection, stored),
        models=tuple(
            ModelOnCase.copy_of(
                rate,
                awaiting_review=rate.awaiting,
                passed=build_pass_rate(
                    ClusterSums.alone(rate.passed, rate.failed), rate.abandoned + rate.awaiting
                ),
                trend=tuple(
                    TrendPoint(point.run_number, place, point.passed, point.failed,
                               ratio(point.passed, point.passed + point.failed))
                    for place, point in enumerate(trends.get(rate.model, ()), 1)
                ),
            )
            for rate in rates
        ),
        newest=total.rows if total.more else None,
        rows=rows,
        reviews=reviews_by_evaluation(
            connection, [row.evaluation_id for row in rows], up_to=request.as_of.events_up_to
        ),
        paging=query.paging(rows, following, matching=total, total=total),
    )  # fmt: skip


def every_time(request: PageRequest[PagedQuery]) -> Iterator[AskedEvaluation]:
    """Every evaluation of the case."""
    request.need_projections()
    prompt, _ = _stored(request)
    return list_asked(request.connection, prompt)


def _stored(request: PageRequest[PagedQuery]) -> tuple[UUID, Sequence[RecordedEvent]]:
    """The id and the events of the case's stream. Raises `InvalidInput` where there is none."""
    prompt = _prompt(request)
    events = read_streams(request.connection, [prompt]).get(prompt)
    if not events or events[0].position > request.as_of.events_up_to:
        raise InvalidInput.because("unknown-case", "there is no such case", remedy=_FIND)
    return prompt, events


def _prompt(request: PageRequest[PagedQuery]) -> UUID:
    name = request.path["case"]
    if _DIGEST.fullmatch(name):
        return prompt_id(name)
    try:
        return UUID(name)
    except ValueError:
        raise InvalidInput.because(
            "invalid-id",
            "a case is named by its id or by its digest, and this is neither",
            remedy=_FIND,
        ) from None


PAGE = Page(
    name="case",
    path="/cases/{case}",
    says="A case, its digest, every run that asked it, and its pass rate over time.",
    read=read_case,
    rows=every_time,
)
