"""Expands words into the fields that a command would get, as far as they are known before a run.

A word may have several readings: a variable that the text does not set may be empty or not, and
`rm -rf "$DIR/"` must be judged under both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise, product
from typing import Any

from failproof_es.shell_analysis.parse.shell import Node
from failproof_es.shell_analysis.parse.syntax import closing_brace, unescape
from failproof_es.shell_analysis.safety.text import marks
from failproof_es.shell_analysis.safety.text.escapes import ansi_c

_READINGS = 24
_BRACES = 64
_LONGEST = 65_536
"""Most characters of a word: variables that double each other grow without limit."""
_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.-?\d+)?|([A-Za-z])\.\.([A-Za-z])")
_TILDE = re.compile(r"~(?=/|$)")

KNOWN_VARIABLES = {
    "HOME": marks.HOME,
    "PWD": ".",
    "TMPDIR": "/tmp",  # noqa: S108  what the variable holds, not a file of ours
    "IFS": " ",
    "SHELL": "sh",
    **dict.fromkeys(("EDITOR", "VISUAL"), "editor"),
    "PAGER": "pager",
    "BROWSER": "browser",
    "SUDO": "sudo",
    "BASH": "bash",
    **dict.fromkeys(("USER", "LOGNAME", "HOSTNAME", "UID", "EUID", "RANDOM"), marks.ANY),
    **dict.fromkeys(("$", "!", "?", "#", "OLDPWD", "PATH"), marks.ANY),
}
"""Variables that every environment has. Any other may be unset."""


class TooMuch(Exception):
    """The error for a text that is too large to read; such a text probably hides something."""


def bounded(text: str) -> str:
    """The text unchanged. Raises `TooMuch` if it has more than 65,536 characters."""
    if len(text) > _LONGEST:
        raise TooMuch("a variable holds too much to judge")
    return text


@dataclass(slots=True)
class Scope:
    """The variables and substitutions that are known at a word."""

    variables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    substitute: Callable[[Sequence[Node]], tuple[str, ...]] = lambda _: (marks.ANY,)
    """Returns the readings of the output of statements."""
    provide: Callable[[Sequence[Node]], str] = lambda _: f"/dev/fd/{marks.ANY}"
    """Returns the path of the output of statements (process substitution)."""
    read_pattern: Callable[[str], None] = lambda _: None
    """Reads a pattern that shfmt leaves as text: `a|$(b)` of `@(a|$(b))`."""


def fields(word: Node, scope: Scope) -> list[list[str]]:
    """The readings of a word, each as the list of fields to which it expands.

    At most 24 readings. Raises `TooMuch` if a text has more than 65,536 characters.
    """
    parts = word.get("Parts", [])
    quoted = any(part["Type"] in ("SglQuoted", "DblQuoted") for part in parts)
    readings = []
    for texts in islice(
        product(*(_readings(p, scope, first=p is parts[0]) for p in parts)), _READINGS
    ):
        reading = [
            piece
            for text in _expand_braces(bounded("".join(texts)))
            for piece in text.split(marks.SPLIT)
            if piece or quoted
        ]
        if reading not in readings:
            readings.append(reading)
    return readings or [[]]


def is_one_variable(word: Node) -> bool:
    """Whether a word is one variable, quoted or not, without an operator."""
    parts = word.get("Parts", [])
    if len(parts) == 1 and parts[0]["Type"] == "DblQuoted":
        parts = parts[0].get("Parts", [])
    return len(parts) == 1 and parts[0]["Type"] == "ParamExp" and not parts[0].get("Exp")


def texts(word: Node | None, scope: Scope) -> tuple[str, ...]:
    """The readings of a word that is not split, as in assignments and redirections.

    `None` is a missing word, which is an empty text.
    """
    if word is None:
        return ("",)
    return tuple(dict.fromkeys(" ".join(reading) for reading in fields(word, scope)))


def body(word: Node, scope: Scope) -> str:
    """The text of a here-document. Of several readings of a part the last counts; unknown parts are
    marks."""
    return bounded(
        "".join(_readings(part, scope, quoted=True)[-1] for part in word.get("Parts", []))
    )


def _readings(
    part: Node, scope: Scope, *, first: bool = False, quoted: bool = False
) -> tuple[str, ...]:
    match part["Type"]:
        case "Lit":
            return (_literal(part["Value"], first=first, quoted=quoted),)
        case "SglQuoted":
            value = part.get("Value", "")
            return (ansi_c(value) if part.get("Dollar") else value,)
        case "DblQuoted":
            inner = [_readings(child, scope, quoted=True) for child in part.get("Parts", [])]
            return tuple(
                bounded("".join(combination)) for combination in islice(product(*inner), _READINGS)
            )
        case "ParamExp":
            values = _parameter(part, scope)
            return values if quoted else tuple(_split(text) for text in values)
        case "CmdSubst":
            values = scope.substitute(part.get("Stmts", []))
            return values if quoted else tuple(_split(text) for text in values)
        case "ProcSubst":
            return (scope.provide(part.get("Stmts", [])),)
        case "ExtGlob":
            scope.read_pattern(part["Pattern"]["Value"])
            return (marks.STAR,)
        case _:
            return (_unknown(part, scope),)


def _unknown(node: Node | None, scope: Scope) -> str:
    """An unknown text with the marks of every word in the node; their substitutions are read."""
    content = "".join(text for word in _outer_words(node) for text in texts(word, scope))
    return marks.ANY + marks.taints(content)


def _outer_words(node: Any) -> Iterator[Node]:
    """The words in a part of a tree, without words in words."""
    if isinstance(node, list):
        for child in node:
            yield from _outer_words(child)
    elif isinstance(node, dict) and "Parts" in node:
        yield node
    elif isinstance(node, dict):
        for child in node.values():
            yield from _outer_words(child)


def _split(text: str) -> str:
    return re.sub(r"\s+", marks.SPLIT, text)


def _literal(text: str, *, first: bool, quoted: bool) -> str:
    if quoted:
        return unescape(text, quoted=True)
    if first:
        text = _TILDE.sub(marks.HOME, text, count=1)
    active = {"*": marks.STAR, "?": marks.QUESTION}
    if "]" in text.partition("[")[2]:
        active["["] = marks.BRACKET
    active |= {"{": marks.OPEN, ",": marks.COMMA, "}": marks.CLOSE}
    pieces = re.split(r"(\\.)", text, flags=re.DOTALL)
    return "".join(
        ("" if piece[1] == "\n" else piece[1])
        if len(piece) == 2 and piece[0] == "\\"
        else "".join(active.get(character, character) for character in piece)
        for piece in pieces
    )


def _parameter(part: Node, scope: Scope) -> tuple[str, ...]:
    name = part.get("Param", {}).get("Value", "")
    expansion = part.get("Exp")
    inner = _unknown({key: value for key, value in part.items() if key != "Exp"}, scope)
    if part.get("Length"):
        return (marks.ANY,)
    if any(part.get(key) for key in ("Excl", "Slice", "Repl", "Names", "Width")):
        content = "".join((inner, _unknown(expansion, scope), *scope.variables.get(name, ())))
        return (marks.ANY + marks.taints(content),)
    values = _values(name, scope)
    if not expansion:
        return values
    alternatives = texts(expansion.get("Word"), scope)
    match expansion.get("Op"):
        case ":-" | "-" | ":=" | "=":
            return tuple(dict.fromkeys([value for value in values if value] + list(alternatives)))
        case ":?" | "?":
            return tuple(value for value in values if value) or (marks.ANY,)
        case ":+" | "+":
            return tuple(dict.fromkeys(["", *alternatives]))
        case _:
            return tuple(dict.fromkeys(value if value == "" else marks.ANY for value in values))


def _values(name: str, scope: Scope) -> tuple[str, ...]:
    if name in scope.variables:
        return scope.variables[name]
    if name in KNOWN_VARIABLES:
        return (KNOWN_VARIABLES[name],)
    return ("", marks.ANY)


def _expand_braces(text: str) -> list[str]:
    """The words to which a text with marked braces expands; other braces become ordinary
    characters."""
    expansions = list(islice(_expand_next(text), _BRACES))
    return [
        expansion.replace(marks.OPEN, "{").replace(marks.COMMA, ",").replace(marks.CLOSE, "}")
        for expansion in expansions
    ]


def _expand_next(text: str) -> Iterator[str]:
    start = text.find(marks.OPEN)
    while start >= 0:
        end, commas = closing_brace(text, start, marks.OPEN, marks.COMMA, marks.CLOSE)
        if end is not None:
            inner = text[start + 1 : end]
            items = _brace_items(inner, [comma - start - 1 for comma in commas])
            if items:
                for item in items:
                    for middle in _expand_next(item):
                        for rest in _expand_next(text[end + 1 :]):
                            yield text[:start] + middle + rest
                return
        start = text.find(marks.OPEN, start + 1)
    yield text


def _brace_items(inner: str, commas: list[int]) -> list[str]:
    if commas:
        edges = [-1, *commas, len(inner)]
        return [inner[a + 1 : b] for a, b in pairwise(edges)]
    match = _RANGE.fullmatch(inner)
    if not match:
        return []
    if match[1] is not None:
        low, high = sorted((int(match[1]), int(match[2])))
        return [str(number) for number in range(low, min(high, low + 9) + 1)]
    low, high = sorted((ord(match[3]), ord(match[4])))
    return [chr(code) for code in range(low, high + 1)]
