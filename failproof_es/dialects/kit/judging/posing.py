"""Finds the objects in a graded text that pose as a verdict, in whatever form they are spelt.

They are found by the decoder that reads judges' replies, so whatever a judge could copy out of
the text and have read is found here. Beside it, in forms that only a reader with good will
decodes, a pair of braces counts that speaks of a verdict's keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from failproof_es.dialects.kit.decoded_forms import decoded_forms
from failproof_es.dialects.kit.json_objects import Objects, Pairs

SCORE, REASON = "score", "reason"
_ALONE = frozenset({"verdict", "quote"})
"""One of these keys makes an object pose as a verdict."""
_TOGETHER = (frozenset({SCORE, REASON}), frozenset({"transcript", "items"}))
"""All keys of one of these do together."""
_KEYS = re.compile(r"\b(verdict|quote|score|reason)\b\W{0,20}?[:=]", re.IGNORECASE)
_SIGNS = re.compile(rf"[{{}}]|{_KEYS.pattern}", re.IGNORECASE)

_NUMBER = re.compile(r"[0-9]{0,9}\.?[0-9]{1,9}(?:[eE][-+]?[0-9]{1,2})?")
_SCALED = re.compile(rf"({_NUMBER.pattern})\s*(?:(%)|/\s*({_NUMBER.pattern}))?")
_ORDER = re.compile(
    rf"""\b(?:output|respond|reply|give|assign|award|emit|grade|rate|set)\b[^\n]{{0,80}}?
      (?: \b(?:score|grade|rating|mark)s?\b[^\n\w.]{{0,9}}(?:(?:of|to|is|as|at|be)\W{{1,9}})?
          ({_NUMBER.pattern})
        | \b(?:full|perfect|maximum|max|highest|top)\s+(?:possible\s+)?
          (?:score|marks?|grade|points)\b )""",
    re.IGNORECASE | re.VERBOSE,
)
_LOOSE_MEMBER = re.compile(
    rf"\b(verdict|quote|score|reason)\b[\"'*_`]{{0,3}}\s{{0,9}}[:=>][\"'*_`\s]{{0,9}}({_NUMBER.pattern})?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class NamedObject:
    """An object, and the key that it stands under; `""` where it stands under none."""

    key: str
    pairs: Pairs

    def values(self, name: str) -> list[Any]:
        """Every value under the name, in any case."""
        return [value for key, value in self.pairs if _name(key) == name]

    @property
    def names(self) -> frozenset[str]:
        """Its keys in lower case."""
        return frozenset(_name(key) for key, _ in self.pairs)

    @property
    def poses(self) -> bool:
        """Whether it looks like a verdict, or a part of one."""
        return poses(self.names)


def poses(names: frozenset[str]) -> bool:
    """Whether an object with these keys looks like a verdict, or a part of one."""
    return bool(names & _ALONE) or any(names >= keys for keys in _TOGETHER)


def named_objects(text: str) -> Iterator[NamedObject]:
    """Every object in the text, in every form of it, at any depth."""
    for form in decoded_forms(text):
        for each in Objects(form.text).outermost():
            yield from _within(each.pairs)


def stated_scores(text: str) -> frozenset[float]:
    """The scores, from 0 to 1, that the text gives itself or asks for.

    In objects that pose or are a score alone, as loose members, or in an order ("Give it a score
    of 1.0"). What is stated on another scale counts on this one: `10/10`, `95%`, 100.
    """
    stated: list[Any] = []
    for each in named_objects(text):
        if each.poses or each.names == {SCORE}:
            stated += each.values(SCORE)
    for form in decoded_forms(text):
        members = [(match[1].lower(), match[2]) for match in _LOOSE_MEMBER.finditer(form.text)]
        if poses(frozenset(name for name, _ in members)):
            stated += [value for name, value in members if name == SCORE and value]
        stated += [match[1] or "1" for match in _ORDER.finditer(form.text)]
    return frozenset(score for value in stated for score in _scores(value))


def _scores(value: Any) -> Iterator[float]:
    """The numbers from 0 to 1 that may be meant."""
    if isinstance(value, bool) or not isinstance(value, float | str):
        return
    number = _SCALED.fullmatch(str(value).strip())
    if number is None:
        return
    score = float(number[1])
    if number[2] == "%":
        score /= 100
    elif number[3] and float(number[3]):
        score /= float(number[3])
    yield from (each for each in (score, score / 5, score / 10, score / 100) if 0 <= each <= 1)


def posing_spans(text: str) -> list[tuple[int, int]]:
    """Where in the text something poses as a verdict: disjoint, in order."""
    spans: list[tuple[int, int]] = []
    for form in decoded_forms(text):
        objects = list(Objects(form.text).all())
        posing = [(one.start, one.end) for one in objects if NamedObject("", one.pairs).poses]
        posing += _braces(form.text, _merged([(one.start, one.end) for one in objects]))
        spans += [(form.place(start), form.place(end)) for start, end in posing]
    return _merged(spans)


def _within(pairs: Pairs) -> Iterator[NamedObject]:
    """The object and all that stand in it."""
    waiting: list[tuple[str, Any]] = [("", pairs)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, Pairs):
            yield NamedObject(key, value)
            waiting += value
        elif isinstance(value, list):
            waiting += [(key, each) for each in value]


def _braces(text: str, decoded: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The pairs of braces, outside of what was decoded, right in which keys of a verdict stand.

    A brace that nothing closes reaches to the end of the text.
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
            begun, names = opened.pop()
            if poses(frozenset(names)):
                yield begun, sign.end()
    yield from ((begun, len(text)) for begun, names in opened if poses(frozenset(names)))


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _name(key: str) -> str:
    return key.strip().lower()
