"""Maps the assertions of promptfoo's recorded results to checks that decide in the same way.

The importer of cases has `importers.promptfoo.assertions`, which also maps each assertion here.

A part of the assertions could give another verdict than the test. So a test has no checks at all if
one assertion has no counterpart, or if not all of them have to hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from failproof_es.importers.expected import first_pattern_problem
from failproof_es.importers.promptfoo.assertions import (
    CODE,
    LostPart,
    TestExpectation,
    add_assertion,
)
from failproof_es.importers.promptfoo.documents import is_reference
from failproof_es.importers.promptfoo.templates import fill
from failproof_es.importers.protocol import as_reply_checks
from failproof_es.recorded_runs.json_values import Json, list_of, object_of
from failproof_es.recorded_runs.plain import digest_of, plain_value
from failproof_es.recorded_runs.records import Remainder

_VALUE = "renderedAssertionValue"
_AGGREGATE = "Aggregate score"
"""The beginning of promptfoo's reason for a verdict by a threshold of the test."""
_NOT_READ = "its value is in a file that is not read"


def tests_of(rows: list[Any]) -> list[Json]:
    """The test of each row.

    A row of version 2 has none: its assertions are recorded with their verdicts. A row with an
    error has no verdicts: its assertions are those of the first row that asks the same.
    """
    tests_by_question: dict[str, Json] = {}
    tests = []
    for row in map(object_of, rows):
        if "testCase" in row:
            tests.append(object_of(row["testCase"]))
            continue
        test = _graded_test(row)
        if test:
            tests_by_question.setdefault(_asked(row), test)
        tests.append(test)
    return [
        test or tests_by_question.get(_asked(row), {})
        for test, row in zip(tests, rows, strict=True)
    ]


def _graded_test(row: Json) -> Json:
    """The test of a row of version 2, as far as its verdicts show it; empty without verdicts."""
    grading = object_of(row.get("gradingResult"))
    components = list_of(grading.get("componentResults"))
    if not components:
        return {}
    reason = grading.get("reason")
    is_aggregate = isinstance(reason, str) and reason.startswith(_AGGREGATE)
    return {
        "assert": [object_of(component).get("assertion") for component in components],
        **({"threshold": "of the score"} if is_aggregate else {}),
    }


def _asked(row: Any) -> str:
    question = {name: object_of(row).get(name) for name in ("prompt", "vars")}
    return digest_of(plain_value(question, Remainder(), ""))


def is_transformed(test: Json) -> bool:
    """Whether code changed the output of a test before it was recorded."""
    options = object_of(test.get("options"))
    transforms = (
        section.get(name) for section in (options, test) for name in ("transform", "postprocess")
    )
    return any(transform is not None for transform in transforms)


def checks_of(test: Json, row: Json, remainder: Remainder, place: str) -> list[dict[str, Any]]:
    """The checks of a result's case; assertions without a check are listed in `remainder`.

    `row` is the result of the `test`. Empty if the checks would not decide as the test does.
    """
    expected = TestExpectation()
    rendered = _RenderedAssertions(row)
    for assertion in list_of(test.get("assert")):
        rendered_value = rendered.value_of(assertion)
        if rendered_value is not None:
            add_assertion(expected, {**assertion, "value": rendered_value}, str)
        elif isinstance(assertion, Mapping) and is_reference(assertion.get("value")):
            expected.lost.append(LostPart("value", _NOT_READ))
            expected.undecided += 1
        else:
            add_assertion(expected, assertion, rendered.fill)
    for part in expected.lost:
        what = f"an assertion's {part.field}" if part.field else "an assertion"
        remainder.add(what, part.reason, place)
    is_refusal = expected.refusal is not None
    if is_refusal:
        reason = "refusals are found by other rules here: the source's verdict is kept as its own"
        remainder.add("an assertion on a refusal", reason, place)
    if expected.criteria or expected.refused:
        reason = "a judge decides it: the source's verdict is kept as its own"
        remainder.add("an assertion for a judge", reason, place)
    if problem := first_pattern_problem(expected.checks):
        remainder.add("an assertion's expression", problem, place)
    other_rules = _other_rules(test)
    for name, why in other_rules.items():
        remainder.add(f"`{name}` of a test", why, place)
    left_out = expected.undecided or expected.criteria or expected.refused or is_refusal
    decides = not (left_out or problem or other_rules or is_transformed(test))
    checks = as_reply_checks(expected.checks) if decides else []
    return [plain_value(check, remainder, place) for check in checks]


def _other_rules(test: Json) -> dict[str, str]:
    """The settings by which a test may pass without all of its assertions.

    By name, with the reason why no check is made.
    """
    rules = {}
    if test.get("threshold") is not None:
        rules["threshold"] = "not all assertions have to hold: no check is made"
    if object_of(test).get("assertScoringFunction") is not None:
        rules["assertScoringFunction"] = f"{CODE}: no check is made"
    return rules


class _RenderedAssertions:
    """The values of a result's assertions with the variables filled in.

    promptfoo records an assertion as written, and its filled-in value with its verdict. If that
    value is missing, the variables are filled in here.
    """

    def __init__(self, row: Json) -> None:
        components = list_of(object_of(row.get("gradingResult")).get("componentResults"))
        self._rendered_values = [
            (component.get("assertion"), value)
            for component in map(object_of, components)
            if isinstance(value := object_of(component.get("metadata")).get(_VALUE), str)
        ]
        variables = object_of(row.get("vars")).items()
        self._variables = {name: value for name, value in variables if not is_reference(value)}

    def value_of(self, assertion: Any) -> str | None:
        """The filled-in value that promptfoo recorded for the assertion, or `None`."""
        if not isinstance(assertion, Mapping):
            return None
        return next(
            (value for candidate, value in self._rendered_values if candidate == assertion), None
        )

    def fill(self, text: str) -> str:
        """The text with the variables filled in.

        Raises `ValueError` for a template that does more than insert variables with values.
        """
        return fill(text, self._variables)
