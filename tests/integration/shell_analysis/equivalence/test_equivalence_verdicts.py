"""What a verdict says: which tier reached it, why, and by which versions."""

from __future__ import annotations

import pytest

from failproof_es.shell_analysis.equivalence import EquivalenceVerdict, compare
from failproof_es.shell_analysis.parse.shell import tool_version


def test_the_same_text_needs_no_rules() -> None:
    found = compare("frobnicate --x", "frobnicate --x")
    assert (found.verdict, found.tier) == (EquivalenceVerdict.EQUAL, "text")


def test_known_programs_that_differ_are_different() -> None:
    found = compare("ls -l", "ls -t")
    assert (found.verdict, found.tier) == (EquivalenceVerdict.DIFFERENT, "normal_form")


def test_programs_without_rules_are_undecided_where_they_differ() -> None:
    found = compare("frobnicate -a -b", "frobnicate -b -a")
    assert found.verdict is EquivalenceVerdict.UNDECIDED
    assert found.reasons == ("can't be judged: frobnicate: no rule for it",)


def test_programs_without_rules_are_equal_where_only_the_shell_is_written_otherwise() -> None:
    assert (
        compare("frobnicate 'a' >f 2>&1", 'frobnicate "a" &>f').verdict is EquivalenceVerdict.EQUAL
    )


def test_a_difference_elsewhere_is_a_difference_whatever_an_unknown_program_does() -> None:
    assert compare("frobnicate | sort", "frobnicate | tac").verdict is EquivalenceVerdict.DIFFERENT


def test_a_computed_program_is_undecided() -> None:
    found = compare("$tool -a", "$tool -b")
    assert found.verdict is EquivalenceVerdict.UNDECIDED
    assert found.reasons == ("can't be judged: dynamic command",)


def test_a_redefined_program_is_compared_word_for_word() -> None:
    assert (
        compare("ls() { :; }; ls -la", "ls() { :; }; ls -al").verdict
        is EquivalenceVerdict.UNDECIDED
    )
    assert (
        compare("ls() { :; }; ls -la", "ls() { :; }; 'ls' -la").verdict is EquivalenceVerdict.EQUAL
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [("", "empty"), ("# note", "only_comment"), ("a\0b", "nul"), ("a" * 5000, "too_long")],
)
def test_text_that_is_no_command_is_undecided_and_says_which_side(text: str, code: str) -> None:
    found = compare("ls", text)
    assert (found.verdict, found.tier) == (EquivalenceVerdict.UNDECIDED, "unparseable")
    assert found.reasons[0].startswith(f"actual: {code}: ")
    assert compare(text, text).verdict is EquivalenceVerdict.UNDECIDED


def test_a_syntax_error_is_a_verdict_with_the_parser_s_words() -> None:
    found = compare("ls | ", "for x in")
    assert [reason.split(": ")[:2] for reason in found.reasons] == [
        ["expected", "syntax"],
        ["actual", "syntax"],
    ]


def test_every_verdict_names_the_rules_and_the_parser() -> None:
    assert compare("ls", "pwd").version == f"equivalence-5 {tool_version()}"
