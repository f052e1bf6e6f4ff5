"""Metamorphic tests: quotes, blanks and the order of flags change no verdict."""

from __future__ import annotations

import random
import re
import shlex
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failproof_es.shell_analysis.equivalence import EquivalenceVerdict, compare
from failproof_es.shell_analysis.parse.shell import parse_command, parse_commands
from tests.examples import examples
from tests.integration.shell_analysis.equivalence.equivalence_corpus import COMMANDS
from tests.integration.shell_analysis.equivalence.test_equivalence_mutants import (
    calls,
    replaced,
    span,
    text_of,
)

# Letters that are flags without a value, by program: enough to take bundles apart.
_FLAGS = {
    "ls": "adhlrtRS", "grep": "Eclnoqirv", "sort": "nru", "du": "sh", "wc": "lwc", "rm": "rfi",
    "cp": "rp", "diff": "rqu", "ps": "ef", "comm": "123", "tail": "f", "gzip": "dc9", "df": "hT",
    "chmod": "R", "chown": "R", "rsync": "avz", "curl": "sL", "stat": "L", "mkdir": "p",
}  # fmt: skip

Paraphrase = Callable[[str, random.Random], str]


def with_quotes(command: str, chance: random.Random) -> str:
    """Every plain argument quoted in one way or another, right to left."""
    words = [word for each in calls(parse_command(command).tree) for word in each[1:]]
    for word in sorted(words, key=lambda each: -span(each)[0]):
        text = text_of(command, word)
        if re.fullmatch(r"[\w./,:=+-]+", text):
            ways = [f"'{text}'", f'"{text}"', f"\\{text}", f"{text[0]}'{text[1:]}'"]
            command = replaced(command, word, chance.choice(ways))
    return command


def with_blanks(command: str, chance: random.Random) -> str:
    """More blanks before every word, and an escaped line break."""
    words = [word for each in calls(parse_command(command).tree) for word in each[1:]]
    for word in sorted(words, key=lambda each: -span(each)[0]):
        blank = chance.choice([" ", "   ", "\t", " \\\n"])
        command = replaced(command, word, blank + text_of(command, word))
    return f"\n {command}  # as before"


def with_flags_apart(command: str, chance: random.Random) -> str:
    """Bundles of flags taken apart and shuffled."""
    tree = parse_command(command).tree
    for words in sorted(calls(tree), key=lambda each: -span(each[0])[0]):
        known = _FLAGS.get(text_of(command, words[0]), "")
        for word in reversed(words[1:]):
            text = text_of(command, word)
            if re.fullmatch(r"-\w{2,}", text) and set(text[1:]) <= set(known):
                letters = chance.sample(text[1:], len(text) - 1)
                command = replaced(command, word, " ".join(f"-{each}" for each in letters))
    return command


def with_flags_last(command: str, chance: random.Random) -> str:
    """A first bundle of flags moved behind the operands, which GNU programs allow."""
    tree = parse_command(command).tree
    for words in sorted(calls(tree), key=lambda each: -span(each[0])[0]):
        known = _FLAGS.get(text_of(command, words[0]), "")
        if len(words) < 3 or not known:
            continue
        flag, rest = text_of(command, words[1]), [text_of(command, each) for each in words[2:]]
        if set(flag[1:]) <= set(known) and not any(each.startswith("-") for each in rest):
            command = replaced(replaced(command, words[-1], f"{rest[-1]} {flag}"), words[1], "")
    return command


PARAPHRASES: tuple[Paraphrase, ...] = (with_quotes, with_blanks, with_flags_apart, with_flags_last)


def paraphrases(paraphrase: Paraphrase) -> Iterator[tuple[str, str]]:
    chance = random.Random(11)
    for command in COMMANDS:
        other = paraphrase(command, chance)
        if other != command:
            yield command, other


@pytest.mark.parametrize("paraphrase", PARAPHRASES, ids=lambda each: each.__name__)
def test_a_paraphrase_is_equal_to_its_command(paraphrase: Paraphrase) -> None:
    parse_commands(COMMANDS)  # one process for many, whose trees are then at hand
    made = list(paraphrases(paraphrase))
    parse_commands(other for _, other in made)
    lost = [
        f"{command!r} ~ {other!r}: {found.reasons}"
        for command, other in made
        if (found := compare(command, other)).verdict is not EquivalenceVerdict.EQUAL
    ]
    assert not lost, "\n".join(lost)
    assert len(made) >= 10


def in_double_quotes(text: str) -> str:
    return '"' + re.sub(r'([\\$`"])', r"\\\1", text) + '"'


argument = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


@settings(max_examples=examples(0.6))
@given(argument)
def test_any_text_is_one_argument_in_single_and_in_double_quotes(text: str) -> None:
    single, double = f"printf %s {shlex.quote(text)}", f"printf %s {in_double_quotes(text)}"
    assert compare(single, double).verdict is EquivalenceVerdict.EQUAL


@settings(max_examples=examples(0.6))
@given(argument, argument)
def test_two_texts_are_never_one_argument(one: str, other: str) -> None:
    first, second = f"printf %s {shlex.quote(one)}", f"printf %s {in_double_quotes(other)}"
    assert (compare(first, second).verdict is EquivalenceVerdict.EQUAL) == (one == other)


@settings(max_examples=examples(0.6))
@given(st.text(alphabet="ab'\"\\$`*?[]{}~,.!-/ \n#;|&<>()=", min_size=1, max_size=14))
def test_no_text_makes_the_checker_fail(text: str) -> None:
    found = compare(f"echo {text}", text)
    assert found.verdict in EquivalenceVerdict
    assert found.reasons
    assert found.version
