"""The parts of an evaluation's page, each made of its events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from failproof_es.console.links import to
from failproof_es.console.parts.conversation import LINE
from failproof_es.console.parts.expectations import JudgedItem
from failproof_es.console.texts import (
    Quotation,
    TextShown,
    pretty,
    text_shown,
)
from failproof_es.core.costs import Prices, answer_cost
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.core.reply_body import body_text, raw_body
from failproof_es.engine.history import UNREADABLE
from failproof_es.events import (
    AnswerImported,
    Classified,
    ErrorRecorded,
    Event,
    Judged,
    ResponseReceived,
    Reviewed,
    Scored,
)
from failproof_es.events.line import line_of
from failproof_es.reading.exchanges import (
    Exchange,
    ReadEvent,
    digest_of_body,
)
from failproof_es.support.document import Document
from failproof_es.support.untrusted_text import shortened


class CaseShown(Document):
    """The evaluation's case."""

    case_id: str
    suite_id: str
    category: str | None
    severity: str | None
    label: str | None
    tags: tuple[str, ...]
    digest: str
    prompt_id: UUID
    position: int | None
    """The event that stored it."""
    document: TextShown
    """The case as it stood in its file, as JSON."""


class EvaluationVerdict(Document):
    """The ending of the evaluation."""

    status: str
    passed: bool | None
    lost: bool
    awaiting_review: bool
    class_: str | None
    reason: str
    scores: dict[str, float]
    error_kind: str | None
    error_message: str | None
    requests: int
    retries: int
    orphaned_requests: int
    latency_ms: float | None
    first_token_ms: float | None
    cost_usd: float | None
    input_tokens: int | None
    output_tokens: int | None
    finish_reason: str | None
    model_answered: str | None
    source_run_id: UUID | None
    source_evaluation_id: UUID | None
    impossible: str | None


class JudgeShown(Document):
    """One judge's verdict."""

    judge: str
    verdict: TextShown | None
    problem: str | None
    items: tuple[JudgedItem, ...]
    """Verdicts by item, where the verdict is for a checklist."""
    quotations: tuple[Quotation, ...]


class Step(Document):
    """An event of the evaluation, and the time since the event before."""

    position: int
    version: int
    topic: str
    at: datetime
    after_ms: float | None
    says: str


class GraderVersion(Document):
    """A grader and its version."""

    what: str
    name: str
    version: str
    position: int


class BodyShown(Document):
    """A request or a reply: raw, and pretty where it is JSON."""

    position: int
    raw: TextShown
    pretty: TextShown | None
    sha256: str | None
    withheld: str | None
    """Why not all of it is on record."""
    problem: str | None = None
    """Why it is not the request that was sent: the record was changed."""


class AttemptShown(Document):
    """One request, and its outcome."""

    number: int
    purpose: str
    judge: str | None
    turn: int
    attempt: int
    at: datetime
    model: str
    endpoint: str
    parameters: TextShown
    request: BodyShown
    outcome: str
    """`answered`, `failed`, `orphaned` or `waiting`."""
    status: int | None = None
    error_kind: str | None
    message: TextShown | None
    response: BodyShown | None
    headers: dict[str, str]
    latency_ms: float | None = None
    finish_reason: str | None = None
    provider_request_id: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None


class ImportedShown(Document):
    """An answer as another tool recorded it, with that tool's verdicts and cost."""

    says: str
    position: int
    source_place: str
    sample_sha256: str
    source_passed: bool | None
    source_scores: TextShown
    source_cost_usd: str | None
    asked_at: str | None


class ReviewShown(Document):
    """A person's review."""

    reviewer: str
    verdict: str
    severity: str | None
    items: dict[str, str]
    tags: tuple[str, ...]
    notes: TextShown
    blind: bool | None
    """Whether the engine's verdict was hidden; `None` where that is unknown."""
    queue: str | None
    """The queue that gave the evaluation to the reviewer, if any."""
    adjudicates: bool
    """Whether it decides between the other reviewers."""
    at: datetime


def json_shown(value: Any, whole: str | None = None) -> TextShown:
    """The value as indented JSON, cut where it is very long; `whole` is the URL of all of it."""
    return text_shown(dumped(value), whole)


def dumped(value: Any) -> str:
    """The value as indented JSON, whole."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def verdict_of(outcome: EvaluationOutcome) -> EvaluationVerdict:
    """The outcome, as the page shows it."""
    return EvaluationVerdict.copy_of(
        outcome,
        reason=shortened(outcome.reason, 2000),
        error_message=outcome.error_message and shortened(outcome.error_message, 2000),
    )


def attempt_shown(
    number: int, exchange: Exchange, key: EvaluationKey, prices: Prices
) -> AttemptShown:
    """One request and its outcome, as the evaluation's page shows them.

    `number` is its place among all requests of the evaluation, from 1. `prices` maps the keys of
    models and judges to their prices; without a price the cost is `None`.
    """
    request = exchange.request
    answer = exchange.answer.event if exchange.answer else None
    error = exchange.error.event if exchange.error else None
    assert answer is None or isinstance(answer, ResponseReceived)
    assert error is None or isinstance(error, ErrorRecorded)
    came = exchange.answer or exchange.error
    back = answer or error
    message = None if error is None else error.message
    return AttemptShown.copy_of(
        request,
        back,
        answer and answer.usage,
        number=number,
        at=request.timestamp,
        parameters=json_shown(request.parameters),
        request=_request_body(key, exchange),
        outcome="failed"
        if error
        else "answered"
        if answer
        else "orphaned"
        if exchange.orphaned
        else "waiting",
        error_kind=None if error is None else error.kind,
        message=None
        if message is None or exchange.error is None
        else text_shown(message, _text_url(key, f"message-{exchange.error.row.position}")),
        response=None
        if came is None or back is None or back.body is None
        else _reply_body(key, came.row.position, back),
        headers={} if back is None else back.headers,
        cost_usd=answer and answer_cost(prices, answer),
    )


def imported_shown(history: Sequence[ReadEvent], says: str | None) -> ImportedShown | None:
    """The imported answer among these events; `None` where there is none."""
    for record in history:
        if isinstance(record.event, AnswerImported):
            answer = record.event
            return ImportedShown.copy_of(
                answer,
                says=says or "imported, not asked by us",
                position=record.row.position,
                source_scores=json_shown(answer.source_scores),
            )
    return None


def _text_url(key: EvaluationKey, name: str) -> str:
    return to("evaluations", key.evaluation_id, "texts", name)


def _request_body(key: EvaluationKey, exchange: Exchange) -> BodyShown:
    position, sent = exchange.sent.row.position, exchange.body
    whole = _text_url(key, f"body-{position}")
    return BodyShown(
        position=position,
        raw=text_shown(sent.text, whole),
        pretty=pretty(sent.body, whole),
        sha256=sent.sha256,
        withheld=None,
        problem=sent.problem,
    )


def _reply_body(
    key: EvaluationKey, position: int, event: ResponseReceived | ErrorRecorded
) -> BodyShown:
    whole, withheld = _text_url(key, f"body-{position}"), event.withheld
    return BodyShown(
        position=position,
        raw=text_shown(body_text(event) or "", whole),
        pretty=pretty(raw_body(event), whole),
        sha256=digest_of_body(event),
        withheld=withheld
        and {
            "long": f"Its beginning is on record, of {withheld.length:,} bytes.",
            "secret": "A key of the run stands in it, so it is not on record.",
            "unsearchable": "No key can be looked for in it, so it is not on record.",
        }[withheld.why],
    )


def steps_of(history: Sequence[ReadEvent]) -> Iterator[Step]:
    """The events as steps, each with the time since the event before."""
    before: datetime | None = None
    for record in history:
        row = record.row
        at = row.recorded_at if record.event is None else record.event.timestamp
        try:
            says = line_of(row.topic, row.upcast_payload())
        except UNREADABLE as error:
            says = str(error)
        yield Step.copy_of(
            row,
            at=at,
            after_ms=None if before is None else (at - before).total_seconds() * 1000,
            says=shortened(says, LINE),
        )
        before = at


def graders_of(history: Sequence[ReadEvent]) -> Iterator[GraderVersion]:
    """The graders of an evaluation with their versions."""
    for record in history:
        for what, name, version in _versions_in(record.event):
            yield GraderVersion(what=what, name=name, version=version, position=record.row.position)


def _versions_in(event: Event | None) -> Iterator[tuple[str, str, str]]:
    """What was graded, by which grader and by which version of it."""
    match event:
        case Classified():
            yield "class", event.classifier, event.classifier_version
        case Judged():
            yield f"verdict of {event.judge}", event.grader, event.grader_version
        case Scored():
            yield "score", event.scorer, event.scorer_version
            yield from (("added score", *grader) for grader in event.graders.items())


def review_shown(review: Reviewed) -> ReviewShown:
    """A review, as the page shows it."""
    return ReviewShown.copy_of(
        review,
        items={item.item: item.verdict for item in review.items},
        notes=text_shown(review.notes, None),
        at=review.timestamp,
    )
