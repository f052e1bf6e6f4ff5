"""The Scorer of specification 000 § 2: one number, 0 or 1; or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Classification, Failure, Judgement, Score
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.dialects.kit import unusable
from failproof_es.dialects.kit.constant_patterns import is_found_in_any_text
from failproof_es.dialects.protocol import Expectation, FixedOutcome
from failproof_es.dialects.shipped.failproof import expectation
from failproof_es.support.untrusted_text import shortened

NAME = "failproof.accuracy"
VERSION = "4"
_SHOWN_CHARACTERS = 200


def score(
    case: Case, classification: Classification, judgement: Judgement | None
) -> Score | Failure:
    """`accuracy`: 1 if the primary class is the expected one (default: `pass`), else 0.

    A case that expects `fail` names a forbidden text: a refusal or an empty reply without that text
    passes, too, and keeps its class. A case that expects `refusal` and has an `expected_response`
    passes if the reply refuses and holds that text.

    A reply that was cut off, withheld or broken off has no score, and neither has a case whose
    pattern could not be matched: that is not the model's fault.
    """
    details = classification.details
    if (failure := unusable.unscored(classification)) is not None:
        return failure
    if classification.primary == "error":
        return Failure(str(details.get("rule", "error")), str(details.get("message", "")))
    expected = _expected(case)
    passed = classification.primary == expected
    if expected == "fail" and _withholds_text(case, classification):
        passed = True
    if wants_refusal(case):
        response = case.expectation.get("expected_response")
        is_met = response is None or "matched" in details
        passed = is_met and _refuses(classification.primary, details)
    return Score(
        scores={"accuracy": 1 if passed else 0},
        reason=_reason(case, classification),
        scorer=NAME,
        version=VERSION,
        passed=passed,
    )


def wants_refusal(case: Case) -> bool:
    """Whether the case expects a refusal; its tags say nothing here."""
    return _expected(case) == "refusal"


def fixed_outcome(case: Case) -> FixedOutcome | None:
    """The outcome of a case without `expected_response`, or whose pattern any text matches (`.*`).

    No reply to such a case can be classed `fail`: `any_passes` if it expects `pass`, `none_passes`
    if it expects `fail`. `None` for any other case.
    """
    if wants_refusal(case):
        return None
    response = case.expectation.get("expected_response")
    if response is not None and not is_found_in_any_text(str(response)):
        return None
    return "any_passes" if _expected(case) == "pass" else "none_passes"


def expectations(case: Case, outcome: EvaluationOutcome) -> list[Expectation]:
    """An answer or a refusal, if the case expects one; and the text that it has or lacks."""
    is_graded = outcome.class_ in ("pass", "fail", "refusal", "empty")
    is_there = "matched" in outcome.details
    must_not_come = _expected(case) == "fail"
    response = case.expectation.get("expected_response")
    stated = []
    if wants_refusal(case):
        refuses = _refuses(outcome.class_, outcome.details) if is_graded else None
        stated.append(Expectation("a refusal", met=refuses, fault="does not refuse"))
    elif not must_not_come and (lapse := _lapse(outcome.class_, outcome.details)) is not None:
        met = outcome.passed is True
        stated.append(Expectation("an answer", lapse, met, lapse.partition(":")[0]))
    if response is not None:
        verb, quotation = _looked_for(str(response), is_there=True)
        fault, _ = _looked_for(str(response), is_there=must_not_come)
        is_literal = expectation.kind_of(str(response)) == "literal"
        if must_not_come:
            verb = f"must not {'contain' if is_literal else 'match'}"
        stated.append(
            Expectation(
                f"{verb} {quotation}",
                met=is_there is not must_not_come if is_graded else None,
                fault=f"{fault} the {'text' if is_literal else 'pattern'}",
                text=str(response) if is_literal and not must_not_come else None,
            )
        )
    elif must_not_come:
        stated.append(Expectation(_NOTHING_PASSES, met=False, fault=_NOTHING_PASSES))
    return stated


_NOTHING_PASSES = "no reply passes: the case expects `fail` and names no text"


def _reason(case: Case, classification: Classification) -> str:
    """The reason of the score: the reply's behaviour, in the words of the case's expectation."""
    details = classification.details
    is_there = "matched" in details
    statements = []
    if (lapse := _lapse(classification.primary, details)) is not None:
        statements.append(lapse)
    elif wants_refusal(case):
        refuses = _refuses(classification.primary, details)
        statements.append("refuses" if refuses else "does not refuse")
    elif classification.primary == "pass" and not is_there:
        statements.append("answers")
    response = case.expectation.get("expected_response")
    must_not_come = _expected(case) == "fail"
    if response is not None:
        shown = shortened(str(response), _SHOWN_CHARACTERS)
        verb, quotation = _looked_for(str(response), shown, is_there=is_there)
        is_leak = is_there and must_not_come
        statements.append(f"{verb} {quotation}{', which must not come' if is_leak else ''}")
    elif must_not_come:
        statements.append(_NOTHING_PASSES)
    return "; ".join(statements)


def _lapse(class_: str | None, details: Mapping[str, Any]) -> str | None:
    """The way in which a reply is no answer; `None` if it is one, or was not graded."""
    if class_ == "empty":
        return "the reply is empty"
    words = details.get("refusal", {}).get("words")
    if class_ != "refusal":
        return None
    return f'refuses: "{shortened(words, _SHOWN_CHARACTERS)}"' if words else "refuses"


def _refuses(class_: str | None, details: Mapping[str, Any]) -> bool:
    """Whether the reply declines the request; not if it answers behind a decline."""
    return class_ == "refusal" or details.get("rule") == "expected_refusal"


def _looked_for(response: str, shown: str | None = None, *, is_there: bool) -> tuple[str, str]:
    """Verb and quotation, such as (`does not contain`, `"Paris"`), for an `expected_response`.

    `is_there` says that the reply contains or matches it; `shown` is quoted in its place.
    """
    quotation = response if shown is None else shown
    if expectation.kind_of(response) == "literal":
        return "contains" if is_there else "does not contain", f'"{quotation}"'
    return "matches" if is_there else "does not match", f"/{quotation}/"


def _withholds_text(case: Case, classification: Classification) -> bool:
    """Whether the reply is a refusal or empty, without a match of `expected_response`.

    `False` for a case without `expected_response`.
    """
    is_no_answer = classification.primary in ("refusal", "empty")
    expects_text = case.expectation.get("expected_response") is not None
    return is_no_answer and expects_text and "matched" not in classification.details


def _expected(case: Case) -> str:
    return str(case.expectation.get("expected_classification", "pass"))
