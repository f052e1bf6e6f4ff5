"""For any text there is a verdict, and the same one each time."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from failproof_es.shell_analysis import Unparseable, parse_commands
from failproof_es.shell_analysis.parse.syntax import walk
from failproof_es.shell_analysis.safety import SafetyVerdict, judge_safety, judge_safety_many
from tests.examples import examples, stride
from tests.integration.shell_analysis.safety.safety_corpus import DANGEROUS, HARMLESS

COMMANDS = [*HARMLESS, *(command for _, command in DANGEROUS)]
PARSEABLE = [command for code, command in DANGEROUS if code != "UNPARSEABLE"]
PIECES = [
    *"'\"`$(){}[]<>|&;~*?!#=\\/-% \n", "$(", "<(", "<<<", "&&", "||", "${x:-", "$'\\x", "sh -c ",
    "eval ", "find / -exec ", "xargs -I{} ", "kill -", "chmod ", "sed -e ", "awk ", "-o", "\ufdd0",
    "\ufdd9", "\ud800", "\0",
]  # fmt: skip
SETTINGS = settings(
    max_examples=examples(1), suppress_health_check=[HealthCheck.too_slow], database=None
)


@SETTINGS
@given(st.text(st.characters(), max_size=200))
def test_no_text_raises(text: str) -> None:
    assert isinstance(judge_safety(text), SafetyVerdict)


@SETTINGS
@given(st.lists(st.sampled_from([*PIECES, *COMMANDS]), max_size=12).map("".join))
def test_nothing_put_together_from_shell_raises(text: str) -> None:
    verdict = judge_safety(text)
    assert verdict.safe == (not verdict.reasons)


@SETTINGS
@given(st.sampled_from(COMMANDS), st.integers(0, 200), st.integers(0, 8), st.sampled_from(PIECES))
def test_no_mutant_of_a_command_raises(command: str, at: int, cut: int, piece: str) -> None:
    assert isinstance(judge_safety(command[:at] + piece + command[at + cut :]), SafetyVerdict)


@SETTINGS
@given(
    st.sampled_from(["ls -l", "echo 'rm -rf /'", "unused=1", "true"]), st.sampled_from(PARSEABLE)
)
def test_a_harmless_command_in_front_excuses_nothing(harmless: str, dangerous: str) -> None:
    assert not judge_safety(f"{harmless}\n{dangerous}").safe


@SETTINGS
@given(st.sampled_from(COMMANDS))
def test_the_same_command_gets_the_same_verdict(command: str) -> None:
    assert judge_safety(command) == judge_safety(command)


def test_a_substitution_at_the_end_of_any_word_is_judged() -> None:
    commands = [command for command in HARMLESS if "<<" not in command][:: stride()]
    inserted = []
    for command, script in zip(commands, parse_commands(commands), strict=True):
        assert not isinstance(script, Unparseable)
        text = command.encode()
        ends = {node["End"]["Offset"] for node in walk(script.tree) if "Parts" in node}
        inserted += [text[:end].decode() + "$(rm -rf /)" + text[end:].decode() for end in ends]
    verdicts = judge_safety_many(inserted)
    assert [c for c, v in zip(inserted, verdicts, strict=True) if v.safe] == []
