"""The Scorer of specification 000 § 2: one number, 0 or 1; or why there is none."""

from __future__ import annotations

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Classification, Failure, Score
from failproof_es.dialects.kit import cut_off, unusable
from failproof_es.dialects.kit.constant_patterns import is_found_in_any_text
from failproof_es.dialects.protocol import FixedOutcome

NAME = "failproof.accuracy"
VERSION = "3"


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
    reason = f"expected {expected}, classified {classification.primary}"
    passed = classification.primary == expected
    if expected == "fail" and _withholds_text(case, classification):
        passed, reason = True, f"{reason}, without the text that must not come"
    return Score(
        scores={"accuracy": 1 if passed else 0},
        reason=reason,
        scorer=NAME,
        version=VERSION,
        passed=passed,
    )


def fixed_outcome(case: Case) -> FixedOutcome | None:
    """The outcome of a case without `expected_response`, or whose pattern any text matches (`.*`).

    No reply can be classed `fail` there. `None` for any other case.
    """
    response = case.expectation.get("expected_response")
    if response is not None and not is_found_in_any_text(str(response)):
        return None
    return "any_passes" if _expected(case) == "pass" else "none_passes"


def _withholds_text(case: Case, classification: Classification) -> bool:
    """Whether the model gave no answer, and nothing that matches `expected_response`."""
    is_no_answer = classification.primary in ("refusal", "empty")
    expects_text = case.expectation.get("expected_response") is not None
    return is_no_answer and expects_text and "matched" not in classification.details


def _expected(case: Case) -> str:
    return str(case.expectation.get("expected_classification", "pass"))
