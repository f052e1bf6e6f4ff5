"""Translates a regular expression into an equivalent one for RE2. Pure.

Python's own parser reads the source, and each part that both engines treat alike is rewritten in
ASCII. A test compares the two engines on generated expressions and texts. Not translated are:

- features that RE2 lacks: look-around, back references, possessive and atomic groups, large repeats
- syntax that `regex` reads differently from `re`: POSIX classes, fuzzy matching, verbose mode
- parts whose spans may differ: repeats of what may be empty, and expressions that may be empty
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import Any

_parser: Any = import_module("re._parser")
_op: Any = import_module("re._constants")

_MOST_REPEATS = 1000
"""RE2 rejects more."""
_SURROGATES = range(0xD800, 0xE000)
_IGNORED_CASE_OF_ASCII = frozenset("\u0130\u0131\u017f\u212a")
"""Characters outside ASCII that match an ASCII letter if case is ignored."""
_READ_OTHERWISE = re.compile(r"\[[:\[]|\{(?!\d+(?:,\d*)?\}|,\d+\})|&&|\|\||--|~~")
"""Syntax that `regex` may read differently from `re`, once escaped characters are removed."""
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_ALPHABETS = re.ASCII | re.UNICODE
_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | _ALPHABETS
_CATEGORIES = {
    "CATEGORY_DIGIT": "0-9",
    "CATEGORY_SPACE": r"\t-\r\x20",
    "CATEGORY_WORD": "0-9A-Z_a-z",
}
_OTHER_CATEGORIES = {
    "CATEGORY_NOT_DIGIT": r"\x00-/:-\x{10ffff}",
    "CATEGORY_NOT_SPACE": r"\x00-\x08\x0e-\x1f!-\x{10ffff}",
    "CATEGORY_NOT_WORD": r"\x00-/:-@[-\^`\{-\x{10ffff}",
}


class _NoTranslation(Exception):
    """The expression has a part that RE2 treats differently."""


@dataclass(frozen=True, slots=True)
class Translation:
    """An expression for RE2, and the texts for which it is equivalent."""

    expression: str
    needs_ordinary_text: bool
    """Equivalent only in texts whose letters, digits and white space are ASCII."""
    needs_last_line: bool
    """Equivalent only in texts that do not end with a line feed."""


def translate(pattern: str, *, ignore_case: bool = False) -> Translation | None:
    """The expression for RE2 that matches the same as `pattern` does with `regex`.

    `None` if there is none, also for an invalid pattern and for one that may match nothing.
    """
    if _READ_OTHERWISE.search(_ESCAPED.sub("", pattern)):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a warning marks syntax whose meaning may change
            parsed = _parser.parse(pattern, re.IGNORECASE if ignore_case else 0)
            shortest, _ = parsed.getwidth()
            if not shortest:
                return None
            writer = _Writer()
            expression = writer.sequence(parsed, writer.checked(parsed.state.flags))
    except (_NoTranslation, re.error, Warning, RecursionError, OverflowError, ValueError):
        return None
    return Translation(expression, writer.needs_ordinary_text, writer.needs_last_line)


class _Writer:
    """Writes parts of a parsed expression for RE2.

    Its flags say for which texts the result is equivalent, as in `Translation`.
    """

    def __init__(self) -> None:
        self.needs_ordinary_text = False
        self.needs_last_line = False

    def checked(self, flags: int) -> int:
        if flags & ~int(_FLAGS):
            raise _NoTranslation
        return flags

    def sequence(self, parts: Any, flags: int) -> str:
        return "".join(self.part(op, argument, flags) for op, argument in parts)

    def part(self, op: Any, argument: Any, flags: int) -> str:
        match str(op):
            case "LITERAL":
                return self.characters([(_op.LITERAL, argument)], flags)
            case "NOT_LITERAL":
                return self.characters([(_op.NEGATE, None), (_op.LITERAL, argument)], flags)
            case "IN":
                return self.characters(argument, flags)
            case "ANY":
                return r"(?s:.)" if flags & re.DOTALL else r"[^\n]"
            case "AT":
                return self.place(str(argument), flags)
            case "BRANCH":
                return f"(?:{'|'.join(self.sequence(branch, flags) for branch in argument[1])})"
            case "SUBPATTERN":
                _, added, removed, inside = argument
                removed |= int(_ALPHABETS) if added & _ALPHABETS else 0
                return f"(?:{self.sequence(inside, self.checked(flags & ~removed | added))})"
            case "MAX_REPEAT":
                return self.repeat(argument, flags)
            case "MIN_REPEAT":
                return f"{self.repeat(argument, flags)}?"
        raise _NoTranslation

    def repeat(self, argument: Any, flags: int) -> str:
        least, most, inside = argument
        shortest, _ = inside.getwidth()
        unbounded = most is _op.MAXREPEAT
        if not shortest or least > _MOST_REPEATS or (not unbounded and most > _MOST_REPEATS):
            raise _NoTranslation
        times = {(0, True): "*", (1, True): "+"}.get((int(least), unbounded))
        bound = "" if unbounded else int(most)
        return f"(?:{self.sequence(inside, flags)}){times or f'{{{int(least)},{bound}}}'}"

    def place(self, place: str, flags: int) -> str:
        match place:
            case "AT_BEGINNING":
                return "(?m:^)" if flags & re.MULTILINE else r"\A"
            case "AT_BEGINNING_STRING":
                return r"\A"
            case "AT_END":
                if flags & re.MULTILINE:
                    return "(?m:$)"
                self.needs_last_line = True
                return r"\z"
            case "AT_END_STRING":
                return r"\z"
            case "AT_BOUNDARY":
                self.needs_ordinary_text |= not flags & re.ASCII
                return r"\b"
        raise _NoTranslation

    def characters(self, items: Any, flags: int) -> str:
        """A character class for RE2. `items` are the parser's pairs of operator and argument."""
        ignores_case = bool(flags & re.IGNORECASE)
        self.needs_ordinary_text |= ignores_case
        negated = False
        parts = []
        for op, argument in items:
            match str(op):
                case "NEGATE":
                    negated = True
                case "LITERAL":
                    parts.append(_range(argument, argument, ignores_case))
                case "RANGE":
                    parts.append(_range(argument[0], argument[1], ignores_case))
                case "CATEGORY":
                    self.needs_ordinary_text |= not flags & re.ASCII
                    name = str(argument)
                    parts.append(_CATEGORIES.get(name) or _OTHER_CATEGORIES[name])
                case _:
                    raise _NoTranslation
        return f"[{'^' if negated else ''}{''.join(parts)}]"


def _range(first: int, last: int, ignores_case: bool) -> str:
    """The characters from `first` to `last` for a class, in both cases if case is ignored.

    Both ends are included, as code points. Raises `_NoTranslation` if RE2 would differ.
    """
    if first in _SURROGATES or last in _SURROGATES:
        raise _NoTranslation
    ranges = f"\\x{{{first:x}}}-\\x{{{last:x}}}"
    if ignores_case:
        if any(first <= ord(other) <= last for other in _IGNORED_CASE_OF_ASCII):
            raise _NoTranslation
        for base, shift in ((ord("A"), 32), (ord("a"), -32)):
            low, high = max(first, base), min(last, base + 25)
            if low <= high:
                ranges += f"\\x{{{low + shift:x}}}-\\x{{{high + shift:x}}}"
    return ranges
