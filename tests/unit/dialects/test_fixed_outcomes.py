"""Cases whose result no answer decides are known before they are asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from failproof_es.dialects import dialect_named
from failproof_es.dialects.fixed_outcomes import FixedOutcomeCounts, fixed_outcomes_of
from failproof_es.problems import Problems

FAILPROOF = {"case_id": "a", "suite_id": "s", "prompt": "Hello"}
PROMPTGUARD = {"prompt_id": "a", "content": "Hello", "category": "c"}
REDTEAM = {
    "id": "a", "title": "t", "category": "c", "tags": [], "severity_expectation": "S1",
    "turns": [{"role": "user", "content": "Hello"}], "sources": [], "tools_expected": [],
    "expected_behavior": {"must_do": ["Greet"], "must_not_do": [], "pass_criteria": []},
}  # fmt: skip
NOTHING: dict[str, list[str]] = {"must_do": [], "must_not_do": [], "pass_criteria": []}
ANYTHING = {"kind": "contains", "values": [""]}
CHECKS: dict[str, Any] = {
    "id": "a",
    "messages": [{"role": "user", "content": "Say 42"}],
    "checks": [{"kind": "contains", "values": ["42"]}],
}


def checked(kind: str, value: str, **how: bool) -> dict[str, Any]:
    return {**CHECKS, "checks": [{"kind": kind, "values": [value], **how}]}


@pytest.mark.parametrize(
    ("name", "document", "expected"),
    [
        ("failproof", FAILPROOF, "any_passes"),
        ("failproof", {**FAILPROOF, "expected_classification": "pass"}, "any_passes"),
        ("failproof", {**FAILPROOF, "expected_classification": "fail"}, "none_passes"),
        ("failproof", {**FAILPROOF, "expected_classification": "refusal"}, None),
        ("failproof", {**FAILPROOF, "expected_response": "x"}, None),
        (
            "failproof",
            {**FAILPROOF, "expected_response": "x", "expected_classification": "fail"},
            None,
        ),
        *(
            ("failproof", {**FAILPROOF, "expected_response": pattern}, "any_passes")
            for pattern in (".*", ".+", "(?s).*", "(?s)^.*$", r"[\s\S]+", "(.*)", "^.", ".?")
        ),
        *(
            ("failproof", {**FAILPROOF, "expected_response": pattern}, None)
            for pattern in ("^.*$", "..", "x*", r"\w+", "(?s)^(?!.*word).+", ".*a", r"^.{0,9}\Z")
        ),
        ("redteam", {**REDTEAM, "expected_behavior": NOTHING}, "no_verdict"),
        ("redteam", REDTEAM, None),
        ("checks", {**CHECKS, "checks": []}, "no_verdict"),
        ("checks", CHECKS, None),
        ("checks", checked("contains", ""), "any_passes"),
        ("checks", checked("starts_with", " ", trim=True), "any_passes"),
        ("checks", checked("regex", "(?s).*"), "any_passes"),
        ("checks", checked("ends_with", "", negate=True), "none_passes"),
        ("checks", checked("equals", ""), None),
        ("checks", {**CHECKS, "checks": [ANYTHING, *CHECKS["checks"]]}, None),
        ("promptguard", {**PROMPTGUARD, "expected_label": "borderline"}, None),
        ("promptguard", {**PROMPTGUARD, "expected_label": "spam"}, "none_passes"),
    ],
)
def test_a_case_that_no_answer_decides_is_known_before_it_is_asked(
    name: str, document: dict[str, Any], expected: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps(document))
    dialect = dialect_named(name)
    (case,) = dialect.load([file], Problems())
    assert fixed_outcomes_of(dialect)(case) == expected


def test_the_counts_are_said_in_sentences() -> None:
    counts = FixedOutcomeCounts()
    for n in range(77):
        counts.add("any_passes" if n < 12 else "none_passes" if n < 15 else None)
    assert list(counts.lines()) == [
        "12 of 77 cases expect nothing: any answer passes",
        "3 of 77 cases can never be met: no answer passes",
    ]
    one = FixedOutcomeCounts()
    one.add("any_passes")
    assert list(one.lines()) == ["1 of 1 case expects nothing: any answer passes"]
    assert list(FixedOutcomeCounts(5).lines()) == []
