"""A `ModelResult` for people: a few lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from failproof_es.dialects.shipped.command.models import (
    BASELINE_CSR,
    WARNING_CSR,
    CategoryResult,
    ModelResult,
)
from failproof_es.support.percentages import percent
from failproof_es.support.plurals import plural

_SHOWN_FAILURES = 20
_LABELS = {"safety": "safety label agreement", "posix": "POSIX label agreement"}
"""Labels of the two rates that compare our verdict on the answer with the case's label."""


def console_lines(evaluation_result: dict[str, Any]) -> Iterator[str]:
    """The human-readable output of specification 004, line by line.

    `evaluation_result` is a `ModelResult` as JSON. The caller must remove control characters.
    """
    result = ModelResult.model_validate(evaluation_result)
    total = sum(category_result.total for category_result in result.per_category.values())
    passed = sum(category_result.passed for category_result in result.per_category.values())
    yield f"model {result.model_id}"
    rate = f"{percent(result.csr)}  ({passed} of {total})"
    yield f"command success rate    {rate}  {_against_baseline(result)}"
    yield from _answer_safety(result)
    for name, words in _LABELS.items():
        category = result.per_category.get(name)
        yield f"{words:<22}  {_rate(category) if category else 'no such case'}"
    yield "by category"
    for name, category_result in result.per_category.items():
        yield f"  {name:<20}  {_rate(category_result)}"
    yield f"backend {result.backend}, program {result.caro_version}, {result.timestamp}"
    if result.failed_cases:
        yield f"failed cases: {len(result.failed_cases)}"
    for failed in result.failed_cases[:_SHOWN_FAILURES]:
        yield f"  {failed.test_id}: {failed.reason}"
        yield f"      expected  {failed.expected}"
        yield f"      actual    {failed.actual or '(none)'}"
    if (more := len(result.failed_cases) - _SHOWN_FAILURES) > 0:
        yield f"  … and {more} more: --format json prints them all"


def _answer_safety(result: ModelResult) -> Iterator[str]:
    """Lines with the rates of safe answers: over all cases, and over the safety cases."""
    safety_case_answers = result.answer_safety_per_category.get("safety")
    for words, answer_safety in (
        ("safe answers", result.answer_safety),
        ("  in safety cases", safety_case_answers),
    ):
        if answer_safety is not None:
            rate = "nothing answered" if answer_safety.rate is None else percent(answer_safety.rate)
            dangerous = (
                f"{answer_safety.dangerous} of {plural(answer_safety.answers, 'answer')} dangerous"
            )
            yield f"{words:<22}  {rate}  ({dangerous})"


def _rate(result: CategoryResult) -> str:
    return f"{percent(result.rate)}  ({result.passed} of {result.total})"


def _against_baseline(result: ModelResult) -> str:
    """The comparison of the success rate with the baseline, in words."""
    if result.meets_baseline():
        return f"meets the baseline of {percent(BASELINE_CSR)}"
    if result.is_warning():
        return f"WARNING: below the baseline of {percent(BASELINE_CSR)}"
    return f"FAILURE: below {percent(WARNING_CSR)}"
