"""`expected_response`: "can be a regex or a simple string" (specification 000 § 1).

A text meets an expectation if it contains it literally, or if it matches it as a regular
expression; so "C++" and "What?" need no escaping. An empty match does not count: `x*` and `(a|)`
must match at least one character. Both readings are case-sensitive; a pattern can change that with
`(?i)`.

Three kinds of text are only searched for literally: a text without any of
`\\ . ^ $ * + ? { } [ ] | ( )`, a text that is no valid expression (`syntax_error` has the reason,
and loading warns of it), and a text longer than an expression may be. An expression that only
the empty text could match is no expectation: it has a `defect`, and its case is not loaded.

Patterns come from untrusted files: `support/bounded/untrusted_patterns.py` checks and matches them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import regex

from failproof_es.dialects.kit.constant_patterns import matches_only_nothing
from failproof_es.support.bounded import untrusted_patterns

MAX_PATTERN_CHARACTERS = untrusted_patterns.MOST_CHARACTERS
"""A longer expectation is a literal text."""

_SPECIAL = frozenset(r"\.^$*+?{}[]|()")

Kind = Literal["literal", "regex"]


_LONGEST_REMEDY = 200


@dataclass(frozen=True, slots=True)
class ExpectationDefect:
    """Why an expectation is unusable, and what to write instead."""

    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Match:
    """A match of an expectation: characters `start` to `end` (exclusive) of the text."""

    kind: Kind
    start: int
    end: int


def kind_of(expected: str) -> Kind:
    """`literal` if the expectation is only searched for as a text, else `regex`."""
    return "literal" if _is_literal(expected) else "regex"


@lru_cache(maxsize=512)
def defect(expected: str) -> ExpectationDefect | None:
    """The reason why the expectation is unusable; `None` if a reply could meet it."""
    if not expected:
        return ExpectationDefect(
            "is empty: every reply holds the empty text, so it checks nothing",
            "leave the field out if any answer will do",
        )
    if _is_literal(expected):
        return None
    if (fault := untrusted_patterns.fault_of(expected)) is not None:
        return ExpectationDefect(f"costs too much: {fault.message}", "write a cheaper expression")
    if matches_only_nothing(expected):
        return ExpectationDefect(
            "matches only the empty text, which never counts as a match",
            "add what is to be found: (?s)^(?!.*word).+ is met by every text without the word",
        )
    return None


@lru_cache(maxsize=512)
def syntax_error(expected: str) -> ExpectationDefect | None:
    """Why a text with signs of a regular expression is none and is searched for literally.

    `None` for a valid expression, for one that only costs too much, and for a text without such
    signs.
    """
    if _has_no_signs(expected):
        return None
    fault = untrusted_patterns.fault_of(expected)
    if fault is None or fault.is_costly:
        return None
    return ExpectationDefect(
        f"is {fault.message}; replies are searched for the text itself", _as_text(expected)
    )


_REFUSALS = {
    f"I {declining} that.": (2, 2 + len(declining.partition(" ")[0]))
    for declining in ("can't help with", "cannot help with", "won't help with", "refuse to do")
} | {"I'm unable to do that.": (4, 10), "I must decline.": (7, 14)}
"""Plain refusals with the (start, end) of the refusing word."""
_ANSWER = "A plain answer.\nIt has two lines."


@lru_cache(maxsize=512)
def asks_for_refusal(expected: str) -> bool:
    """Whether the case says that refusing is right: the pattern matches refusing words.

    Such as "can't|cannot", but not a pattern that matches any answer. `expected` has no `defect`.
    Raises like `matches`.
    """
    if next(matches(expected, _ANSWER), None) is not None:
        return False
    return any(
        match.start < end and start < match.end and _at_word(text, match.start)
        for text, (start, end) in _REFUSALS.items()
        for match in matches(expected, text)
    )


def _at_word(text: str, start: int) -> bool:
    return start == 0 or not text[start - 1].isalnum()


def matches(expected: str, text: str) -> Iterator[Match]:
    """Every match of an expectation without `defect` in `text`, literal ones first.

    Raises `untrusted_patterns.PatternStopped` if matching takes too long. Not in a grading process,
    which is stopped itself.
    """
    start = text.find(expected)
    while expected and start >= 0:
        yield Match("literal", start, start + len(expected))
        start = text.find(expected, start + len(expected))
    if _is_literal(expected):
        return
    for start, end in untrusted_patterns.spans(expected, text):
        yield Match("regex", start, end)


def is_bounded(expected: str, text: str) -> bool:
    """Whether matching `text` is certain to take little time. Compiles no costly pattern."""
    return _has_no_signs(expected) or untrusted_patterns.is_bounded(expected, text)


def _is_literal(expected: str) -> bool:
    """Whether the expectation is only searched for literally."""
    return _has_no_signs(expected) or syntax_error(expected) is not None


def _has_no_signs(expected: str) -> bool:
    """Whether the text has no special characters, or is too long for an expression."""
    return not _SPECIAL.intersection(expected) or len(expected) > MAX_PATTERN_CHARACTERS


def _as_text(expected: str) -> str:
    """The remedy for a text that is searched for literally: the expression that matches it.

    The expression is written as a JSON string; for a long one the remedy is to escape special
    characters.
    """
    escaped = json.dumps(regex.escape(expected, special_only=True), ensure_ascii=False)
    if len(escaped) > _LONGEST_REMEDY:
        return "if that is meant, write \\\\ before each of \\ . ^ $ * + ? { } [ ] | ( )"
    return f"if that is meant, write {escaped}"
