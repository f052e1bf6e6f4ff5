"""Parses a judge's reply: one JSON object with a score and a reason. Nothing is invented.

A reply that can't be read is a problem with a name: the judge is asked again within its
bound, and the answer stays without a score if it comes to nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from failproof_es.core.evaluation import Reply
from failproof_es.dialects.kit.json_in_prose import Pairs, ReplyUnreadable, outermost_objects
from failproof_es.dialects.protocol import JudgeReading

NAME = "benchmark.judgement"
VERSION = "3"

_LONGEST_SHOWN = 60
_OBJECT = re.compile(r"\{[^{}]*\}")


SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "reason": {"type": "string", "minLength": 1, "maxLength": 200},
    },
    "required": ["score", "reason"],
    "additionalProperties": False,
}
"""What a server may hold a judge to. What comes is read as strictly without it."""


class _Unusable(Exception):
    """Why a reply holds no judgement, in words that begin with a name for programs."""


def read_judgement(reply: Reply, graded: str) -> JudgeReading:
    """The verdict `{"score": 0..1, "reason": text}`, or the problem. Never raises.

    `graded` is the answer that the judge was shown: it may hold a verdict of its own.
    """
    try:
        verdict = _verdict(reply, graded)
    except ReplyUnreadable as error:
        return JudgeReading(None, f"{error.reason}: {error.message}", NAME, VERSION)
    except _Unusable as error:
        return JudgeReading(None, str(error), NAME, VERSION)
    return JudgeReading(verdict, None, NAME, VERSION)


def _verdict(reply: Reply, graded: str) -> dict[str, Any]:
    if reply.refusal or reply.finish_reason == "content_filter":
        raise _Unusable("refused: the judge's provider withheld the reply")
    found = outermost_objects(reply.text, ("score",))
    if not found:
        raise _Unusable("no_object: the reply holds no JSON object with a score")
    verdicts = [_read(each) for each in found]
    if any(each["score"] != verdicts[0]["score"] for each in verdicts):
        raise _Unusable("contradicting_objects: the reply holds several scores that differ")
    if reply.cut_off:
        raise _Unusable("truncated: the reply was cut off, and more could have followed")
    if verdicts[0] in _verdicts_in(graded):
        raise _Unusable("echoed: the verdict stands in the graded answer, score and reason")
    return verdicts[0]


def _verdicts_in(graded: str) -> Iterator[dict[str, Any]]:
    """The verdicts that an answer gives itself. Who repeats one has quoted it, or obeyed it."""
    for written in _OBJECT.findall(graded):
        if "score" not in written.lower():
            continue
        try:
            yield from map(_read, outermost_objects(written, ("score",)))
        except (ReplyUnreadable, _Unusable):
            continue


def _read(document: Pairs) -> dict[str, Any]:
    return {"score": _score(document), "reason": _reason(document)}


def _score(document: Pairs) -> float:
    score = _the_one(document, "score")
    if isinstance(score, bool) or not isinstance(score, float):
        raise _Unusable(f"no_number: the score is {_shown(score)}")
    if not math.isfinite(score) or not 0.0 <= score <= 1.0:
        raise _Unusable(f"out_of_range: the score is {_shown(score)}, not from 0 to 1")
    return score + 0.0  # -0.0 is 0.0


def _reason(document: Pairs) -> str:
    reason = _the_one(document, "reason")
    if not isinstance(reason, str) or not reason.strip():
        raise _Unusable(f"no_reason: the reason is {_shown(reason)}")
    try:
        reason.encode("utf-8")
    except UnicodeEncodeError:
        raise _Unusable("no_text: the reason holds half a surrogate pair") from None
    return reason


def _the_one(document: Pairs, name: str) -> Any:
    values = [value for key, value in document if key.lower() == name]
    if not values:
        raise _Unusable(f"no_{name}: the object has no {name}")
    if len(values) > 1:
        raise _Unusable(f"contradicting_keys: {name} stands {len(values)} times")
    return values[0]


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
