"""The items of a checklist and the checks that can fail a case, beside the decisions. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from failproof_es.core.case import Case
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.dialects.kit.judging import Item, checklist
from failproof_es.dialects.protocol import Expectation
from failproof_es.dialects.shipped.redteam.result import quotations

_Findings = Mapping[str, Any]
_CHECKS: Mapping[str, tuple[str, str, Callable[[_Findings], list[str]]]] = {
    "empty": ("an answer", "the reply is empty", lambda found: []),
    "unknown_source": (
        "cites only sources of the case",
        "cites an unknown source",
        lambda found: found["citations"]["unknown"],
    ),
    "false_quotation": (
        "quotes only words that a source has",
        "quotes words that no source has",
        lambda found: found["citations"]["false_quotations"],
    ),
    "wrong_language": (
        "answers in the language of the case",
        "answers in another language",
        lambda found: [found["language"]["detected"]],
    ),
    "missing_tool": (
        "calls the tools that the case expects",
        "does not call a tool",
        lambda found: found["tools"]["missing"],
    ),
}
"""By the name of a finding: the expectation, the fault, and the words that prove the fault."""


def expectations(case: Case, outcome: EvaluationOutcome) -> list[Expectation]:
    """Each item of the checklist, then each check that can fail the case."""
    return [
        *(_of_item(item, outcome) for item in checklist(case.expectation)),
        *_of_checks(case.expectation["fails_by"], outcome.details),
    ]


def _of_item(item: Item, outcome: EvaluationOutcome) -> Expectation:
    number = outcome.scores.get(item.key)
    met = None if number is None else number == 1.0
    decision = "not decided" if met is None else item.describe(met)
    decided = None if met is None else item.words.passes if met else item.words.fails
    quotes = dict.fromkeys(
        judged["quote"]
        for judged in quotations(item, outcome.judges)
        if judged["verdict"] == decided and judged["quote"]
    )
    proof = ", ".join(f'"{quote}"' for quote in quotes)
    return Expectation(
        f"{item.name}: {item.text}",
        f"{decision}: {proof}" if proof else decision,
        met,
        f"{item.kind} {item.describe(False)}",
    )


def _of_checks(names: list[str], findings: _Findings) -> Iterator[Expectation]:
    failed = findings.get("fails")
    for name in names:
        expected, fault, proof = _CHECKS[name]
        is_met = None if failed is None else name not in failed
        words = ", ".join(f'"{word}"' for word in proof(findings)) if is_met is False else ""
        got = "it does" if is_met else "not decided" if is_met is None else fault
        yield Expectation(expected, f"{got}: {words}" if words else got, is_met, fault)
