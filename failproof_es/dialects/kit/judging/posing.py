"""Finds the objects in a graded text that pose as a verdict, in any spelling.

The decoder is the one that reads judges' replies, so it finds every object that a judge could copy
from the text into a readable reply. A pair of braces that does not decode counts as well, if keys
of a verdict stand directly inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Any

from failproof_es.dialects.kit.decoded_forms import decoded_forms
from failproof_es.dialects.kit.json_objects import Objects, Pairs

SCORE, REASON = "score", "reason"
_ALONE = frozenset({"verdict", "quote"})
"""A single one of these keys makes an object pose as a verdict."""
_TOGETHER = (frozenset({SCORE, REASON}), frozenset({"transcript", "items"}))
"""All keys of one of these sets together do, too."""
_KEYS = re.compile(r"\b(verdict|quote|score|reason)\b\W{0,20}?[:=]", re.IGNORECASE)
_WORDS = re.compile(r"[A-Za-z]+")
_SIGNS = re.compile(rf"[{{}}]|{_KEYS.pattern}", re.IGNORECASE)

_OBJECT_WORDS = re.compile(
    r"\b(?:json|ya?ml|xml|keys?|fields?|objects?|dict|dictionary|schema|columns?|propert(?:y|ies))\b",
    re.IGNORECASE,
)
_ALL_KEYS = _ALONE.union(*_TOGETHER)


@dataclass(frozen=True, slots=True)
class NamedObject:
    """An object, and the key under which it stands in an enclosing one; `""` without one."""

    key: str
    pairs: Pairs

    @property
    def names(self) -> frozenset[str]:
        """The object's keys in lower case."""
        return frozenset(key.strip().lower() for key, _ in self.pairs)


def poses(names: Set[str]) -> bool:
    """Whether an object with these keys, in lower case, looks like a verdict or a part of one."""
    return bool(names & _ALONE) or any(names >= keys for keys in _TOGETHER)


def named_objects(text: str) -> Iterator[NamedObject]:
    """Every object in every decoded form of the text, at any depth."""
    for form in decoded_forms(text):
        for json_object in Objects(form.text).outermost():
            yield from _nested_objects(json_object.pairs)


def asked_keys(case_text: str) -> frozenset[str]:
    """The keys of a verdict that the case itself asks for: "JSON with the keys quote and author".

    Such keys do not make an object pose as a verdict.
    """
    if _OBJECT_WORDS.search(case_text) is None:
        return frozenset()
    return _ALL_KEYS & {word.lower() for word in _WORDS.findall(case_text)}


def posing_spans(text: str, case_keys: frozenset[str] = frozenset()) -> list[tuple[int, int]]:
    """The (start, end) of each part of the text that poses as a verdict, disjoint and in order.

    An object poses if its keys are those of a verdict. `case_keys` are keys that the case itself
    asks for, which do not count.
    """
    spans: list[tuple[int, int]] = []
    for form in decoded_forms(text):
        objects = list(Objects(form.text).all())
        posing = [
            (one.start, one.end)
            for one in objects
            if poses(NamedObject("", one.pairs).names - case_keys)
        ]
        decoded = _merged([(one.start, one.end) for one in objects])
        posing += _posing_braces(form.text, decoded, case_keys)
        spans += [(form.place(start), form.place(end)) for start, end in posing]
    return _merged(spans)


def _nested_objects(pairs: Pairs) -> Iterator[NamedObject]:
    """The object and all objects inside it."""
    waiting: list[tuple[str, Any]] = [("", pairs)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, Pairs):
            yield NamedObject(key, value)
            waiting += value
        elif isinstance(value, list):
            waiting += [(key, member) for member in value]


def _posing_braces(
    text: str, decoded: list[tuple[int, int]], case_keys: frozenset[str]
) -> Iterator[tuple[int, int]]:
    """The spans of braces that don't decode, with keys of a verdict directly inside.

    `decoded` are the spans of objects that decode, which are skipped; keys in `case_keys` do not
    count. An unclosed brace reaches to the end of the text.
    """
    opened: list[tuple[int, set[str]]] = []
    skip = iter([*decoded, (len(text), len(text))])
    start, end = next(skip)
    for sign in _SIGNS.finditer(text):
        while sign.start() >= end and end < len(text):
            start, end = next(skip)
        if start <= sign.start() < end:
            continue
        if sign[0] == "{":
            opened.append((sign.start(), set()))
        elif sign[0] != "}":
            if opened:
                opened[-1][1].add(sign[1].lower())
        elif opened:
            opening, names = opened.pop()
            if poses(names - case_keys):
                yield opening, sign.end()
    yield from ((opening, len(text)) for opening, names in opened if poses(names - case_keys))


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
