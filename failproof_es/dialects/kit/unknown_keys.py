"""Checks a case for unknown keys: a typo is an error, a custom key is kept.

The value of a misspelt key has no effect: a case with `expected_respones` expects nothing. So a key
that resembles a known one is an error. Any other key is kept with the stored case and listed once
for each file. A key that begins with `x_`, `x-` or `_` is kept whatever it resembles.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from failproof_es.dialects.kit.foreign_names import known_name
from failproof_es.problems import Problems

_OWN = ("x_", "x-", "_")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
_CHARACTERS_PER_SLIP = 5
"""One typo in a name of up to nine characters, two in one of up to fourteen, and so on."""
_LONGEST = 100
"""A longer name is not compared: the time is quadratic in the length."""


def closest_known_key(
    key: str, known_keys: Iterable[str], present_keys: Collection[str] = ()
) -> str | None:
    """The known key that `key` is a misspelling of; `None` if it resembles none.

    `present_keys` are the keys of the object that has `key`. Case, hyphens, spaces and the order of
    words are ignored, and so are a few characters that were left out, added, changed or swapped.
    The first word of a known key (`expected` for `expected_answer`) counts as that key if
    `present_keys` lack it. `None`, too, for keys that begin with `x_`, `x-` or `_`.
    """
    if key.startswith(_OWN) or len(key) > _LONGEST:
        return None
    words = _words(key)
    best: tuple[int, str] | None = None
    for name in known_keys:
        known_words = _words(name)
        plain, other = "".join(words), "".join(known_words)
        slips = 0 if sorted(words) == sorted(known_words) else _count_typos(plain, other)
        bound = max(1, len(other) // _CHARACTERS_PER_SLIP) if len(other) > 2 else 0
        if slips > bound and name not in present_keys and words == known_words[:1] != known_words:
            slips = bound
        if slips <= bound and (best is None or slips < best[0]):
            best = slips, name
    return None if best is None else best[1]


@dataclass(slots=True)
class UnknownKeys:
    """Reports the unknown keys of one file."""

    problems: Problems
    what: str = "case"
    """The noun for the stored object in messages."""
    mentioned: set[str] = field(default_factory=set)

    def report(
        self, key: str, known_keys: Iterable[str], present_keys: Collection[str], **place: Any
    ) -> bool:
        """Report a key that is not among the `known_keys`. Returns whether it is an error.

        It is one if it resembles a known key; any other gets a warning, once. `present_keys` are
        the keys of the key's object, `place` its place as arguments of `Problems.error`.
        """
        refused = refuse(self.problems, key, known_keys, present_keys, **place)
        if not refused and key not in self.mentioned:
            self.mentioned.add(key)
            message = f"unknown field: kept with the stored {self.what}, not used (first seen here)"
            self.problems.warning("unknown-field", message, **place)
        return refused

    def report_all(
        self, document: Mapping[str, Any], known_keys: Sequence[str], at: str = "", **place: Any
    ) -> bool:
        """Report the keys of an object that are not known. Returns whether one is an error.

        `at` is the object's own field with a dot; `place` are further arguments of
        `Problems.error`.
        """
        refused = [
            self.report(key, known_keys, document, field=f"{at}{key}", **place)
            for key in document
            if key not in known_keys
        ]
        return any(refused)


def refuse(
    problems: Problems,
    key: str,
    known_keys: Iterable[str],
    present_keys: Collection[str],
    **place: Any,
) -> bool:
    """Report a key that is a misspelling or synonym of a known one. Returns whether it is.

    `present_keys` are the keys of the key's object, `place` its place as arguments of
    `Problems.error`.
    """
    remedy = remedy_for(key, tuple(known_keys), present_keys)
    if remedy is not None:
        own = "a key of your own may begin with x_"
        problems.error("unknown-field", "is not a known field", remedy=f"{remedy} {own}", **place)
    return remedy is not None


def is_own(key: str) -> bool:
    """Whether the key's prefix (`x_`, `x-` or `_`) marks it as a custom key."""
    return key.startswith(_OWN)


def remedy_for(key: str, known_keys: tuple[str, ...], present_keys: Collection[str]) -> str | None:
    """The remedy for a misspelling or synonym of a known key, which names that key.

    `None` for any other key. `present_keys` are the keys of the object that has `key`.
    """
    if len(key) > _LONGEST:
        return None
    return _remembered_remedy(key, known_keys, frozenset(known_keys).intersection(present_keys))


@lru_cache(maxsize=1_000)  # the same keys stand in every case of a file: 2 ms a case without it
def _remembered_remedy(
    key: str, known_keys: tuple[str, ...], present_keys: frozenset[str]
) -> str | None:
    if (meant := closest_known_key(key, known_keys, present_keys)) is not None:
        return f"did you mean `{meant}`?"
    if (name := known_name(key, known_keys, present_keys)) is not None:
        return f"rename it to `{name}`;"
    return None


def _words(key: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(key)]


def _count_typos(one: str, other: str) -> int:
    """The number of characters left out, added, changed, or swapped with their neighbour."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, character in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, other_character in enumerate(other, 1):
            cost = min(
                before[j] + 1, row[j - 1] + 1, before[j - 1] + (character != other_character)
            )
            if i > 1 and j > 1 and (character, one[i - 2]) == (other[j - 2], other_character):
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]
