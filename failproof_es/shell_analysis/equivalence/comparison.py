"""Decides whether two shell commands are equivalent, without running either.

Both commands are parsed and brought into a normal form; equal forms mean equal commands. Commands
that are not known to be equal are never called equal. The rules are described in
`docs/reference/command-equivalence.md`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import islice

from failproof_es.shell_analysis.equivalence.calls import call_form
from failproof_es.shell_analysis.equivalence.statements import (
    Context,
    Statements,
    redefined_names,
)
from failproof_es.shell_analysis.equivalence.words import Form
from failproof_es.shell_analysis.errors import Unparseable
from failproof_es.shell_analysis.parse.shell import parse_command, parse_commands, tool_version

RULES_VERSION = "5"

_BATCH = 400
"""Pairs in a batch; the parser's cache can hold all their trees."""


class EquivalenceVerdict(StrEnum):
    """The outcome of a comparison of two commands."""

    EQUAL = "EQUAL"
    DIFFERENT = "DIFFERENT"
    UNDECIDED = "UNDECIDED"


@dataclass(frozen=True, slots=True)
class Equivalence:
    """The result of a comparison: a verdict, the tier that reached it, and its reasons.

    The tier is `text`, `normal_form` or `unparseable`. `version` names the versions of the rules
    and of the parser.
    """

    verdict: EquivalenceVerdict
    tier: str
    reasons: tuple[str, ...]
    version: str


def compare(expected: str, actual: str) -> Equivalence:
    """Compare two commands as bash would read them. Raises `ProgramMissing` without `shfmt`.

    EQUAL: the rules know no circumstances in which the two differ in output, files or success.
    DIFFERENT: the normal forms differ, and every command that only one of them has is covered by
    rules. UNDECIDED: everything else, such as text that is not a command, programs without rules,
    computed commands. Runs only the parser.
    """
    refusals = [
        f"{side}: {refusal.code}: {refusal.reason}"
        for side, command in (("expected", expected), ("actual", actual))
        if (refusal := _refusal(command)) is not None
    ]
    if refusals:
        return _equivalence(EquivalenceVerdict.UNDECIDED, *refusals, tier="unparseable")
    if expected == actual:
        return _equivalence(EquivalenceVerdict.EQUAL, "the same text", tier="text")
    one, other = normal_form(expected), normal_form(actual)
    if one == other:
        return _equivalence(EquivalenceVerdict.EQUAL, "the same normal form")
    unknown = sorted(_unknown_commands(one) ^ _unknown_commands(other), key=repr)
    if unknown:
        reasons = dict.fromkeys(f"can't be judged: {form[1]}" for form in unknown)
        return _equivalence(EquivalenceVerdict.UNDECIDED, *reasons)
    return _equivalence(EquivalenceVerdict.DIFFERENT, "normal forms differ")


def _equivalence(
    verdict: EquivalenceVerdict, *reasons: str, tier: str = "normal_form"
) -> Equivalence:
    version = f"equivalence-{RULES_VERSION} {tool_version()}"
    return Equivalence(verdict, tier, reasons, version)


def compare_many(pairs: Iterable[tuple[str, str]]) -> list[Equivalence]:
    """`compare` for each pair (expected, actual), in order; parses in one process per core.

    Raises `ProgramMissing` without `shfmt`.
    """
    equivalences: list[Equivalence] = []
    pending = iter(pairs)
    while batch := list(islice(pending, _BATCH)):
        parse_commands(dict.fromkeys(command for pair in batch for command in pair))
        equivalences += [compare(expected, actual) for expected, actual in batch]
    return equivalences


@lru_cache(maxsize=1024)
def normal_form(command: str) -> Form:
    """The normal form of a command. Raises `Unparseable` if the text is not a command."""
    tree = parse_command(command).tree
    redefined = redefined_names(tree)
    if "POSIXLY_CORRECT" in command:
        redefined |= {""}  # every program: options are parsed by other rules
    return Statements(Context(redefined=redefined), call_form).script(tree["Stmts"])


def _refusal(command: str) -> Unparseable | None:
    try:
        normal_form(command)
    except Unparseable as refusal:
        return refusal
    return None


def _unknown_commands(form: Form) -> set[tuple[Form, ...]]:
    """The parts of a form that are commands without a rule, or with unreadable arguments."""
    unknown_forms: set[tuple[Form, ...]] = set()
    pending = [form]
    while pending:
        part = pending.pop()
        if isinstance(part, tuple):
            if part[:1] == ("unknown",):
                unknown_forms.add(part)
            pending += part
    return unknown_forms
