"""Converts an `EvaluationOutcome` to a row of `evaluations` and back, without loss."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

import orjson

from failproof_es.core.costs import Spent, Tokens
from failproof_es.core.outcome import ErrorSeen, EvaluationOutcome
from failproof_es.core.transcript import JudgeVerdict
from projections.protocol import exact_text, visible

TOKENS = ("input", "output", "cached_input", "cache_write", "cache_write_1h")
"""The counts of `Spent`, in the order in which rows hold them."""


class OutcomeRow(NamedTuple):
    """A row of `evaluations`, in the order of its columns in `sql/run_results.sql`.

    `outcome_row` fills it by position, `outcome_of_row` reads it by name.
    """

    evaluation_id: UUID
    run_id: UUID
    prompt_id: UUID
    model_key: str
    repetition: int
    status: str
    awaiting_review: bool
    lost: bool
    unscored_as: str | None
    passed: bool | None
    source_run_id: UUID | None
    source_evaluation_id: UUID | None
    started_at: Any
    finished_at: Any
    requests: int
    retries: int
    lost_requests: int
    in_flight: bool
    errors: str | None
    error_kind: str | None
    error_message: str | None
    response: str | None
    finish_reason: str | None
    model_answered: str | None
    latency_ms: float | None
    first_token_ms: float | None
    tokens_per_second: float | None
    input_tokens: int | None
    output_tokens: int | None
    turns_without_usage: int
    cost_usd: Decimal | None
    primary_class: str | None
    details: str | None
    judges: str | None
    scores: str | None
    accuracy: float | None
    reason: str | None
    ended_kind: str | None
    graded_by: str | None
    response_ms: str | None
    spending: str | None
    impossible: str | None
    counted: bool
    first_position: int
    last_position: int


COLUMNS = OutcomeRow._fields
_JSON = frozenset(
    {
        "errors", "error_message", "response", "details", "judges", "scores", "reason",
        "graded_by", "response_ms", "spending", "impossible",
    }
)  # fmt: skip
SELECTED = ", ".join(f"e.{name}::text" if name in _JSON else f"e.{name}" for name in COLUMNS)
"""The columns as `outcome_of_row` wants them: JSON as it is written."""


def outcome_row(
    outcome: EvaluationOutcome, *, counted: bool, first_position: int, last_position: int
) -> OutcomeRow:
    """The row of an outcome. `counted`: whether it is one of its run's plan."""
    scores = outcome.scores
    return OutcomeRow(
        outcome.evaluation_id,
        outcome.run_id,
        outcome.prompt_id,
        visible(outcome.model_key),
        outcome.repetition,
        outcome.status,
        outcome.awaiting_review,
        outcome.lost,
        outcome.unscored_as,
        outcome.passed,
        outcome.source_run_id,
        outcome.source_evaluation_id,
        outcome.started_at,
        outcome.finished_at,
        outcome.requests,
        outcome.retries,
        outcome.lost_requests,
        outcome.in_flight,
        _json([list(each) for each in outcome.errors]) if outcome.errors else None,
        _name(outcome.error_kind),
        None if outcome.error_message is None else _json(outcome.error_message),
        None if outcome.answer is None else _json(outcome.answer),
        _name(outcome.finish_reason),
        _name(outcome.model_answered),
        outcome.latency_ms,
        outcome.first_token_ms,
        outcome.tokens_per_second,
        outcome.input_tokens,
        outcome.output_tokens,
        outcome.turns_without_usage,
        outcome.cost_usd,
        _name(outcome.primary),
        None if outcome.primary is None else _json(outcome.details),
        _json([[each.judge, each.verdict, each.problem] for each in outcome.judges])
        if outcome.judges
        else None,
        _json(scores) if scores or outcome.status == "scored" else None,
        outcome.accuracy,
        _json(outcome.reason) if outcome.reason else None,
        _name(outcome.ended_kind),
        _json(outcome.graded_by) if outcome.graded_by else None,
        _json(outcome.response_ms) if outcome.response_ms else None,
        _json({key: spent_list(each) for key, each in outcome.spending.items()})
        if outcome.spending
        else None,
        None if outcome.impossible is None else _json(outcome.impossible),
        counted,
        first_position,
        last_position,
    )


def outcome_of_row(columns: Sequence[Any]) -> EvaluationOutcome:
    """The outcome that a row holds."""
    row = OutcomeRow(*columns)
    return EvaluationOutcome(
        evaluation_id=row.evaluation_id,
        run_id=row.run_id,
        prompt_id=row.prompt_id,
        model_key=exact_text(row.model_key),
        repetition=row.repetition,
        status=row.status,  # type: ignore[arg-type]
        unscored_as=row.unscored_as,  # type: ignore[arg-type]
        source_run_id=row.source_run_id,
        source_evaluation_id=row.source_evaluation_id,
        started_at=row.started_at,
        finished_at=row.finished_at,
        requests=row.requests,
        retries=row.retries,
        lost_requests=row.lost_requests,
        in_flight=row.in_flight,
        errors=tuple(ErrorSeen(*each) for each in _loaded(row.errors, ())),
        error_kind=_exact(row.error_kind),
        error_message=_loaded(row.error_message),
        answer=_loaded(row.response),
        finish_reason=_exact(row.finish_reason),
        model_answered=_exact(row.model_answered),
        latency_ms=row.latency_ms,
        first_token_ms=row.first_token_ms,
        tokens_per_second=row.tokens_per_second,
        input_tokens=None if row.input_tokens is None else int(row.input_tokens),
        output_tokens=None if row.output_tokens is None else int(row.output_tokens),
        turns_without_usage=row.turns_without_usage,
        cost_usd=row.cost_usd,
        primary=_exact(row.primary_class),
        details=_loaded(row.details, {}),
        judges=tuple(JudgeVerdict(*each) for each in _loaded(row.judges, ())),
        scores=_loaded(row.scores, {}),
        passed=row.passed,
        reason=_loaded(row.reason, ""),
        ended_kind=_exact(row.ended_kind),
        graded_by=_loaded(row.graded_by, {}),
        response_ms=tuple(_loaded(row.response_ms, ())),
        spending={key: spent_of(each) for key, each in _loaded(row.spending, {}).items()},
        impossible=_loaded(row.impossible),
    )


def spent_list(spent: Spent) -> list[str]:
    """The numbers of a `Spent`, each written whole: nothing bounds what a server claims."""
    told = spent.input, spent.output, spent.cached_input, spent.cache_write, spent.cache_write_1h
    numbers = [str(number) for each in told for number in (each.total, each.told)]
    return [str(spent.answers), str(spent.unpriced), str(spent.known_usd), *numbers]


def spent_of(numbers: Sequence[Any]) -> Spent:
    """The `Spent` of which `spent_list` made these numbers."""
    answers, unpriced, known_usd, *rest = numbers
    total = int(answers)
    tokens = {
        name: Tokens(int(read), int(told), total - int(told))
        for name, read, told in zip(TOKENS, rest[::2], rest[1::2], strict=True)
    }
    return Spent(answers=total, unpriced=int(unpriced), known_usd=Decimal(known_usd), **tokens)


def _name(text: str | None) -> str | None:
    return None if text is None else visible(text)


def _exact(text: str | None) -> str | None:
    return None if text is None else exact_text(text)


def _loaded(text: str | None, nothing: Any = None) -> Any:
    return nothing if text is None else json_value(text)


def json_value(text: str) -> Any:
    """What JSON says that a row holds."""
    return orjson.loads(text)


def _json(value: Mapping[str, Any] | Sequence[Any] | str) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # nested deeper than it writes
        return json.dumps(value, ensure_ascii=False)
