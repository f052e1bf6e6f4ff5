"""The decision of people on an evaluation that no program judges. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, Protocol

from failproof_es.support.percentages import percent, percent_range

ReviewStatus = Literal["awaiting", "pass", "fail", "unclear", "disputed"]
"""`awaiting`: no review. `pass`, `fail`, `unclear`: the last verdict of every reviewer, or the last
adjudication. `disputed`: the last verdicts differ, and nobody adjudicated."""
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


class GivenVerdict(Protocol):
    """A reviewer's verdict on an evaluation."""

    @property
    def reviewer(self) -> str: ...

    @property
    def verdict(self) -> str:
        """`pass`, `fail` or `unclear`."""

    @property
    def adjudicates(self) -> bool:
        """Whether it decides between the other reviewers."""


def review_status(verdicts: Iterable[GivenVerdict]) -> ReviewStatus:
    """The status of an evaluation with these verdicts, first to last.

    The last verdict of each reviewer counts. The last adjudication decides alone.
    """
    latest: dict[str, GivenVerdict] = {}
    for verdict in verdicts:
        latest.pop(verdict.reviewer, None)
        latest[verdict.reviewer] = verdict
    adjudications = [verdict for verdict in latest.values() if verdict.adjudicates]
    return status_of_words({verdict.verdict for verdict in adjudications[-1:] or latest.values()})


def status_of_words(words: Collection[str]) -> ReviewStatus:
    """The status of an evaluation whose reviewers' last verdicts are these different words."""
    if not words:
        return "awaiting"
    return _LONE[next(iter(words))] if len(words) == 1 else "disputed"


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
