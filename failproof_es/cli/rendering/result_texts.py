"""Texts of results in one line of a table."""

from __future__ import annotations

from failproof_es.core.case import PARTLY_IMPORTED, Case
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.reading.recorded_run import PlannedOutcome
from failproof_es.support.untrusted_text import one_line, shortened

ANSWER_WIDTH = 60
WHY_WIDTH = 100


def first_line(text: str) -> str:
    """The first line of an answer that is not blank, sanitised and shortened for a table."""
    line = next((line for line in text.split("\n") if line.strip()), "")
    return shortened(one_line(line.strip()), ANSWER_WIDTH)


def describe_unfinished(outcome: EvaluationOutcome) -> str:
    """The progress of an unended evaluation, in words."""
    if outcome.answer is not None:
        return "answered, not graded"
    return "asked, no answer on record" if outcome.requests else "never asked"


def describe_why(planned: PlannedOutcome) -> str | None:
    """Why the result did not pass, or says less by its pass; shortened for a table."""
    outcome = planned.outcome
    if outcome.unscored:
        return f"({outcome.ended_kind}: {outcome.reason})"
    if not outcome.finished:
        return f"({describe_unfinished(outcome)})"
    if outcome.failed:
        return shortened(one_line(outcome.reason), WHY_WIDTH)
    return partial_pass(planned.case)


def partial_pass(case: Case) -> str | None:
    """Why a pass of the case says less than its source asked; `None` if it does not."""
    if not case.is_partly_imported:
        return None
    return f"({PARTLY_IMPORTED}: an expectation is not checked)"
