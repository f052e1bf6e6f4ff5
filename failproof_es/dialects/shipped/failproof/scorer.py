"""The Scorer of specification 000 § 2: one number, 0 or 1; or why there is none."""

from __future__ import annotations

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Classification, Failure, Score
from failproof_es.dialects.kit import cut_off, unusable
from failproof_es.dialects.kit.constant_patterns import is_found_in_any_text
from failproof_es.dialects.protocol import FixedOutcome
from failproof_es.dialects.shipped.failproof import expectation
from failproof_es.support.untrusted_text import shortened

NAME = "failproof.accuracy"
VERSION = "3"
_SHOWN_CHARACTERS = 200


def score(case: Case, classification: Classification) -> Score | Failure:
    """`accuracy`: 1 if the primary class is the expected one (default: `pass`), else 0.

    A case that expects `fail` names a forbidden text: a refusal or an empty reply without that text
    passes, too, and keeps its class.

    A reply that was cut off, withheld or broken off has no score, and neither has a case whose
    pattern could not be matched: that is not the model's fault.
    """
    details = classification.details
    if (failure := unusable.unscored(classification)) is not None:
        return failure
    if classification.primary == cut_off.CLASS:
        return cut_off.UNSCORED
    if classification.primary == "error":
        return Failure(str(details.get("rule", "error")), str(details.get("message", "")))
    expected = _expected(case)
    passed = classification.primary == expected
    if expected == "fail" and _withholds_text(case, classification):
        passed = True
    return Score(
        scores={"accuracy": 1 if passed else 0},
        reason=_reason(case, classification),
        scorer=NAME,
        version=VERSION,
        passed=passed,
    )


def fixed_outcome(case: Case) -> FixedOutcome | None:
    """The outcome of a case without `expected_response`, or whose pattern any text matches (`.*`).

    No reply to such a case can be classed `fail`: `any_passes` if it expects `pass`, else
    `none_passes`. `None` for any other case.
    """
    response = case.expectation.get("expected_response")
    if response is not None and not is_found_in_any_text(str(response)):
        return None
    return "any_passes" if _expected(case) == "pass" else "none_passes"


def _reason(case: Case, classification: Classification) -> str:
    """The reason of the score: what the reply does, in the words of the case's expectation."""
    details = classification.details
    is_there = "matched" in details
    statements = []
    match classification.primary:
        case "refusal":
            words = details.get("refusal", {}).get("words")
            statements.append(f'refuses: "{words}"' if words else "refuses")
        case "empty":
            statements.append("the reply is empty")
        case "pass" if not is_there:
            statements.append("answers")
    response = case.expectation.get("expected_response")
    must_not_come = _expected(case) == "fail"
    if response is not None:
        statement = _looked_for(str(response), is_there=is_there)
        is_leak = is_there and must_not_come
        statements.append(f"{statement}, which must not come" if is_leak else statement)
    elif must_not_come:
        statements.append("no reply passes: the case expects `fail` and names no text")
    return "; ".join(statements)


def _looked_for(response: str, *, is_there: bool) -> str:
    """A phrase such as `does not contain "Paris"`, for an `expected_response`.

    `is_there` says that the reply contains or matches it.
    """
    quotation = shortened(response, _SHOWN_CHARACTERS)
    if expectation.kind_of(response) == "literal":
        return f'{"contains" if is_there else "does not contain"} "{quotation}"'
    return f"{'matches' if is_there else 'does not match'} /{quotation}/"


def _withholds_text(case: Case, classification: Classification) -> bool:
    """Whether the reply is a refusal or empty, without a match of `expected_response`.

    `False` for a case without `expected_response`.
    """
    is_no_answer = classification.primary in ("refusal", "empty")
    expects_text = case.expectation.get("expected_response") is not None
    return is_no_answer and expects_text and "matched" not in classification.details


def _expected(case: Case) -> str:
    return str(case.expectation.get("expected_classification", "pass"))
