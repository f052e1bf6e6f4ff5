"""Mutation fuzz: a command that means something else is not called equal.

The mutators know a little about programs, in tables of their own: which programs don't mind
the order of their operands, which letters are two names of one flag. Whatever they make is
meant to change the meaning, so every EQUAL is either a fault of the checker or of a mutator,
and is listed by the test that fails.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from failproof_es.shell_analysis.equivalence import EquivalenceVerdict, compare
from failproof_es.shell_analysis.errors import Unparseable
from failproof_es.shell_analysis.parse.shell import Script, parse_command, parse_commands
from tests.examples import stride
from tests.integration.shell_analysis.equivalence.equivalence_corpus import COMMANDS

Node = dict[str, Any]
Mutator = Callable[[str, Node, random.Random], Iterator[str]]

_BATCH = 400
_ORDER_FREE = {"touch", "mkdir", "rm", "rmdir", "kill", "chmod", "chown", "chgrp"}
_TWO_NAMES = [{"r", "R"}, {"E", "r"}, {"A", "e"}, {"f", "follow"}]
_LETTERS = "abcdefghiklmnopqrstuvwxzABCDEFHILNPRSTUX"
_OTHER_PROGRAM = {
    "grep": "sed", "cat": "tac", "head": "tail", "tail": "head", "sort": "uniq", "uniq": "sort",
    "ls": "du", "rm": "ls", "cp": "mv", "mv": "cp", "mkdir": "rmdir", "touch": "rm", "echo": "cat",
    "find": "ls", "gzip": "bzip2", "diff": "cmp", "wc": "nl", "cut": "paste", "chmod": "chown",
}  # fmt: skip


def calls(tree: Any) -> Iterator[list[Node]]:
    """The words of every simple command in a tree."""
    if isinstance(tree, list):
        for each in tree:
            yield from calls(each)
    elif isinstance(tree, dict):
        if tree.get("Type") == "CallExpr" and tree.get("Args"):
            yield tree["Args"]
        for each in tree.values():
            yield from calls(each)


def span(node: Node) -> tuple[int, int]:
    return node["Pos"]["Offset"], node["End"]["Offset"]


def text_of(command: str, node: Node) -> str:
    start, end = span(node)
    return command[start:end]


def replaced(command: str, node: Node, by: str) -> str:
    start, end = span(node)
    return command[:start] + by + command[end:]


def swap_operands(command: str, tree: Node, chance: random.Random) -> Iterator[str]:
    for words in calls(tree):
        program = text_of(command, words[0])
        if program in _ORDER_FREE or program in ("find", "sudo", "xargs"):
            continue
        for one, other in pairwise(words[1:]):
            first, second = text_of(command, one), text_of(command, other)
            if first.startswith("-") or second.startswith("-") or first == second:
                continue
            if program == "echo" and first.strip("'\"") == second.strip("'\""):
                continue
            yield replaced(replaced(command, other, first), one, second)


def change_a_flag(command: str, tree: Node, chance: random.Random) -> Iterator[str]:
    for words in calls(tree):
        for word in words[1:]:
            text = text_of(command, word)
            if re.fullmatch(r"-[A-Za-z]{1,5}", text) and text_of(command, words[0]) != "find":
                at = chance.randrange(1, len(text))
                letter = chance.choice(_LETTERS)
                unlike = {letter, text[at]} not in _TWO_NAMES and letter not in text
                if unlike:
                    yield replaced(command, word, text[:at] + letter + text[at + 1 :])


def drop_a_flag(command: str, tree: Node, chance: random.Random) -> Iterator[str]:
    for words in calls(tree):
        for word in words[1:]:
            text = text_of(command, word)
            if re.fullmatch(r"-[A-Za-z]{2,5}", text) and text_of(command, words[0]) != "find":
                at = chance.randrange(1, len(text))
                yield replaced(command, word, text[:at] + text[at + 1 :])
            elif text.startswith("-") and text not in ("-", "--", "-print"):
                yield replaced(command, word, "")


def add_a_flag(command: str, tree: Node, chance: random.Random) -> Iterator[str]:
    for words in calls(tree):
        program = text_of(command, words[0])
        flag = f"-{chance.choice(_LETTERS)}"
        present = "".join(text_of(command, each) for each in words[1:])
        if program in ("find", "true", "echo") or flag[1:].lower() in present.lower():
            continue
        yield replaced(command, words[0], f"{program} {flag}")


def change_a_number(command: str, tree: Node, chance: random.Random) -> Iterator[str]:
    for match in re.finditer(r"(?<![\w>&.])\d+|(?<=[A-Za-z,+-])\d+", command):
        if command[match.end() : match.end() + 1] not in (">", "<"):
            yield command[: match.start()] + str(int(match[0]) + 1) + command[match.end() :]


def change_a_redirection(command: str, tree: Node, chance: random.Random) -> Iterator[str]:
    changes = {
        "2>&1": ["1>&2", ""], "2>": ["1>", "2>>"], " > ": [" >> ", " 2> ", " < "],
        " < ": [" > ", " <> "], "2>/dev/null": ["", ">/dev/null"], "<<<": ["<"],
    }  # fmt: skip
    for old, news in changes.items():
        for new in news:
            if old in command:
                yield command.replace(old, new, 1)


def change_the_quotes(command: str, tree: Node, chance: random.Random) -> Iterator[str]:
    for words in calls(tree):
        for word in words[1:]:
            text = text_of(command, word)
            if re.search(r"[*?]", text) and not re.search(r"['\"\\]", text):
                yield replaced(command, word, f"'{text}'")
            if re.fullmatch(r"'[^']*[*?][^']*'", text):
                yield replaced(command, word, text[1:-1])
            if re.fullmatch(r"'[^'\"]*\$[\w(][^'\"]*'", text):
                yield replaced(command, word, f'"{text[1:-1]}"')
            if re.fullmatch(r'"[^"]*\$[^"]*"', text):
                yield replaced(command, word, text[1:-1])
                yield replaced(command, word, f"'{text[1:-1]}'")
            if re.fullmatch(r"\$\w+", text):
                yield replaced(command, word, f'"{text}"')


def change_a_connector(command: str, tree: Node, chance: random.Random) -> Iterator[str]:
    for match in re.finditer(r" (&&|\|\||\|) |;(?= )", command):
        for other in (" && ", " || ", " | ", "; "):
            if other.strip() != match[0].strip():
                yield command[: match.start()] + other + command[match.end() :]


def reorder_stages(command: str, tree: Node, chance: random.Random) -> Iterator[str]:
    stages = command.split(" | ")
    for at in range(len(stages) - 1):
        if stages[at] != stages[at + 1]:
            swapped = [*stages[:at], stages[at + 1], stages[at], *stages[at + 2 :]]
            yield " | ".join(swapped)
            yield " | ".join(stages[:at] + stages[at + 1 :])


def change_an_operand(command: str, tree: Node, chance: random.Random) -> Iterator[str]:
    for words in calls(tree):
        for word in words[1:]:
            text = text_of(command, word)
            letters = [m.start() for m in re.finditer(r"[A-Za-z]", text)]
            if letters and not text.startswith("-"):
                at = chance.choice(letters)
                other = chance.choice("abcdefgh".replace(text[at].lower(), ""))
                yield replaced(command, word, text[:at] + other + text[at + 1 :])


def drop_an_operand(command: str, tree: Node, chance: random.Random) -> Iterator[str]:
    for words in calls(tree):
        for word in words[1:]:
            text = text_of(command, word)
            if not text.startswith("-") and text not in (".", "10", "echo"):
                yield replaced(command, word, "")


def change_the_program(command: str, tree: Node, chance: random.Random) -> Iterator[str]:
    for words in calls(tree):
        program = text_of(command, words[0])
        if program in _OTHER_PROGRAM:
            yield replaced(command, words[0], _OTHER_PROGRAM[program])


def change_the_frame(command: str, tree: Node, chance: random.Random) -> Iterator[str]:
    yield f"! {command}"
    yield f"sudo {command}"
    yield f"{command} &"
    yield f"{command} > all.txt"
    yield f"{command}; {command}"
    yield f"{command} | cat -n"
    yield f"{command} extra"


def change_a_find_expression(command: str, tree: Node, chance: random.Random) -> Iterator[str]:
    changes = [
        ("-name", "-iname"), ("-name", "-path"), ("-type f", "-type d"), ("-type d", "-type f"),
        (" -o ", " "), (" ! ", " "), (r"\(", ""), (" + ", " "), ("-mtime -", "-mtime +"),
        ("-mmin +", "-mmin -"), ("-exec", "-execdir"), ("{} +", r"{} \;"), (r"{} \;", "{} +"),
        ("-print0", "-print"), ("-prune -o", "-o"), ("-delete", "-print"), ("-ok", "-exec"),
        ("-size +", "-size -"), ("-perm -", "-perm /"), ("-newer", "-anewer"),
    ]  # fmt: skip
    if "find" in command:
        for old, new in changes:
            if old in command:
                yield command.replace(old, new, 1)


def change_a_script(command: str, tree: Node, chance: random.Random) -> Iterator[str]:
    changes = [
        ("/g'", "/'"), ("/new/", "/new/I"), ("p'", "d'"), ("d'", "p'"), ("$1", "$2"), ("$3", "$4"),
        (">=", ">"), ("==", "!="), ("+=", "-="), ("END", "BEGIN"), ("^", ""), ("|", "."),
        ("sum / NR", "sum * NR"), (", $3", " $3"), (r"\2-\1", r"\1-\2"), ("/,/", "/;/"),
    ]  # fmt: skip
    for words in calls(tree):
        if text_of(command, words[0]) in ("sed", "awk", "grep"):
            for word in words[1:]:
                for old, new in changes:
                    text = text_of(command, word)
                    if old in text and text.startswith("'"):
                        yield replaced(command, word, text.replace(old, new, 1))


MUTATORS: tuple[Mutator, ...] = (
    swap_operands,
    change_a_flag,
    change_a_flag,
    drop_a_flag,
    add_a_flag,
    change_a_number,
    change_a_redirection,
    change_the_quotes,
    change_a_connector,
    reorder_stages,
    change_an_operand,
    change_an_operand,
    drop_an_operand,
    change_the_program,
    change_the_frame,
    change_a_find_expression,
    change_a_script,
)


def mutants() -> Iterator[tuple[str, str, str]]:
    """(command, mutant, mutator), the same on every run; only what bash would accept.

    Parsed in batches that fit the parser's cache, so that the checker finds them there.
    """
    chance = random.Random(7)
    found: dict[tuple[str, str], str] = {}
    made: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for command, script in zip(COMMANDS, parse_commands(COMMANDS), strict=True):
        assert isinstance(script, Script), (command, script)
        for mutator in MUTATORS:
            for mutant in mutator(command, script.tree, chance):
                if mutant.split() != command.split() and (command, mutant) not in found:
                    found[command, mutant] = mutator.__name__
                    made[mutator.__name__].append((command, mutant))
    pairs = [pair for of_one in made.values() for pair in of_one[:: stride(2)]]
    for start in range(0, len(pairs), _BATCH):
        batch = pairs[start : start + _BATCH]
        parsed = parse_commands([mutant for _, mutant in batch])
        for (command, mutant), script in zip(batch, parsed, strict=True):
            if not isinstance(script, Unparseable):
                yield command, mutant, found[command, mutant]


@pytest.mark.slow
def test_no_mutant_is_called_equal_to_the_command_that_it_was_made_of() -> None:
    made: Counter[str] = Counter()
    equal = []
    for command, mutant, mutator in mutants():
        made[mutator] += 1
        if compare(command, mutant).verdict is EquivalenceVerdict.EQUAL:
            equal.append(f"{mutator}: {command!r} = {mutant!r}")
    assert not equal, "\n".join(equal)
    assert made.total() * stride(2) >= 2000
    assert made.keys() == {mutator.__name__ for mutator in MUTATORS}


@pytest.mark.slow
def test_every_command_of_the_corpus_can_be_parsed_and_equals_itself_in_other_blanks() -> None:
    others = [f"  {command}  # said twice" for command in COMMANDS]
    parse_commands([*COMMANDS, *others])  # one process for many, whose trees are then at hand
    for command, other in zip(COMMANDS, others, strict=True):
        assert parse_command(command).tree
        assert compare(command, other).verdict is EquivalenceVerdict.EQUAL, command
