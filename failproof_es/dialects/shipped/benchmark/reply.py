"""Parses a judge's reply: one JSON object with a mark, a quotation, a score and a reason.

An unreadable reply is a problem with a name: the judge is asked again within its bound, and gives
no score if the problem remains. Nothing is invented.
"""

from __future__ import annotations

import math
from typing import Any

from failproof_es.core.evaluation import ModelReply
from failproof_es.core.transcript import WITHHELD
from failproof_es.dialects.kit.json_in_prose import Pairs, ReplyUnreadable
from failproof_es.dialects.kit.json_objects import has_utf8_form
from failproof_es.dialects.kit.judging.evidence import evidence
from failproof_es.dialects.kit.judging.own_scores import own_scores
from failproof_es.dialects.kit.judging.posing import REASON, SCORE
from failproof_es.dialects.kit.judging.quotable import quotable
from failproof_es.dialects.kit.judging.quotation import Unproved
from failproof_es.dialects.kit.judging.verdict_object import (
    MARK,
    UnusableVerdict,
    own_object,
    refuse_further_keys,
    shorten_value,
    values,
)
from failproof_es.dialects.protocol import JudgeReading
from failproof_es.dialects.shipped.benchmark.bands import PASSES_FROM

NAME = "benchmark.judgement"
VERSION = "5"

QUOTE = "quote"
_KEYS = (MARK, QUOTE, SCORE, REASON)


def schema(mark: str) -> dict[str, Any]:
    """The JSON Schema of a judge's reply, for servers that can enforce one.

    `mark` is the text that the reply has to repeat (`prompts.mark`).
    """
    return {
        "type": "object",
        "properties": {
            MARK: {"type": "string", "enum": [mark]},
            QUOTE: {"type": "string", "minLength": 1},
            SCORE: {"type": "number", "minimum": 0, "maximum": 1},
            REASON: {"type": "string", "minLength": 1, "maxLength": 200},
        },
        "required": list(_KEYS),
        "additionalProperties": False,
    }


def read_judgement(reply: ModelReply, graded: str, mark: str, case_text: str) -> JudgeReading:
    """The verdict `{"score": 0..1, "reason": text, "quote": text}`, or the problem. Never raises.

    `graded` is the answer that the judge was shown, and must contain the quotation. A score is
    refused if the answer gives itself this passing score, or if the words quoted for it address
    judges. `mark` is the text that the verdict has to repeat (`prompts.mark`), `case_text` the
    question with the descriptions.
    """
    try:
        verdict = _verdict(reply, graded, mark, case_text)
    except ReplyUnreadable as error:
        return JudgeReading(None, f"{error.reason}: {error.message}", NAME, VERSION)
    except UnusableVerdict as error:
        return JudgeReading(None, str(error), NAME, VERSION)
    return JudgeReading(verdict, None, NAME, VERSION)


def _verdict(reply: ModelReply, graded: str, mark: str, case_text: str) -> dict[str, Any]:
    if reply.refusal or reply.ended == WITHHELD:
        raise UnusableVerdict("refused: the judge's provider withheld the reply")
    document, around = own_object(reply.text, mark, SCORE)
    score = _score(document)
    verdict = {SCORE: score, REASON: _text(document, REASON)}
    refuse_further_keys(Pairs([*around, *document]), _KEYS, score >= PASSES_FROM)
    quote = _text(document, QUOTE)
    passes = score >= PASSES_FROM
    if passes and score in own_scores(graded, case_text):
        raise UnusableVerdict("echoed: the graded answer gives itself this score")
    try:
        own = evidence(graded, case_text, has_tools=False)
        quotable([graded], [own]).locate(quote, in_favour=passes, is_proof=True)
    except Unproved as error:
        raise UnusableVerdict(f"unproved: {error}") from None
    return {**verdict, QUOTE: quote}


def _score(document: Pairs) -> float:
    score = _single_value(document, SCORE)
    if isinstance(score, bool) or not isinstance(score, float):
        raise UnusableVerdict(f"no_number: the score is {shorten_value(score)}")
    if not math.isfinite(score) or not 0.0 <= score <= 1.0:
        raise UnusableVerdict(f"out_of_range: the score is {shorten_value(score)}, not from 0 to 1")
    return score + 0.0  # -0.0 becomes 0.0


def _text(document: Pairs, name: str) -> str:
    text = _single_value(document, name)
    if not isinstance(text, str) or not text.strip():
        raise UnusableVerdict(f"no_{name}: the {name} is {shorten_value(text)}")
    if not has_utf8_form(text):
        raise UnusableVerdict(f"no_text: the {name} holds half a surrogate pair")
    return text


def _single_value(document: Pairs, name: str) -> Any:
    stated_values = values(document, name)
    if not stated_values:
        raise UnusableVerdict(f"no_{name}: the object has no {name}")
    if len(stated_values) > 1:
        raise UnusableVerdict(f"contradicting_keys: {name} stands {len(stated_values)} times")
    return stated_values[0]
