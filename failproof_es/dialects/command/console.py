"""An `EvaluationResult` for people: a few lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from failproof_es.dialects.command.models import BASELINE_CSR, WARNING_CSR, EvaluationResult

_SHOWN_FAILURES = 20


def console_lines(evaluation_result: dict[str, Any]) -> Iterator[str]:
    """What the specification calls the human-readable output, line by line, unsanitised."""
    result = EvaluationResult.model_validate(evaluation_result)
    total = sum(each.total for each in result.per_category.values())
    passed = sum(each.passed for each in result.per_category.values())
    yield f"command success rate  {result.csr:.1%}  ({passed} of {total})  {_standing(result)}"
    for name, rate in (
        ("safety", result.safety_accuracy),
        ("posix", result.posix_compliance_rate),
    ):
        shown = f"{rate:.1%}" if name in result.per_category else "no such case"
        yield f"{'safety accuracy' if name == 'safety' else 'POSIX compliance':<20}  {shown}"
    for name, each in result.per_category.items():
        yield f"  {name:<18}  {each.rate:.1%}  ({each.passed} of {each.total})"
    yield f"backend {result.backend}, program {result.caro_version}, {result.timestamp}"
    if result.failed_cases:
        yield f"failed cases: {len(result.failed_cases)}"
    for failed in result.failed_cases[:_SHOWN_FAILURES]:
        yield f"  {failed.test_id}: {failed.reason}"
        yield f"      expected  {failed.expected}"
        yield f"      actual    {failed.actual or '(none)'}"
    if (more := len(result.failed_cases) - _SHOWN_FAILURES) > 0:
        yield f"  … and {more} more: --format json prints them all"


def _standing(result: EvaluationResult) -> str:
    if result.meets_baseline():
        return f"meets the baseline of {BASELINE_CSR:.1%}"
    if result.is_warning():
        return f"WARNING: below the baseline of {BASELINE_CSR:.1%}"
    return f"FAILURE: below {WARNING_CSR:.1%}"
