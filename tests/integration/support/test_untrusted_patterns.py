"""Expressions that somebody else wrote: each is checked and matched within limits."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import regex

from failproof_es.support.bounded import untrusted_patterns
from failproof_es.support.bounded.untrusted_patterns import (
    _OTHER_CHARACTERS,
    PatternStopped,
    fault_of,
    is_bounded,
    is_found,
    spans,
)
from tests.machine import is_computed_within

NESTED = "(" * 40 + "a" + "+)" * 40
"""`regex` compiles it in exponential time, RE2 in none."""
LIGATURES = "(?i)" + "\ufb01" * 3000
LOOKING = "(?=a)"
PRODUCT = Path(__file__).parents[3] / "failproof_es"
OWN_PATTERNS = {"untrusted_patterns.py", "patterns_when_used.py", "normal_form.py"}


def test_nested_repeats_are_matched_in_linear_time() -> None:
    assert fault_of(NESTED) is None
    assert list(spans(NESTED, "baaab")) == [(1, 4)]
    assert is_bounded(NESTED, "a" * 4000)


@pytest.mark.usefixtures("soon_stopped")
@pytest.mark.parametrize("pattern", [NESTED + LOOKING, "((a{1000}){1000}){1000}"])
def test_compiling_that_does_not_end_is_stopped(pattern: str) -> None:
    fault = fault_of(pattern)
    assert fault is not None and fault.is_costly, fault
    assert "compiling the expression was stopped" in fault.message


STOPPED = "stopped: it needed more than 1 s of processor time"


def test_matching_that_takes_too_long_is_stopped() -> None:
    with pytest.raises(PatternStopped, match=STOPPED):
        list(spans(LIGATURES, "fi" * 2_000_000))


def test_an_expression_is_asked_again_after_another_one_was_stopped() -> None:
    with pytest.raises(PatternStopped, match=STOPPED):
        is_found(r"^(a|aa)+$(?<=a)", "a" * 40 + "b")
    assert is_found(r"(a)\1", "baa")
    assert not is_found(r"(a)\1", "bab")


def test_the_braces_that_lost_neighbours_take_linear_time() -> None:
    pattern, text = r'(?s)\{.*"a".*\}', "{" * 60_000
    assert not is_found(pattern, text)
    assert is_computed_within(1.0, lambda: is_found(pattern, text))


def test_every_character_that_matches_another_one_is_no_ordinary_text() -> None:
    """RE2 reads the rest: letters, digits and spaces beyond ASCII are left to `regex`."""
    characters = "".join(map(chr, range(0x80, sys.maxunicode + 1)))
    ordinary = _OTHER_CHARACTERS.sub("", characters)
    assert not regex.search(r"[\w\s\d]", ordinary)
    for character in ordinary:
        changed = {character.lower(), character.upper(), character.casefold()} - {character}
        assert not changed, hex(ord(character))


def test_only_one_module_compiles_expressions_of_somebody_else() -> None:
    """Elsewhere an expression of the `regex` package is written in the code."""
    for file in PRODUCT.rglob("*.py"):
        text = file.read_text()
        if file.name in OWN_PATTERNS or "import regex" not in text:
            continue
        calls = set(regex.findall(r"\bregex\.(\w+)\(", text))
        assert calls <= {"escape"} or "patterns_when_used as regex" in text, (file, calls)


def test_a_text_that_is_no_expression_says_so() -> None:
    fault = fault_of("(")
    assert fault is not None and not fault.is_costly
    assert "not a valid regular expression" in fault.message
    long = fault_of("a" * (untrusted_patterns.MOST_CHARACTERS + 1))
    assert long is not None and "longer than" in long.message
