"""Text that is made to take long is judged in a moment, and what hides in it is not safe."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from failproof_es.shell_analysis import Unparseable, check_posix, compare, parse_command
from failproof_es.shell_analysis.equivalence import word_reader
from failproof_es.shell_analysis.equivalence.braces import Unquoted
from failproof_es.shell_analysis.parse import programs
from failproof_es.shell_analysis.safety import judge_safety
from tests.every import every

_SECONDS = 4
"""Of processor time; the slowest takes less than one on an idle machine."""

DOUBLING = {
    "a variable": "a=x; " + "a=$a$a; " * 60 + 'echo "$a"',
    "in quotes": "a=x; " + 'a="$a$a"; ' * 60 + 'echo "$a"',
    "in turns": "a=x; " + "b=$a$a; a=$b$b; " * 60 + "eval $a",
    "appended": "a=x; " + "a+=$a; " * 60 + 'echo "$a"',
    "positional": "set -- x; " + "set -- $@ $@; " * 60 + "echo $@",
    "substituted": "a=x; " + "a=$(echo $a$a); " * 60 + 'echo "$a"',
    "options nobody knows": "env " + "-z x " * 700 + "rm",
}


def _processor_time() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.fixture
def _in_a_moment() -> Iterator[None]:
    began = _processor_time()
    yield
    assert _processor_time() - began < _SECONDS


@pytest.mark.usefixtures("_in_a_moment")
@every("command", DOUBLING.values())
def test_what_doubles_without_end_is_given_up_and_not_safe(command: str) -> None:
    assert not judge_safety(command).safe


@pytest.mark.usefixtures("_in_a_moment")
def test_what_grows_a_little_is_read() -> None:
    assert judge_safety("a=x; " + "a=$a$a; " * 4 + 'echo "$a"').safe
    assert not judge_safety("a=/; " + "b=$a; a=$b; " * 20 + 'rm -rf "$a"').safe


OPENED = {
    "brackets": "[" * 2000,
    "patterns": "echo " + "[!a-" * 1000,
    "subscripts": "a[" * 2000,
    "braces": "echo " + "{a," * 1300,
}


@pytest.mark.usefixtures("_in_a_moment")
@every("command", OPENED.values())
def test_what_shellcheck_would_read_for_long_is_judged_without_it(command: str) -> None:
    """By its text and not by the clock: a busy machine comes to the same verdict."""
    for edition in ("2017", "2024"):
        verdict = check_posix(command, edition)
        reasons = [each for each in verdict.reasons if each.startswith(("TOO_DEEP", "UNPARSEABLE"))]
        assert reasons and not verdict.compliant


@pytest.mark.usefixtures("_in_a_moment")
def test_as_many_brackets_and_braces_as_are_written_by_hand_are_read() -> None:
    assert check_posix("ls " + "[ab]" * 250).compliant
    assert "TOO_DEEP" in check_posix("ls " + "[ab]" * 251).reasons[0]
    assert check_posix("echo '" + "{" * 500 + "'").compliant
    assert "TOO_DEEP" in check_posix("echo '" + "{" * 501 + "'").reasons[0]


@pytest.mark.parametrize("joined", ["|", "||", "&&", "|&"])
def test_a_chain_without_end_is_too_deep_before_a_program_reads_it(
    joined: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_posix("ls")  # the programs' versions are known
    monkeypatch.setattr(programs, "run", None)
    command = f"b{joined}" * (4000 // (1 + len(joined))) + "b"
    with pytest.raises(Unparseable) as caught:
        parse_command(command)
    assert caught.value.code == "too_deep"
    assert not judge_safety(command).safe


@every("quoted", ["'{}'", '"{}"', "'it is' \"said: {}\"", "\\' '{}'"])
def test_operators_in_quotes_are_a_text(quoted: str) -> None:
    for text in ("a|" * 1_500, "&" * 3_000):
        assert parse_command(f"echo {quoted.format(text)}").tree["Stmts"]


@pytest.mark.parametrize(
    "before",
    [
        '"\'" ',
        "# it's\n",
        "cat <<x\n'\nx\n",
        "echo $'\\'' ",
        'echo "$(echo \'"\')" ',
        "\\' ",
        "`echo '`;",
    ],
)
def test_no_quote_hides_a_chain_without_end(before: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quote that opens nothing, and one behind the chain that looks as if it closed it."""
    check_posix("ls")  # the programs' versions are known
    monkeypatch.setattr(programs, "run", None)
    with pytest.raises(Unparseable) as caught:
        parse_command(f"{before}{'b|' * 1_500}b '")
    assert caught.value.code == "too_deep"


def test_operators_that_are_no_chain_are_read() -> None:
    assert parse_command("sleep 1 & " * 300).tree["Stmts"]


@pytest.mark.usefixtures("_in_a_moment")
def test_brackets_that_nothing_closes_are_compared_in_a_moment() -> None:
    for unit in ("[", "[!a-", "a["):
        command = "echo " + unit * (4000 // len(unit))
        assert str(compare(command, command).verdict) == "EQUAL"
        assert str(compare(command, command + "]").verdict) != "EQUAL"
    pieces = [Unquoted("[")] * 20_000
    assert len(list(word_reader._globs(pieces))) == len(pieces)
