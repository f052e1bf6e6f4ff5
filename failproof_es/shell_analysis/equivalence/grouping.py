"""Operator precedence in `[[ … ]]`: bash binds `!` before `&&`, and `&&` before `||`.

shfmt gives all of them the same precedence: it reads `! a && b` as `! (a && b)` and `a && b || c`
as `a && (b || c)`. Its tree keeps the order of the text, so this module groups the parts again.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

from failproof_es.shell_analysis.equivalence.words import Form

Node = dict[str, Any]
_Parts = list["str | Node"]


def normalize_grouping(tree: Node, atom: Callable[[Node], Form]) -> Form:
    """The normal form of an expression in `[[`, grouped by bash's precedence of operators.

    `atom` returns the form of a part without `!`, `&&` and `||`.
    """
    parts = _in_text_order(tree)

    def joined(operator: str, operand: Callable[[], Form]) -> Form:
        operands = [operand()]
        while parts and parts[0] == operator:
            parts.pop(0)
            operands.append(operand())
        if len(operands) == 1:
            return operands[0]
        return (operator, *chain.from_iterable(_flatten_chain(operator, form) for form in operands))

    def either() -> Form:
        return joined("||", both)

    def both() -> Form:
        return joined("&&", one)

    def one() -> Form:
        part = parts.pop(0)
        if part == "!":
            return ("!", one())
        assert isinstance(part, dict)
        return normalize_grouping(part["X"], atom) if part["Type"] == "ParenTest" else atom(part)

    return either()


def _flatten_chain(operator: str, form: Form) -> tuple[Form, ...]:
    """The operands of a form that is itself a chain of that operator, else the form."""
    if isinstance(form, tuple) and form[:1] == (operator,):
        return form[1:]
    return (form,)


def _in_text_order(tree: Node) -> _Parts:
    """Operators and operands in text order. An expression in parentheses is one operand."""
    parts: _Parts = []
    pending: list[str | Node] = [tree]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            parts.append(part)
        elif part["Type"] == "BinaryTest" and part["Op"] in ("&&", "||"):
            pending += [part["Y"], part["Op"], part["X"]]
        elif part["Type"] == "UnaryTest" and part["Op"] == "!":
            pending += [part["X"], "!"]
        else:
            parts.append(part)
    return parts
