"""`expected_response`: "can be a regex or a simple string" (specification 000 § 1).

A text meets it when it contains it literally or, if it is a valid regular expression,
when the expression is found. Both are case-sensitive; a pattern says otherwise itself,
with `(?i)`.

Patterns come from untrusted files. Finding is bounded in time, so the result is the same
on every machine except for a pattern that runs near the bound: there a faster machine may
find what a slower one gives up on. No pattern of sane cost comes within a thousandth of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import regex

TIMEOUT_S = 1.0
MAX_PATTERN_CHARACTERS = 10_000
"""A longer expectation is a text to be contained; compiling has no time-out."""
MAX_REPEATS = 1_000_000
"""Compiling unrolls `{n}`, nested ones multiply: `((a{1000}){1000}){1000}` never ends."""
_REPEAT = regex.compile(r"\{(\d+)")

_SPECIAL = frozenset(r"\.^$*+?{}[]|()")

Kind = Literal["literal", "regex"]


class PatternTimeout(Exception):
    """The expression costs more than the bounds allow; the text says which one."""


@dataclass(frozen=True, slots=True)
class Match:
    """Where an expectation was met: characters `start` to `end` (exclusive) of the text."""

    kind: Kind
    start: int
    end: int


def kind_of(expected: str) -> Kind:
    """Whether the expectation can be more than a text to be contained."""
    return "literal" if _compiled(expected) is None else "regex"


def matches(expected: str, text: str) -> Iterator[Match]:
    """Every place where `text` meets the expectation: literal ones first.

    Raises `PatternTimeout` while iterating.
    """
    start = text.find(expected)
    while start >= 0:
        yield Match("literal", start, start + len(expected))
        start = text.find(expected, start + max(1, len(expected)))
    pattern = _compiled(expected)
    if pattern is None:
        return
    try:
        for found in pattern.finditer(text, timeout=TIMEOUT_S):
            yield Match("regex", found.start(), found.end())
    except TimeoutError:
        raise PatternTimeout(f"expected_response did not finish within {TIMEOUT_S:g} s") from None


@lru_cache(maxsize=512)
def _compiled(expected: str) -> regex.Pattern[str] | None:
    if not _SPECIAL.intersection(expected):
        return None  # as an expression it would only match itself
    if len(expected) > MAX_PATTERN_CHARACTERS:
        return None
    repeats = 1
    for count in _REPEAT.findall(expected):
        repeats *= max(1, int(count[:10]))
    if repeats > MAX_REPEATS:
        raise PatternTimeout(f"expected_response repeats more than {MAX_REPEATS:,} times")
    try:
        return regex.compile(expected)
    except (regex.error, RecursionError, OverflowError, MemoryError, ValueError):
        return None
