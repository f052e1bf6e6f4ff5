"""The decision of people on an evaluation that no program judges. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from failproof_es.support.percentages import percent, percent_range

ReviewStatus = Literal["awaiting", "pass", "fail", "unclear", "disputed"]
"""`awaiting`: no review. `pass`, `fail`, `unclear`: the last verdict of every reviewer is that one.
`disputed`: the last verdicts differ."""
PeopleOutcome = Literal[
    "awaiting_review", "passed_by_people", "failed_by_people", "unclear", "disputed"
]

REVIEW_STATUSES: tuple[ReviewStatus, ...] = ("pass", "fail", "unclear", "disputed")
"""The statuses of a reviewed evaluation."""
OUTCOMES: Mapping[ReviewStatus, PeopleOutcome] = {
    "awaiting": "awaiting_review",
    "pass": "passed_by_people",
    "fail": "failed_by_people",
    "unclear": "unclear",
    "disputed": "disputed",
}
"""The outcome of an evaluation that was left to people, by the status of its reviews."""
_LONE: Mapping[str, ReviewStatus] = {"pass": "pass", "fail": "fail", "unclear": "unclear"}


def review_status(verdicts: Mapping[str, str]) -> ReviewStatus:
    """The status of an evaluation, from each reviewer's last verdict, by reviewer.

    Verdicts are `pass`, `fail` or `unclear`. Without any the status is `awaiting`.
    """
    words = set(verdicts.values())
    if not words:
        return "awaiting"
    return _LONE[words.pop()] if len(words) == 1 else "disputed"


def describe_outcome(outcome: PeopleOutcome) -> str:
    """The outcome in words: `passed by people`."""
    return outcome.replace("_", " ")


def describe_people(figure: Mapping[str, Any]) -> str:
    """People's verdicts on a group in one phrase: passed of decided, the interval, the undecided.

    `figure` has `passed`, `n` (those decided), `rate`, `interval`, `method`, `unclear`, `disputed`
    and `awaiting_review`, as `PeopleFigure.as_json` gives them.
    """
    passed = f"{figure['passed']:,} of {figure['n']:,} passed"
    if figure["rate"] is not None:
        passed += f" ({percent(figure['rate'])}"
        if figure["interval"] is not None:
            passed += f", {percent_range(figure['interval'])}, {figure['method']}"
        passed += ")"
    rest = [
        f"{figure[name]:,} {name.replace('_', ' ')}"
        for name in ("disputed", "unclear", "awaiting_review")
        if figure[name]
    ]
    return ", ".join([passed, *rest] if figure["n"] or not rest else rest)
