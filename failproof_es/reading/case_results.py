"""The results of one case over all runs and models, newest first, from the projections' rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from failproof_es.core.case import Case, prompt_id
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.core.transcript import JUDGE_FAILED, text_or_refusal
from failproof_es.engine.history import stored_case
from failproof_es.engine.reviews.people import read_reviews
from failproof_es.events import CasesPlanned, ResponseReceived, Reviewed
from failproof_es.reading.chosen_results import SELECTED, ListedResult, build_result
from failproof_es.store.reading.archives import archived_runs
from failproof_es.store.reading.reader import Connection, find, read_streams
from projections.protocol import exact_text, visible
from projections.results.outcome_rows import SELECTED as OUTCOME_COLUMNS
from projections.results.outcome_rows import outcome_of_row

_MOST_NAMES = 5
_BEYOND = 2**63 - 1
_CHOSEN = (
    "case_id = ANY (%(ends)s) AND %(case)s IN (case_id, suite_id || '/' || case_id) "
    "AND (%(suite)s::text IS NULL OR suite_id = %(suite)s)"
)
"""SQL for the cases that `names_of_case` names so; the index of ids needs the `ends`."""
_RESULTS = f"""
{SELECTED}, r.run_number, r.name, r.started_at
FROM (
    SELECT * FROM projections.prompts WHERE {_CHOSEN}
) AS p
CROSS JOIN LATERAL (
    SELECT * FROM projections.evaluations AS e
    WHERE e.prompt_id = p.prompt_id AND e.counted AND e.last_position < %(before)s
    ORDER BY e.last_position DESC LIMIT %(limit)s
) AS e
JOIN projections.runs AS r USING (run_id)
ORDER BY e.last_position DESC LIMIT %(limit)s
"""
_OUTCOMES = (
    f"SELECT {OUTCOME_COLUMNS} FROM projections.evaluations AS e WHERE e.evaluation_id = ANY (%s)"
)
_PROMPTS = f"SELECT prompt_id FROM projections.prompts WHERE {_CHOSEN}"
_NAMES = r"""
SELECT case_id FROM (
    SELECT case_id FROM projections.prompts WHERE strpos(lower(case_id), lower(%(case)s)) > 0
    OR strpos(lower(case_id), %(kebab)s) > 0
    OR EXISTS (SELECT FROM json_array_elements(tags) AS each (tag)
        WHERE lower(replace(tag::text, '\u0000', '\ufffd')::json #>> '{}') = lower(%(text)s))
    LIMIT 1000
) AS near GROUP BY case_id ORDER BY lower(case_id) <> %(kebab)s, case_id LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A result of the case, and the run that it belongs to."""

    run_number: int
    run_name: str
    started_at: datetime
    """Time at which the run began."""
    result: ListedResult


@dataclass(frozen=True, slots=True)
class CaseRecord:
    """The records of one result: the case as it was asked, the whole outcome, the reviews."""

    case: Case
    outcome: EvaluationOutcome
    reviews: tuple[Reviewed, ...]
    """First to last; of a reviewer the last one counts."""


def case_results(
    connection: Connection,
    case: str,
    *,
    suite: str | None = None,
    before: int | None = None,
    limit: int,
) -> Iterator[CaseResult]:
    """At most `limit` results of the cases named `case`, by their last event, newest first.

    Of every version of the case, and of every suite, or of one. With `before`, only results whose
    last event is before this position.
    """
    values = _chosen(case, suite) | {
        "before": _BEYOND if before is None else before, "limit": limit,
    }  # fmt: skip
    for *row, number, name, started_at in connection.execute(_RESULTS.encode(), values):
        yield CaseResult(number, exact_text(name), started_at, build_result(row))


def case_records(connection: Connection, evaluations: Sequence[UUID]) -> dict[UUID, CaseRecord]:
    """The records of these evaluations, by evaluation. Cases and reviews are events.

    Raises `ImpossibleHistory` or `UnreadableState` if one of those is damaged.
    """
    rows = connection.execute(_OUTCOMES, (list(evaluations),), binary=True)
    outcomes = [outcome_of_row(row) for row in rows]
    prompts = {outcome.prompt_id for outcome in outcomes}
    streams = read_streams(connection, list(prompts))
    cases = {prompt: stored_case(streams, prompt) for prompt in prompts}
    reviews = read_reviews(connection, list(evaluations))
    return {
        outcome.evaluation_id: CaseRecord(
            cases[outcome.prompt_id], outcome, tuple(reviews.get(outcome.evaluation_id, ()))
        )
        for outcome in outcomes
    }


def archived_runs_with(connection: Connection, case: str, suite: str | None) -> list[UUID]:
    """The archived runs that planned a case of this name, of any suite or of one."""
    archived = archived_runs(connection)
    if not archived:
        return []
    rows = connection.execute(_PROMPTS.encode(), _chosen(case, suite))
    prompts = {prompt for (prompt,) in rows}
    return [
        run_id
        for run_id in archived
        if not prompts.isdisjoint(_planned_prompts(connection, run_id))
    ]


def _chosen(case: str, suite: str | None) -> dict[str, Any]:
    """The values of `_CHOSEN`."""
    parts = visible(case).split("/")
    ends = ["/".join(parts[start:]) for start in range(len(parts))]
    return {"case": visible(case), "ends": ends, "suite": None if suite is None else visible(suite)}


def _planned_prompts(connection: Connection, run_id: UUID) -> Iterator[UUID]:
    for row in find(connection, stream_id=run_id, topics=[CasesPlanned.__name__]):
        event = row.event()
        assert isinstance(event, CasesPlanned)
        yield from map(prompt_id, event.digests)


def similar_cases(connection: Connection, text: str) -> list[str]:
    """The ids of some stored cases that `text` may mean, in any letter case.

    The id contains the text, its end in `SUITE/CASE`, or its words in kebab-case (such an id comes
    first); or the text is a tag of the case.
    """
    shown = visible(text)
    end = shown.rpartition("/")[2]
    kebab = re.sub(r"\W+", "-", end.lower()).strip("-") or end.lower()
    values = {"case": end, "kebab": kebab, "text": shown, "limit": _MOST_NAMES}
    return [exact_text(name) for (name,) in connection.execute(_NAMES, values)]


def judge_words(connection: Connection, result: ListedResult) -> str | None:
    """The last reply of a judge whose votes are missing; `None` if none is missing or it gave none.

    Read from the log; a result that was carried over has its replies in another run.
    """
    if result.error_kind != JUDGE_FAILED:
        return None
    topics = [ResponseReceived.__name__]
    rows = find(
        connection, stream_id=result.evaluation_id, topics=topics, newest_first=True, limit=1
    )
    for row in rows:
        event = row.event()
        if isinstance(event, ResponseReceived) and event.judge is not None:
            return text_or_refusal(event.text, event.refusal)
    return None
