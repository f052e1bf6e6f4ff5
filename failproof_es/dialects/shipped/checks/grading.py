"""Grades a reply by the checks of its case. Pure.

The first rule that applies decides the class:

1. `error`      nothing usable came back.
2. `withheld`, `broken`, `unknown`  no dialect grades the reply (`dialects.kit.unusable`).
3. `truncated`  the reply was cut off (`dialects.kit.cut_off`).
4. `answered`   the case has no check: no verdict of ours.
5. `pass`/`fail`  the reply without its thoughts, or else its refusal, meets every check
                (`ModelReply.answer_or_refusal`), or does not.

An `answered` evaluation ends without a score and is left to people.
"""

from __future__ import annotations

from typing import Any

from failproof_es.core.case import Case
from failproof_es.core.evaluation import (
    AWAITING_REVIEW,
    Classification,
    Failure,
    Judgement,
    Score,
    Transcript,
)
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.dialects.kit import cut_off, unusable
from failproof_es.dialects.protocol import Expectation, FixedOutcome
from failproof_es.dialects.reply_checks import (
    ReplyCheck,
    describe_check,
    describe_expectation,
    is_always_met,
    met,
    verb_of,
)
from failproof_es.dialects.reply_checks import is_bounded as is_check_bounded

NAME = "checks.classifier"
SCORER = "checks.accuracy"
VERSION = "4"


def classify(case: Case, transcript: Transcript) -> Classification:
    """The class of the reply or of the failure, by the rules of this module. Deterministic."""
    primary, details = _decide(case, transcript)
    return Classification(primary, details, NAME, VERSION)


def score(
    case: Case, classification: Classification, judgement: Judgement | None
) -> Score | Failure:
    """`accuracy`: 1 if every check is met, else 0; or why there is no score."""
    details = classification.details
    if (failure := unusable.unscored(classification)) is not None:
        return failure
    if classification.primary == "error":
        return Failure(str(details.get("rule", "error")), str(details.get("message", "")))
    if classification.primary == "answered":
        message = "the case has no check of the reply: no verdict of ours, people can give one"
        return Failure(AWAITING_REVIEW, message)
    passed = classification.primary == "pass"
    unmet = [
        describe_check(check, is_met=False)
        for check, is_met in zip(_checks_of(case), details["met"], strict=True)
        if not is_met
    ]
    return Score(
        scores={"accuracy": 1 if passed else 0},
        reason="every check is met" if passed else "; ".join(unmet),
        scorer=SCORER,
        version=VERSION,
        passed=passed,
    )


def expectations(case: Case, outcome: EvaluationOutcome) -> list[Expectation]:
    """Each check of the case, with whether the reply met it."""
    checks = _checks_of(case)
    results = outcome.details.get("met") or [None] * len(checks)
    return [
        Expectation(
            describe_expectation(check),
            met=is_met,
            fault=f"{verb_of(check, is_met=False)} {_object_of(check)}",
            text=check.values[0] if _asks_for_text(check) else None,
        )
        for check, is_met in zip(checks, results, strict=True)
    ]


def _object_of(check: ReplyCheck) -> str:
    return {"regex": "the pattern", "json": "JSON"}.get(check.kind, "the text")


def _asks_for_text(check: ReplyCheck) -> bool:
    return len(check.values) == 1 and check.kind != "regex" and not check.negate


def _decide(case: Case, transcript: Transcript) -> tuple[str, dict[str, Any]]:
    if (ended := unusable.ungraded_class(transcript)) is not None:
        return ended
    if not transcript.replies:
        return "error", {"rule": "no_reply", "message": "there is no reply"}
    reply = transcript.replies[-1]
    seen = unusable.seen(reply)
    if reply.cut_off:
        return cut_off.CLASS, {"rule": "finish_reason", **seen}
    checks = _checks_of(case)
    if not checks:
        return "answered", {"rule": "no_check", **seen}
    results = [met(check, reply.answer_or_refusal) for check in checks]
    return "pass" if all(results) else "fail", {"rule": "checks", "met": results, **seen}


def fixed_outcome(case: Case) -> FixedOutcome | None:
    """The outcome of any answer, if every text meets the checks or none does; else `None`.

    `no_verdict` for a case without checks.
    """
    constant = [is_always_met(check) for check in _checks_of(case)]
    if not constant:
        return "no_verdict"
    if False in constant:
        return "none_passes"
    return "any_passes" if all(constant) else None


def _checks_of(case: Case) -> list[ReplyCheck]:
    return [ReplyCheck.model_validate(check) for check in case.expectation.get("checks", [])]


def is_bounded(case: Case, transcript: Transcript) -> bool:
    """Whether matching each check against the last reply is certain to take little time."""
    checks = [ReplyCheck.model_construct(**check) for check in case.expectation.get("checks", [])]
    texts = [reply.answer_or_refusal for reply in transcript.replies[-1:]]
    return all(is_check_bounded(check, text) for check in checks for text in texts)
