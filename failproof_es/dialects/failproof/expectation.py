"""`expected_response`: "can be a regex or a simple string" (specification 000 § 1).

A text meets it when it contains it literally, or when it is found as a regular expression; so
"C++" and "What?" need no escaping. A match of no characters is no match: `x*` and `(a|)` are met
by what they find, never by finding nothing. Both readings are case-sensitive; a pattern says
otherwise itself, with `(?i)`.

What holds one of `\\ . ^ $ * + ? { } [ ] | ( )` and is no valid expression is no expectation
either, nor is what nothing but the empty text could match: `defect` says so, and a case with it
is not loaded. A text longer than an expression may be is only looked for literally.

Patterns come from untrusted files: `support/bounded/untrusted_patterns.py` checks and matches them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import regex

from failproof_es.dialects.failproof.pattern_width import matches_only_nothing
from failproof_es.support.bounded import untrusted_patterns

MAX_PATTERN_CHARACTERS = untrusted_patterns.MOST_CHARACTERS
"""A longer expectation is a text to be contained."""

_SPECIAL = frozenset(r"\.^$*+?{}[]|()")

Kind = Literal["literal", "regex"]


_LONGEST_REMEDY = 200


@dataclass(frozen=True, slots=True)
class Defect:
    """Why nothing can be graded by an expectation, and what to write instead."""

    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Match:
    """Where an expectation was met: characters `start` to `end` (exclusive) of the text."""

    kind: Kind
    start: int
    end: int


def kind_of(expected: str) -> Kind:
    """Whether the expectation can be more than a text to be contained."""
    return "literal" if _is_literal(expected) else "regex"


@lru_cache(maxsize=512)
def defect(expected: str) -> Defect | None:
    """What makes the expectation unusable; `None` where a reply could meet it."""
    if not expected:
        return Defect(
            "is empty: every reply holds the empty text, so it checks nothing",
            "leave the field out if any answer will do",
        )
    if _is_literal(expected):
        return None
    if (fault := untrusted_patterns.fault_of(expected)) is not None:
        if fault.is_costly:
            return Defect(f"costs too much: {fault.message}", "write a cheaper expression")
        return Defect(f"is {fault.message}", _as_text(expected))
    if matches_only_nothing(expected):
        return Defect(
            "matches only the empty text, which never counts as a match",
            "add what is to be found: (?s)^(?!.*word).+ is met by every text without the word",
        )
    return None


def matches(expected: str, text: str) -> Iterator[Match]:
    """Every place where `text` meets an expectation without `defect`: literal ones first.

    Raises `untrusted_patterns.PatternStopped` outside of a grading that has limits.
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
    """Whether looking for it is bounded by construction."""
    return _is_literal(expected) or untrusted_patterns.is_bounded(expected, text)


def _is_literal(expected: str) -> bool:
    """Whether it is only looked for as it stands: as an expression it would match itself."""
    return not _SPECIAL.intersection(expected) or len(expected) > MAX_PATTERN_CHARACTERS


def _as_text(expected: str) -> str:
    """How to write it in a JSON line if the text itself is meant."""
    escaped = json.dumps(regex.escape(expected, special_only=True), ensure_ascii=False)
    if len(escaped) > _LONGEST_REMEDY:
        return "if the text itself is meant, write \\\\ before each of \\ . ^ $ * + ? { } [ ] | ( )"
    return f"if the text itself is meant, write {escaped}"
