"""The evaluations of one case, in all runs and of all models."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from failproof_es.reading.chosen_results import beginning, exact_name
from failproof_es.reading.result_conditions import PLACE, STATES
from failproof_es.store.reading.experiments import run_numbers
from failproof_es.store.reading.reader import Connection
from failproof_es.support.document import KEYS
from projections.protocol import exact_text

_SELECTED = (
    f"SELECT e.evaluation_id, e.run_id, e.model_key, e.repetition, {PLACE}, e.class, "
    "left(e.answer::text, 400), e.accuracy, e.latency_ms, e.cost_usd, e.finished_at, "
    "e.source_run_id IS NOT NULL "
    "FROM projections.evaluations AS e WHERE e.prompt_id = %(prompt)s AND e.counted "
    "AND e.evaluation_id <> %(own)s AND e.last_position <= %(up_to)s "
)
_IN_THE_RUN = (
    f"{_SELECTED} AND e.run_id = %(run)s ORDER BY e.model_key, e.repetition LIMIT %(limit)s"
)
_ELSEWHERE = f"{_SELECTED} AND e.run_id <> %(run)s ORDER BY e.last_position DESC LIMIT %(limit)s"


@dataclass(frozen=True, slots=True)
class SameCase:
    """Another evaluation of the same case, for a list."""

    __pydantic_config__ = KEYS

    evaluation_id: UUID
    run_number: int
    model_key: str
    repetition: int
    state: str
    """One of `STATES` of `chosen_results`."""
    class_: str | None
    answer: str | None
    """Its beginning."""
    answer_cut: bool
    accuracy: float | None
    latency_ms: float | None
    cost_usd: float | None
    finished_at: datetime | None
    carried_over: bool
    """Whether it happened in another run."""


def same_case(
    connection: Connection,
    prompt_id: UUID,
    *,
    run_id: UUID,
    own: UUID,
    up_to: int,
    in_run: bool,
    limit: int,
) -> list[SameCase]:
    """Evaluations of the case other than `own`, with no event after `up_to`; at most `limit`.

    With `in_run` those of the run `run_id`, by model and repetition; else those of other runs, the
    newest first.
    """
    rows = connection.execute(
        _IN_THE_RUN if in_run else _ELSEWHERE,
        {"prompt": prompt_id, "run": run_id, "own": own, "up_to": up_to, "limit": limit},
    ).fetchall()
    runs = list({row[1] for row in rows})
    numbers = run_numbers(connection, runs)
    cases = []
    for row in rows:
        answer, cut = beginning(row[6])
        cases.append(
            SameCase(
                evaluation_id=row[0],
                run_number=numbers[row[1]],
                model_key=exact_text(row[2]),
                repetition=row[3],
                state=STATES[row[4]],
                class_=exact_name(row[5]),
                answer=answer,
                answer_cut=cut,
                accuracy=row[7],
                latency_ms=row[8],
                cost_usd=None if row[9] is None else float(row[9]),
                finished_at=row[10],
                carried_over=row[11],
            )
        )
    return cases
