"""What an answer has to be, as a pattern: exactly the answers pass that meet all checks."""

from __future__ import annotations

import pytest

from failproof_es.dialects.shipped.failproof import expectation
from failproof_es.importers.expected import NotExpressible, expected_response
from failproof_es.importers.protocol import Check

LONG = "x" * 10_001


def passes(checks: tuple[Check, ...], text: str) -> bool:
    pattern = expected_response(checks)
    assert pattern is not None and expectation.defect(pattern) is None
    return next(expectation.matches(pattern, text), None) is not None


@pytest.mark.parametrize(
    ("checks", "met", "missed"),
    [
        ((Check("contains", ("3.5",)),), ["it is 3.5 m"], ["it is 3x5 m", ""]),
        ((Check("contains", ("Oslo",), ignore_case=True),), ["OSLO", "in oslo"], ["Bergen"]),
        ((Check("contains", ("a", "b")),), ["xxb", "a"], ["c"]),
        ((Check("contains", ("a",)), Check("contains", ("b",))), ["b\na"], ["a", "b"]),
        ((Check("contains", ("C++",), negated=True),), ["C", "D"], ["in C++", "\nC++"]),
        ((Check("equals", ("Oslo", "oslo.")),), ["Oslo", "oslo."], ["Oslo.", " Oslo", "Oslo\n"]),
        ((Check("equals", ("Oslo",), negated=True),), ["Oslo!", "x"], ["Oslo"]),
        ((Check("begins", ("Yes",)),), ["Yes, it is"], ["\nYes", "Oh Yes"]),
        ((Check("ends", ("$",)),), ["5\n$"], ["$5"]),
        ((Check("regex", (r"^\d+$",)),), ["42"], ["a 42"]),
        (
            (Check("regex", (r"\d{2}",)), Check("regex", ("x|y",), negated=True)),
            ["12", "a\n12"],
            ["12x", "1"],
        ),
        ((Check("contains", (LONG,)),), [f"a{LONG}"], [LONG[1:]]),
    ],
)
def test_exactly_the_answers_pass_that_meet_all_checks(
    checks: tuple[Check, ...], met: list[str], missed: list[str]
) -> None:
    assert [text for text in met if not passes(checks, text)] == []
    assert [text for text in missed if passes(checks, text)] == []


@pytest.mark.parametrize(
    ("check", "pattern"),
    [
        (Check("contains", ("C++",), ignore_case=True), r"(?i:C\+\+)"),
        (Check("contains", ("a", "b")), "(?:(?:a)|(?:b))"),
        (Check("equals", ("Oslo",)), r"\A(?:Oslo)\Z"),
        (Check("begins", ("Yes",)), r"\A(?:Yes)"),
        (Check("regex", (r"(?i)\boslo\b",)), r"(?i)\boslo\b"),
    ],
)
def test_one_check_matches_the_text_alone_so_that_no_refusal_passes_by_repeating_it(
    check: Check, pattern: str
) -> None:
    assert expected_response([check]) == pattern


def test_without_checks_any_answer_will_do() -> None:
    assert expected_response(()) is None


@pytest.mark.parametrize(
    "checks",
    [
        (Check("contains", ()),),
        (Check("equals", ("",)),),
        (Check("regex", ("(",)),),
        (Check("regex", (r"(a)\1",)), Check("regex", (r"(b)\1",))),
        (Check("equals", (LONG,)),),
        (Check("contains", ("." * 9_000,)),),
    ],
)
def test_what_no_pattern_can_say_is_told(checks: tuple[Check, ...]) -> None:
    with pytest.raises(NotExpressible):
        expected_response(checks)
