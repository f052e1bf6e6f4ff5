"""Parses a verdict from a model's reply. Pure; nothing is invented.

A reply has a verdict if one JSON object in it states T, I and F, and no other object states a
different value for one of them. The reasoning is that object's own; if it has none, the only
reasoning in the reply, wherever it stands. An object that states no number is no verdict and is
ignored. Real models write fences, prose, a leading `<think>` block, wrapping objects, the long
names (`truth`, `indeterminacy`, `falsehood`), a number in quotation marks or alone in a list, and a
comma after the last member: all these are accepted. Everything else is a `ReplyDefect` with a named
reason, and no number.

A brace that seems to open an object and doesn't decode makes the whole reply unreadable, because
its content can't be told from a quotation: in `{"reasoning": "it says {"T": 0, ...` the inner
object is the judged prompt's, not the model's. Only after a complete object does such a brace count
as prose, and only if no later text could be another verdict.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from failproof_es.dialects.kit.json_in_prose import (
    Pairs,
    ReplyUnreadable,
    Unreadable,
    outermost_objects,
    outermost_within,
)
from failproof_es.dialects.kit.json_objects import has_utf8_form, values_within

Reason = Literal[
    Unreadable,
    "no_object",  # no JSON object with T, I or F
    "missing_key",
    "not_a_number",
    "not_finite",  # NaN or an infinity, which Python's JSON accepts
    "out_of_range",
    "reasoning_not_text",
    "contradicting_keys",  # one object states a name twice, with different values
    "contradicting_objects",
]

NUMBERS = ("T", "I", "F")
_NAMES = {
    "t": "T", "truth": "T",
    "i": "I", "indeterminacy": "I",
    "f": "F", "falsehood": "F", "falsity": "F",
    "reasoning": "reasoning",
}  # fmt: skip
_NUMBER_NAMES = frozenset(name for name, means in _NAMES.items() if means in NUMBERS)
_WRITTEN_NUMBER = re.compile(r"\s*-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?\s*", re.ASCII)
"""A JSON number in a text."""


@dataclass(frozen=True, slots=True)
class TruthVerdict:
    """Truth, indeterminacy and falsehood, each in [0, 1], and the complete reasoning."""

    T: float
    I: float  # noqa: E741 - the specification's name
    F: float
    reasoning: str

    @property
    def numbers(self) -> tuple[float, float, float]:
        """T, I and F in this order."""
        return self.T, self.I, self.F


@dataclass(frozen=True, slots=True)
class ReplyDefect:
    """Why a reply has no verdict: `reason` for programs, `message` for people."""

    reason: Reason
    message: str


class _Defective(Exception):
    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.defect = ReplyDefect(reason, message)


def read_reply(text: str) -> TruthVerdict | ReplyDefect:
    """The reply's one verdict, or why it has none. Never raises."""
    try:
        spoken = outermost_objects(text, _NAMES)
        stated = [_read_object(pairs) for pairs in outermost_within(spoken, _NUMBER_NAMES)]
        if not stated:
            return ReplyDefect("no_object", "the reply holds no JSON object with T, I and F")
        return _verdict(stated, spoken)
    except ReplyUnreadable as error:
        return ReplyDefect(error.reason, error.message)
    except _Defective as error:
        return error.defect


def _verdict(stated: list[dict[str, Any]], spoken: list[Pairs]) -> TruthVerdict:
    """The verdict of all objects together. Raises `_Defective` unless one states all numbers.

    `stated` are the values of the objects that state a number, `spoken` all objects of the reply.
    Objects with different numbers raise it, too.
    """
    whole = [statement for statement in stated if statement.keys() >= set(NUMBERS)]
    if not whole:
        missing = ", ".join(name for name in NUMBERS if name not in stated[0])
        raise _Defective("missing_key", f"the object has no {missing}")
    numbers = {name: whole[-1][name] for name in NUMBERS}
    if any(
        statement[name] != numbers[name]
        for statement in stated
        for name in NUMBERS
        if name in statement
    ):
        numbers_text = " and ".join(_numbers_shown(statement) for statement in stated)
        raise _Defective("contradicting_objects", f"the reply's objects disagree: {numbers_text}")
    own = [statement["reasoning"] for statement in whole if "reasoning" in statement]
    return TruthVerdict(**numbers, reasoning=own[-1] if own else _only_reasoning(spoken))


def _read_object(pairs: Pairs) -> dict[str, Any]:
    """The values of T, I, F and reasoning in one object. Raises `_Defective` for an invalid one."""
    statement: dict[str, Any] = {}
    for name, raw_value in _find_members(pairs):
        value = _text(raw_value) if name == "reasoning" else _number(name, raw_value)
        if name in statement and statement[name] != value:
            raise _Defective("contradicting_keys", f"{name} stands twice, with different values")
        statement[name] = value
    return statement


def _find_members(pairs: Pairs) -> Iterator[tuple[str, Any]]:
    """(T, I, F or `reasoning`, value) for each member of an object with such a name."""
    for key, value in pairs:
        name = _NAMES.get(key.strip().lower())
        if name is not None:
            yield name, value


def _only_reasoning(spoken: list[Pairs]) -> str:
    """The only reasoning in the reply's objects, for a verdict without its own.

    Raises `_Defective` if there is none, or several that differ.
    """
    reasonings = {_text(value) for value in _reasonings(spoken)}
    if len(reasonings) != 1:
        why = (
            "the object has no reasoning" if not reasonings else "several objects have a reasoning"
        )
        raise _Defective("missing_key", f"{why}, and the one with T, I and F has none")
    return reasonings.pop()


def _reasonings(value: Any) -> Iterator[Any]:
    """Every value under the name `reasoning`, at any depth, in no particular order.

    `value` is a decoded JSON value.
    """
    for node in values_within(value):
        if isinstance(node, Pairs):
            yield from (reasoning for name, reasoning in _find_members(node) if name == "reasoning")


def _numbers_shown(stated: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {stated[name]:g}" for name in NUMBERS if name in stated)


def _number(name: str, raw_value: Any) -> float:
    """The number, which may be in quotation marks or alone in a list.

    Raises `_Defective` for any other value, and for a number outside of 0 to 1. A percentage is
    invalid: whether `0.8%` is 0.8 or 0.008 can't be known.
    """
    value = _unwrap_single(raw_value)
    if isinstance(value, str) and _WRITTEN_NUMBER.fullmatch(value):
        value = float(value)
    if not isinstance(value, float):
        raise _Defective("not_a_number", f"{name} is {_describe_value(value)}, not a number")
    if not math.isfinite(value):
        raise _Defective("not_finite", f"{name} is {value}")
    if not 0.0 <= value <= 1.0:
        raise _Defective("out_of_range", f"{name} is {value:g}, not between 0 and 1")
    return value + 0.0  # -0.0 becomes 0.0


def _unwrap_single(value: Any) -> Any:
    """The only member of a list; any other value unchanged."""
    is_one = isinstance(value, list) and not isinstance(value, Pairs) and len(value) == 1
    return value[0] if is_one else value


def _text(raw_value: Any) -> str:
    value = _unwrap_single(raw_value)
    if not isinstance(value, str):
        raise _Defective("reasoning_not_text", f"reasoning is {_describe_value(value)}, not a text")
    if not has_utf8_form(value):
        raise _Defective("reasoning_not_text", "reasoning holds half a character")
    return value


def _describe_value(value: Any) -> str:
    if isinstance(value, Pairs):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
