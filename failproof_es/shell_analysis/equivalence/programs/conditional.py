"""`test` and `[`: one program under two names."""

from __future__ import annotations

from collections.abc import Sequence

from failproof_es.shell_analysis.equivalence.arguments import UnreadableArguments
from failproof_es.shell_analysis.equivalence.statements import Statements
from failproof_es.shell_analysis.equivalence.words import Form, Word, literal

_SYNONYMS = {"==": "=", "-h": "-L"}


def normal_test(name: str, program: str, words: Sequence[Word], statements: Statements) -> Form:
    """The normal form of a `test` or `[` command.

    Raises `UnreadableArguments` for a `[` without `]`.
    """
    expression = list(words)
    if program == "[":
        if not expression or expression.pop().text != "]":
            raise UnreadableArguments("no closing bracket")
        name = name.removesuffix("[") + "test"
    return ("call", name, _expression_form(expression))


def _expression_form(words: list[Word]) -> Form:
    """The form by the number of words, as POSIX defines; expressions of more than three words stay
    as written."""
    if not all(word.is_one_word for word in words):
        return tuple(words)
    first = words[0].text if words else None
    match words:
        case [one]:
            return ("nonempty", one)
        case [_, operand] if first == "-n":
            return ("nonempty", operand)
        case [_, operand] if first == "-z":
            return ("not", ("nonempty", operand))
        case [_, operand] if first in _SYNONYMS:
            return (literal(_SYNONYMS[first]), operand)
        case [left_operand, operator, right_operand] if operator.text == "==":
            return (left_operand, literal("="), right_operand)
        case [_, operator, operand] if first == "!" and operator.text == "-n":
            return ("not", ("nonempty", operand))
        case [_, operator, operand] if first == "!" and operator.text == "-z":
            return ("nonempty", operand)
    return tuple(words)
