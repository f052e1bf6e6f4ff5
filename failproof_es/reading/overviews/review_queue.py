"""What was left to people, over all runs, from the rows that the projections keep.

The words for how an evaluation stands are those of `engine.reviews.people.review_status`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from failproof_es.store.reading.reader import Connection
from projections.protocol import exact_text

State = Literal["awaiting", "disputed", "unclear", "pass", "fail"]
OPEN: tuple[State, ...] = ("awaiting", "disputed", "unclear")
"""Those that need a person still."""

_LEFT = """
FROM projections.evaluations AS e
JOIN projections.runs AS r USING (run_id)
JOIN projections.prompts AS p USING (prompt_id)
CROSS JOIN LATERAL (
    SELECT CASE count(DISTINCT verdict) WHEN 0 THEN 'awaiting' WHEN 1 THEN min(verdict)
        ELSE 'disputed' END AS state, count(*) AS reviewers
    FROM projections.reviews AS v WHERE v.evaluation_id = e.evaluation_id
) AS said
WHERE e.awaiting_review AND e.counted
"""
_COUNTS = f"SELECT r.run_number, r.name, said.state, count(*) {_LEFT} GROUP BY 1, 2, 3"
_LIST = f"""
SELECT e.last_position, e.evaluation_id, r.run_number, r.name, p.suite_id, p.case_id, p.category,
    p.severity, e.model_key, e.repetition, e.finished_at, said.state, said.reviewers, e.prompt_id
{_LEFT} AND e.last_position > %(after)s AND said.state = ANY (%(states)s)
    AND (%(run)s::bigint IS NULL OR r.run_number = %(run)s)
ORDER BY e.last_position LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class LeftToPeople:
    """An evaluation whose answer only people can judge."""

    position: int
    """Its newest event."""
    evaluation_id: UUID
    prompt_id: UUID
    run_number: int
    run_name: str
    suite: str
    case: str
    category: str | None
    severity: str | None
    model: str
    repetition: int
    since: datetime | None
    state: State
    reviewers: int


@dataclass(frozen=True, slots=True)
class RunReviews:
    """How the evaluations of a run stand that were left to people."""

    run_number: int
    run_name: str
    states: dict[State, int]

    @property
    def open(self) -> int:
        """How many need a person still."""
        return sum(self.states.get(each, 0) for each in OPEN)


def reviews_by_run(connection: Connection) -> tuple[RunReviews, ...]:
    """Every run that left something to people, the newest first."""
    found: dict[tuple[int, str], dict[State, int]] = {}
    for number, name, state, count in connection.execute(_COUNTS):
        found.setdefault((number, exact_text(name)), {})[state] = count
    ordered = sorted(found.items(), reverse=True)
    return tuple(RunReviews(number, name, states) for (number, name), states in ordered)


def list_left_to_people(
    connection: Connection,
    states: tuple[State, ...] = OPEN,
    *,
    run_number: int | None = None,
    after: int = 0,
    limit: int | None = None,
) -> Iterator[LeftToPeople]:
    """The evaluations of these states, the longest waiting first, after a position."""
    wanted = {"states": list(states), "run": run_number, "after": after, "limit": limit}
    with connection.cursor("left_to_people") as rows:
        rows.execute(_LIST, wanted)
        for (
            position, evaluation, number, name, suite, case, category, severity, model, repetition,
            since, state, reviewers, prompt,
        ) in rows:  # fmt: skip
            yield LeftToPeople(
                position, evaluation, prompt, number, exact_text(name), exact_text(suite),
                exact_text(case), category and exact_text(category),
                severity and exact_text(severity), exact_text(model), repetition, since, state,
                reviewers,
            )  # fmt: skip
