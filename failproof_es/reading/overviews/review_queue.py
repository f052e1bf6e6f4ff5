"""The evaluations left to people over all runs, from the projections' rows.

Their states are those of `core.people.review_status`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from failproof_es.core.people import OUTCOMES, ReviewStatus
from failproof_es.reading.result_conditions import PLACE, STATES
from failproof_es.store.reading.reader import Connection
from projections.protocol import exact_text

State = ReviewStatus
OPEN: tuple[State, ...] = ("awaiting", "disputed", "unclear")
"""The states that still need a person."""
_STATES: Mapping[str, State] = {outcome: state for state, outcome in OUTCOMES.items()}

LOOKED_AT = 5_000
"""Number of evaluations that a page scans for the chosen states."""

_LEFT_BY_RUN = """
SELECT r.run_number, r.name, left_over.evaluations
FROM (
    SELECT run_id, sum(awaiting)::bigint AS evaluations FROM projections.run_groups
    WHERE awaiting > 0 GROUP BY run_id
) AS left_over
JOIN projections.runs AS r USING (run_id)
"""
"""From the counters, without reading evaluations."""
_REVIEWED = """
WITH said AS MATERIALIZED (
    SELECT evaluation_id, outcome FROM projections.people_results
), counted AS MATERIALIZED (
    SELECT e.run_id, said.outcome, count(*) AS evaluations
    FROM said JOIN projections.evaluations AS e USING (evaluation_id)
    WHERE e.awaiting_review AND e.counted GROUP BY 1, 2
)
SELECT r.run_number, counted.outcome, counted.evaluations
FROM counted JOIN projections.runs AS r USING (run_id)
"""
_OF_ANY = "e.awaiting_review"
_OF_RUN = (
    f"e.awaiting_review AND {PLACE} = {STATES.index('awaiting')} AND e.run_id = "
    "(SELECT run_id FROM projections.runs WHERE run_number = %(run)s)"
)
"""In the form and the order of the index of a run's results."""
_NEAR = """
SELECT e.evaluation_id, e.last_position FROM projections.evaluations AS e
WHERE {} AND e.counted AND e.last_position > %(after)s ORDER BY e.last_position
"""
_LIST = """
SELECT e.last_position, e.evaluation_id, r.run_number, r.name, p.suite_id, p.case_id, p.category,
    p.severity, e.model_key, e.repetition, e.finished_at, near.outcome, near.reviewers, e.prompt_id
FROM (
    SELECT near.evaluation_id, said.outcome, said.reviewers
    FROM ({near} LIMIT %(most)s) AS near
    CROSS JOIN LATERAL (
        SELECT coalesce(min(outcome), 'awaiting_review') AS outcome,
            coalesce(min(reviewers), 0) AS reviewers
        FROM projections.people_results AS v WHERE v.evaluation_id = near.evaluation_id
    ) AS said
    WHERE said.outcome = ANY (%(outcomes)s) ORDER BY near.last_position LIMIT %(limit)s
) AS near
JOIN projections.evaluations AS e USING (evaluation_id)
JOIN projections.runs AS r USING (run_id)
JOIN projections.prompts AS p USING (prompt_id)
ORDER BY e.last_position
"""


@dataclass(frozen=True, slots=True)
class LeftToPeople:
    """An evaluation that was left to people, with the state of its reviews.

    `since` is the time when it ended; `reviewers` is the number of people who reviewed it.
    """

    position: int
    """The position of its newest event."""
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
    """The numbers of a run's evaluations that were left to people, by state."""

    run_number: int
    run_name: str
    states: dict[State, int]

    @property
    def open(self) -> int:
        """Number of evaluations that still need a person."""
        return sum(self.states.get(state, 0) for state in OPEN)


def reviews_by_run(connection: Connection) -> tuple[RunReviews, ...]:
    """The review numbers of every run that left evaluations to people, the newest run first."""
    names: dict[int, str] = {}
    counts_by_run: dict[int, dict[State, int]] = {}
    for number, name, evaluations in connection.execute(_LEFT_BY_RUN):
        names[number] = exact_text(name)
        counts_by_run[number] = {"awaiting": evaluations}
    for number, outcome, count in connection.execute(_REVIEWED):
        counts_by_run[number][_STATES[outcome]] = count
        counts_by_run[number]["awaiting"] -= count
    return tuple(
        RunReviews(number, names[number], states)
        for number, states in sorted(counts_by_run.items())[::-1]
    )


class QueuePage(NamedTuple):
    """A page of the queue, in order."""

    rows: tuple[LeftToPeople, ...]
    following: int | None
    """The position after which the next page begins; `None` for the last page."""
    looked_at: int | None
    """Number of evaluations after which the scan stopped; `None` if it was not stopped."""


def page_of_queue(
    connection: Connection,
    states: tuple[State, ...] = OPEN,
    *,
    run_number: int | None = None,
    after: int = 0,
    limit: int,
) -> QueuePage:
    """At most `limit` evaluations of these states after the position `after`, oldest first.

    `run_number` restricts them to one run. A page scans only the next `LOOKED_AT` evaluations left
    to people, so that its cost is bounded. A page whose scan was stopped has a following page, even
    if it has no row.
    """
    evaluations = _read_queue(connection, states, run_number, after, limit + 1, LOOKED_AT)
    if len(evaluations) > limit:
        return QueuePage(evaluations[:limit], evaluations[limit - 1].position, None)
    near = _NEAR.format(_OF_ANY if run_number is None else _OF_RUN)
    last = connection.execute(
        f"{near} OFFSET %(skip)s LIMIT 1".encode(),
        {"run": run_number, "after": after, "skip": LOOKED_AT - 1},
    ).fetchone()
    return (
        QueuePage(evaluations, None, None)
        if last is None
        else QueuePage(evaluations, last[1], LOOKED_AT)
    )


def list_left_to_people(
    connection: Connection, states: tuple[State, ...] = OPEN, *, run_number: int | None = None
) -> Iterator[LeftToPeople]:
    """All evaluations of these states, of one run or of all, oldest first; reads 500 at a time."""
    after: int | None = 0
    while after is not None:
        rows, after, _ = page_of_queue(
            connection, states, run_number=run_number, after=after, limit=500
        )
        yield from rows


def _read_queue(
    connection: Connection,
    states: tuple[State, ...],
    run_number: int | None,
    after: int,
    limit: int,
    most: int,
) -> tuple[LeftToPeople, ...]:
    near = _NEAR.format(_OF_ANY if run_number is None else _OF_RUN)
    rows = connection.execute(
        _LIST.format(near=near).encode(),
        {
            "outcomes": [OUTCOMES[state] for state in states], "run": run_number, "after": after,
            "limit": limit, "most": most,
        },
    )  # fmt: skip
    return tuple(
        LeftToPeople(
            position, evaluation, prompt, number, exact_text(name), exact_text(suite),
            exact_text(case), category and exact_text(category),
            severity and exact_text(severity), exact_text(model), repetition, since,
            _STATES[outcome], reviewers,
        )
        for (
            position, evaluation, number, name, suite, case, category, severity, model, repetition,
            since, outcome, reviewers, prompt,
        ) in rows
    )  # fmt: skip
