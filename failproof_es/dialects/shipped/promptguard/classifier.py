"""Classifies a reply: a verdict with its label, a refusal, or a reply that can't be parsed.

The first rule that applies decides:

1. `error`        nothing usable came back.
2. `withheld`, `broken`, `unknown`  no dialect grades the reply (`dialects.kit.unusable`);
   `refusal`      the provider marks the reply as one.
3. the label      the reply has a verdict; the case's decision rule gives the label.
4. `truncated`    the reply was cut off before a complete verdict (`dialects.kit.cut_off`).
5. `refusal`      the reply has no object at all and declines in words.
6. `empty`        only white space.
7. `parse_error`  everything else; `details.rule` names the defect.

Only a label is scored. Every other class ends the evaluation without a score, so that it is counted
and never mistaken for an answer (specification 001 §§ 5.4, 7.2).
"""

from __future__ import annotations

from typing import Any

from failproof_es.core.case import Case
from failproof_es.core.evaluation import (
    Classification,
    Failure,
    Judgement,
    ModelReply,
    Score,
    Transcript,
)
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.dialects.kit import cut_off, refusal, unusable
from failproof_es.dialects.protocol import Expectation, FixedOutcome
from failproof_es.dialects.shipped.promptguard.decision import Rule, decide
from failproof_es.dialects.shipped.promptguard.reply import ReplyDefect, TruthVerdict, read_reply

NAME = "promptguard.classifier"
VERSION = "4"


def classify(case: Case, transcript: Transcript) -> Classification:
    """The class of the reply or of the failure, by the rules of this module. Deterministic.

    `details` hold the verdict, or the defect of a reply without one.
    """
    primary, details = _decide(case, transcript)
    return Classification(primary, details, NAME, f"{VERSION}+refusal.{refusal.VERSION}")


def score(
    case: Case, classification: Classification, judgement: Judgement | None
) -> Score | Failure:
    """`accuracy`: 1 if the label is the expected one, else 0; and the numbers T, I and F.

    A `Failure` with the reason if the reply has no label.
    """
    details = classification.details
    if (failure := unusable.unscored(classification)) is not None:
        return failure
    if "T" not in details:
        message = str(details.get("message") or details["rule"])
        return Failure(str(details.get("kind") or classification.primary), message)
    expected = case.expectation["expected_label"]
    numbers = {name: float(details[name]) for name in ("T", "I", "F")}
    passed = classification.primary == expected
    return Score(
        scores={"accuracy": float(passed), **numbers},
        reason=f"expected {expected}, decided {classification.primary}",
        scorer="promptguard.accuracy",
        version=VERSION,
        passed=passed,
    )


def expectations(case: Case, outcome: EvaluationOutcome) -> list[Expectation]:
    """The label that the case expects, beside the one that was decided, with T, I and F."""
    expected, details = case.expectation["expected_label"], outcome.details
    if "T" not in details:
        return [Expectation(f"the label {expected}", fault=outcome.class_ or "no label")]
    numbers = ", ".join(f"{name} {details[name]:g}" for name in ("T", "I", "F"))
    return [
        Expectation(
            f"the label {expected}",
            f"the label {outcome.class_} ({numbers})",
            outcome.passed,
            f"{outcome.class_} instead of {expected}",
        )
    ]


def fixed_outcome(case: Case) -> FixedOutcome | None:
    """`none_passes` if no decision rule gives the expected label, else `None`."""
    labels = {rule["label"] for rule in case.expectation["decision"]}
    return None if case.expectation["expected_label"] in labels else "none_passes"


def _decide(case: Case, transcript: Transcript) -> tuple[str, dict[str, Any]]:
    if (ended := unusable.ungraded_class(transcript)) is not None:
        return ended
    if not transcript.replies:
        return "empty", {"rule": "no_reply"}
    reply = transcript.replies[-1]
    seen = unusable.seen(reply)
    if reply.refusal:
        return "refusal", {"rule": "provider", "message": reply.refusal, **seen}
    reading = read_reply(reply.text)
    if isinstance(reading, TruthVerdict):
        rules = [Rule.model_validate(rule) for rule in case.expectation["decision"]]
        verdict = dict(zip(("T", "I", "F"), reading.numbers, strict=True))
        return decide(rules, reading), {
            "rule": "verdict",
            **verdict,
            "reasoning": reading.reasoning,
        }
    return _without_verdict(reply, reading, seen)


def _without_verdict(
    reply: ModelReply, defect: ReplyDefect, seen: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    message = f"{defect.reason}: {defect.message}"
    if reply.cut_off:
        message = f"{cut_off.MESSAGE}; {message}"
        return cut_off.CLASS, {"rule": defect.reason, "message": message, **seen}
    if defect.reason == "no_object" and refusal.find_refusal(reply.answer):
        return "refusal", {"rule": "words", "message": reply.text, **seen}
    primary = "empty" if defect.reason == "empty" else "parse_error"
    return primary, {"rule": defect.reason, "message": message, **seen}
