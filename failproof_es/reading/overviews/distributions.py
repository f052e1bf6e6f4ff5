"""The distributions of a run's latencies and costs, and its progress over time, by model."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from failproof_es.configuration.recorded import repetitions_of
from failproof_es.core.evaluation_state import stream_number
from failproof_es.events import RunStarted
from failproof_es.store.reading.reader import Connection
from projections.protocol import exact_text

STEPS = 100
"""Number of quantiles of a distribution, and of points of a progress, after the first of each."""

_SPREAD = """
SELECT model_key, count(latency_ms), percentile_disc(%(shares)s::float8[]) WITHIN GROUP
        (ORDER BY latency_ms) FILTER (WHERE latency_ms IS NOT NULL),
    count(cost_usd), percentile_disc(%(shares)s::float8[]) WITHIN GROUP
        (ORDER BY cost_usd) FILTER (WHERE cost_usd IS NOT NULL)
FROM projections.evaluations WHERE {which} AND counted
GROUP BY model_key ORDER BY model_key
"""
_FINISHED = """
WITH ends AS (
    SELECT model_key, extract(epoch FROM finished_at - %(began)s)::float8 AS s
    FROM projections.evaluations
    WHERE {which} AND counted AND source_run_id IS NULL AND finished_at IS NOT NULL
), whole AS (SELECT greatest(max(s), 0.001) AS s FROM ends)
SELECT model_key, least(ceil(greatest(ends.s, 0) / whole.s * %(steps)s), %(steps)s)::int AS step,
    count(*), whole.s
FROM ends, whole GROUP BY model_key, step, whole.s ORDER BY model_key, step
"""


LARGE = 10_000
"""Runs with more planned evaluations are sampled."""
DRAWN = 2_500
_CASES = (
    "SELECT prompt_id FROM projections.planned_cases WHERE run_id = %s ORDER BY prompt_id LIMIT %s"
)
_WHICH = {
    False: "run_id = %(run)s",
    True: "evaluation_id = ANY (%(drawn)s::text[]::uuid[]) AND run_id = %(run)s",
}


@dataclass(frozen=True, slots=True)
class Spread:
    """The distribution of one model's latencies (milliseconds) and costs (US dollars).

    `latency_ms` (of whole conversations) and `cost_usd` are the quantiles 0 to 1 in steps of 0.01,
    empty without values; `answers` and `priced` are the numbers of evaluations with a latency and
    with a cost.
    """

    model: str
    answers: int
    latency_ms: tuple[float, ...]
    priced: int
    cost_usd: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class FinishedOverTime:
    """The progress of one model: (seconds since the beginning, finished evaluations), ascending."""

    model: str
    points: tuple[tuple[float, int], ...]


def drawn_of(connection: Connection, started: RunStarted) -> list[str] | None:
    """The ids of a sample of a large run's planned evaluations; `None` for a small run.

    A small run is read as a whole. The sample has the evaluations of the cases with the smallest
    stream ids. A stream id is derived from the case's digest, so the sample is independent of the
    questions, and the same each time. The ids are in hexadecimal, because thousands of `UUID`
    objects are slow to make and to write.
    """
    if started.planned_evaluations <= LARGE:
        return None
    models, repetitions = [model.key for model in started.models], repetitions_of(started)
    cases = max(DRAWN // (len(models) * repetitions), 1)
    return [
        f"{stream_number(started.originator_id, prompt, model, repetition):032x}"
        for (prompt,) in connection.execute(_CASES, (started.originator_id, cases)).fetchall()
        for model in models
        for repetition in range(1, repetitions + 1)
    ]


def spreads_of(
    connection: Connection, run_id: UUID, drawn: list[str] | None = None
) -> tuple[Spread, ...]:
    """The distributions by model, of the whole run or of the sample `drawn` (by `drawn_of`)."""
    shares = [step / STEPS for step in range(STEPS + 1)]
    statement = _SPREAD.format(which=_WHICH[drawn is not None])
    return tuple(
        Spread(
            exact_text(model),
            answers,
            tuple(map(float, latencies or ())),
            priced,
            tuple(map(float, costs or ())),
        )
        for model, answers, latencies, priced, costs in connection.execute(
            statement.encode(), {"run": run_id, "shares": shares, "drawn": drawn}
        )
    )


def finished_over_time(
    connection: Connection, run_id: UUID, began: datetime, drawn: list[str] | None = None
) -> tuple[FinishedOverTime, ...]:
    """The progress by model, of the whole run or of the sample `drawn` (by `drawn_of`).

    Carried-over evaluations are left out. Seconds count from `began`; the first point is (0, 0),
    and at most `STEPS` points follow.
    """
    points_by_model: dict[str, list[tuple[float, int]]] = {}
    parameters = {"run": run_id, "began": began, "steps": STEPS, "drawn": drawn}
    statement = _FINISHED.format(which=_WHICH[drawn is not None])
    for model, step, count, whole in connection.execute(statement.encode(), parameters):
        points = points_by_model.setdefault(exact_text(model), [(0.0, 0)])
        points.append((round(whole * step / STEPS, 3), points[-1][1] + count))
    return tuple(
        FinishedOverTime(model, tuple(points)) for model, points in points_by_model.items()
    )
