"""The expectations of a case beside the answer, as pages show them."""

from __future__ import annotations

from uuid import UUID

from failproof_es.console.texts import TextShown, compared_texts, text_shown
from failproof_es.core.case import Case
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.dialects.expectations import expectations_of
from failproof_es.dialects.protocol import Expectation
from failproof_es.support.document import Document

_LONGEST_SUMMARY = 1_000
_NOTHING_CAME = EvaluationOutcome(
    evaluation_id=UUID(int=0), run_id=UUID(int=0), prompt_id=UUID(int=0), model_key="", repetition=1
)
_ORDER = (False, None, True)
"""The order of expectations by `met`."""


class ExpectationShown(Document):
    """One expectation of a case, and the actual counterpart in the answer."""

    expected: TextShown
    got: TextShown | None
    """`None` without an answer."""
    met: bool | None
    """`None` if nothing decided that."""


def shown_expectations(case: Case, outcome: EvaluationOutcome) -> tuple[ExpectationShown, ...]:
    """The expectations of the case: unmet ones first, then undecided ones."""
    stated = expectations_of(case, outcome)
    return tuple(map(_shown_expectation, sorted(stated, key=lambda one: _ORDER.index(one.met))))


def _shown_expectation(one: Expectation) -> ExpectationShown:
    if one.got is None:
        return ExpectationShown(expected=text_shown(one.expected, None), got=None, met=one.met)
    expected, got = compared_texts(one.expected, one.got, None if one.met else one.text)
    return ExpectationShown(expected=expected, got=got, met=one.met)


def expected_of(case: Case) -> str:
    """The expectations of the case as one text, shortened; independent of the answer."""
    stated = expectations_of(case, _NOTHING_CAME)
    return "; ".join(one.expected for one in stated)[:_LONGEST_SUMMARY]
