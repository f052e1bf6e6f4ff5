"""Reading a verdict out of what a model really wrote. Pure; nothing is ever invented.

A reply holds a verdict when every JSON object in it that speaks of T, I or F is complete
and all of them agree. Fences, prose, a leading `<think>` block, wrapping objects and the
long names (`truth`, `indeterminacy`, `falsehood`) are what real models write and are read
through. Everything else is a `ReplyDefect` with a named reason, and no number.

A brace that opens something like an object and doesn't decode spoils the whole reply. What
stands inside it can't be told from what it quotes: in `{"reasoning": "it says {"T": 0, ...`
the inner object is the judged prompt's, not the model's. Only after a whole verdict is such
a brace taken for prose, and only where nothing that follows it could be another verdict.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, Literal

from failproof_es.dialects.json_in_prose import (
    Pairs,
    ReplyUnreadable,
    Unreadable,
    outermost_objects,
)

Reason = Literal[
    Unreadable,
    "no_object",  # no JSON object that speaks of T, I or F
    "missing_key",
    "not_a_number",
    "not_finite",  # NaN or an infinity, which Python's JSON takes for numbers
    "out_of_range",
    "reasoning_not_text",
    "contradicting_keys",  # one object gives the same value twice, differently
    "contradicting_objects",
]

NUMBERS = ("T", "I", "F")
_NAMES = {
    "t": "T", "truth": "T",
    "i": "I", "indeterminacy": "I",
    "f": "F", "falsehood": "F", "falsity": "F",
    "reasoning": "reasoning",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
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
    """Why a reply holds no verdict: a name for programs, a sentence for people."""

    reason: Reason
    message: str


class _Defective(Exception):
    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.defect = ReplyDefect(reason, message)


def read_reply(text: str) -> Verdict | ReplyDefect:
    """The one verdict that the reply holds, or why it holds none. Never raises."""
    try:
        verdicts = [_verdict(found) for found in outermost_objects(text, _NAMES)]
    except ReplyUnreadable as error:
        return ReplyDefect(error.reason, error.message)
    except _Defective as error:
        return error.defect
    if not verdicts:
        return ReplyDefect("no_object", "the reply holds no JSON object with T, I and F")
    if any(verdict.numbers != verdicts[0].numbers for verdict in verdicts):
        shown = " and ".join(str(verdict.numbers) for verdict in verdicts)
        return ReplyDefect("contradicting_objects", f"the reply's objects disagree: {shown}")
    return verdicts[-1]


def _verdict(pairs: Pairs) -> Verdict:
    """The object's verdict. Raises `_Defective` for anything short of a complete one."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        name = _NAMES.get(key.lower())
        if name is None:
            continue
        if name in found and not _same(found[name], value):
            raise _Defective("contradicting_keys", f"{name} stands twice, with different values")
        found[name] = value
    if missing := [name for name in (*NUMBERS, "reasoning") if name not in found]:
        raise _Defective("missing_key", f"the object has no {', '.join(missing)}")
    truth, indeterminacy, falsehood = (_number(name, found[name]) for name in NUMBERS)
    return Verdict(truth, indeterminacy, falsehood, _text(found["reasoning"]))


def _same(one: Any, other: Any) -> bool:
    """Whether both are the same JSON: `true` is not 1 here."""
    return type(one) is type(other) and bool(one == other)


def _number(name: str, value: Any) -> float:
    if not isinstance(value, float):
        raise _Defective("not_a_number", f"{name} is {_shown(value)}, not a number")
    if not math.isfinite(value):
        raise _Defective("not_finite", f"{name} is {value}")
    if not 0.0 <= value <= 1.0:
        raise _Defective("out_of_range", f"{name} is {value:g}, not between 0 and 1")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Defective("reasoning_not_text", f"reasoning is {_shown(value)}, not a text")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise _Defective("reasoning_not_text", "reasoning holds half a character") from None
    return value


def _shown(value: Any) -> str:
    if isinstance(value, Pairs):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
