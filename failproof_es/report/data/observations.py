"""Observations: one record for each planned evaluation of the report's runs."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

from failproof_es.core.case import Case
from failproof_es.core.history_errors import ImpossibleHistory
from failproof_es.core.outcome import EvaluationOutcome, RequestError
from failproof_es.core.pairing import Question
from failproof_es.core.severity import severity_of
from failproof_es.dialects.expectations import expectations_of, fault_of, unmet
from failproof_es.dialects.fixed_outcomes import fixed_outcomes_of
from failproof_es.dialects.kit.judging.checklist import is_item_key
from failproof_es.dialects.protocol import FixedOutcome, wants_refusal_of
from failproof_es.engine.planning.asked_cases import question_of
from failproof_es.engine.required_plugins import require_dialect
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.report.data.content import UnmetExpectation
from failproof_es.support.untrusted_text import shortened

UNFINISHED = "unfinished"
"""Reason of the missing score while an evaluation is pending."""
_MOST_UNMET = 5
_LONGEST_UNMET = 500
"""The most characters of an expectation, and of its counterpart, in a report."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One planned evaluation as the report counts it, finished or not."""

    series: str
    """Name of the series: the model, and with several runs the run's number."""
    run_id: UUID
    run_number: int
    evaluation_id: UUID
    prompt_id: UUID
    model_key: str
    suite: str
    case: str
    cluster: tuple[str, str]
    """Statistical cluster: the case, or the case's family."""
    category: str
    severity: str | None
    tags: tuple[str, ...]
    repetition: int
    question: Question
    """The question with its repetition, as pairing compares it."""
    sent: bool
    answered: bool
    class_: str | None
    judges: tuple[tuple[str, bool], ...]
    """Each judge that is done, and whether it gave a verdict."""
    passed: bool | None
    """Passed by the dialect's rule; `None` without a score, or if the score has no pass mark."""
    reason: str
    scores: Mapping[str, float]
    unscored_reason: str | None
    """Why the evaluation has no score, in one word; `None` where it has one."""
    refusal_wanted: bool
    latency_ms: float | None
    first_token_ms: float | None
    """Mean of the streamed turns."""
    tokens_per_second: float | None
    """Over the streamed turns: tokens after the first one, divided by the time after it."""
    model_answered: str | None
    errors: tuple[str, ...]
    retries: int
    fixed_outcome: FixedOutcome | None = None
    """The case's fixed outcome, if the answer does not decide it."""
    graded_by: Mapping[str, str] = field(default_factory=dict)
    """Versions of the graders (`EvaluationOutcome.graded_by`)."""
    fault: str = ""
    """Why it failed, in words that other cases can share; empty unless it failed."""
    unmet: tuple[UnmetExpectation, ...] = ()
    """The expectation and the answer that came instead; empty unless the evaluation failed."""

    @property
    def is_unscored(self) -> bool:
        """Whether the evaluation ended without a score, even if it awaits people."""
        return self.unscored_reason not in (None, UNFINISHED)


def observations(run: RecordedRun, *, series_format: str = "{model}") -> Iterator[Observation]:
    """An observation for each planned evaluation of the run, in plan order.

    `series_format` is the format of the series name, with the field `{model}` for the model's key.
    Raises `InvalidInput` if the run's dialect is not installed or the run is archived, and
    `ImpossibleHistory` if the record of an evaluation contradicts itself.
    """
    dialect = require_dialect(run.started)
    fixed_outcome_of, wants_refusal = fixed_outcomes_of(dialect), wants_refusal_of(dialect)
    equal_values = _EqualValues()
    questions: dict[UUID, Question] = {}
    for _, case, outcome, _ in run.counted_outcomes():
        if outcome.impossible is not None:
            raise ImpossibleHistory(outcome.impossible)
        if outcome.prompt_id not in questions:
            questions[outcome.prompt_id] = question_of(case)
        question = questions[outcome.prompt_id]._replace(repetition=outcome.repetition)
        yield _observation(
            outcome, case, run.started.run_number, question, series_format,
            fixed_outcome_of(case), wants_refusal(case), equal_values,
        )  # fmt: skip


T = TypeVar("T", bound=Hashable)
V = TypeVar("V", str, float)


class _EqualValues:
    """Holds one object of each value: most values of a run's observations are equal to others."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Any] = {}

    def one(self, value: T) -> T:
        """The first object that was equal to `value`."""
        known: T = self._known.setdefault((type(value), value), value)
        return known

    def mapping(self, values: Mapping[str, V]) -> Mapping[str, V]:
        """The first mapping with the items of `values`."""
        known: Mapping[str, V] = self._known.setdefault(tuple(values.items()), values)
        return known


_SHARED = ("run_id", "model_key", "class_", "reason", "model_answered")
"""Fields that repeat the outcome, with values that many evaluations have."""
_OF_EACH = (
    *("evaluation_id", "prompt_id", "repetition", "passed", "retries"),
    *("latency_ms", "first_token_ms", "tokens_per_second"),
)
"""The other fields that repeat the outcome."""


def _observation(
    outcome: EvaluationOutcome,
    case: Case,
    run_number: int,
    question: Question,
    series_format: str,
    fixed_outcome: FixedOutcome | None,
    refusal_wanted: bool,
    values: _EqualValues,
) -> Observation:
    one = values.one
    return Observation(
        **{name: one(getattr(outcome, name)) for name in _SHARED},
        **{name: getattr(outcome, name) for name in _OF_EACH},
        series=one(series_format.format(model=outcome.model_key)),
        run_number=run_number,
        suite=one(case.suite_id),
        case=case.case_id,
        cluster=case.family,
        category=one(case.category or case.suite_id),
        severity=one(severity_of(case)),
        tags=one(case.tags),
        question=question,
        sent=outcome.requests > 0,
        answered=outcome.answer is not None,
        judges=one(tuple((own.judge, own.verdict is not None) for own in outcome.judges)),
        scores=values.mapping(_comparable_scores(outcome.scores)),
        unscored_reason=outcome.ended_kind if outcome.finished else UNFINISHED,
        refusal_wanted=refusal_wanted,
        errors=tuple(_kind(error) for error in outcome.errors),
        graded_by=values.mapping(outcome.graded_by),
        fixed_outcome=fixed_outcome,
        fault=fault_of(case, outcome) if outcome.passed is False else "",
        unmet=tuple(_unmet(case, outcome)) if outcome.passed is False else (),
    )


def _unmet(case: Case, outcome: EvaluationOutcome) -> Iterator[UnmetExpectation]:
    for expectation in unmet(expectations_of(case, outcome))[:_MOST_UNMET]:
        got = "no answer" if expectation.got is None else expectation.got or "an empty answer"
        yield UnmetExpectation(
            shortened(expectation.expected, _LONGEST_UNMET), shortened(got, _LONGEST_UNMET)
        )


def _comparable_scores(scores: Mapping[str, float]) -> dict[str, float]:
    """Scores that are comparable between cases: without those of the items of one case."""
    return {name: value for name, value in scores.items() if not is_item_key(name)}


def _kind(error: RequestError) -> str:
    return error.kind if error.judge is None else f"{error.kind} ({error.judge})"
