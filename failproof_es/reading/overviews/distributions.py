"""How latencies and costs of a run are spread, and when its evaluations finished, by model."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from failproof_es.store.reading.reader import Connection
from projections.protocol import exact_text

STEPS = 100
"""The quantiles of a distribution, and the moments of a progress, besides the first of each."""

_SPREAD = """
SELECT model_key, count(latency_ms), percentile_disc(%(shares)s::float8[]) WITHIN GROUP
        (ORDER BY latency_ms) FILTER (WHERE latency_ms IS NOT NULL),
    count(cost_usd), percentile_disc(%(shares)s::float8[]) WITHIN GROUP
        (ORDER BY cost_usd) FILTER (WHERE cost_usd IS NOT NULL)
FROM projections.evaluations WHERE run_id = %(run)s AND counted
GROUP BY model_key ORDER BY model_key
"""
_FINISHED = """
WITH ends AS (
    SELECT model_key, extract(epoch FROM finished_at - %(began)s)::float8 AS s
    FROM projections.evaluations
    WHERE run_id = %(run)s AND counted AND source_run_id IS NULL AND finished_at IS NOT NULL
), whole AS (SELECT greatest(max(s), 0.001) AS s FROM ends)
SELECT model_key, least(ceil(greatest(ends.s, 0) / whole.s * %(steps)s), %(steps)s)::int AS step,
    count(*), whole.s
FROM ends, whole GROUP BY model_key, step, whole.s ORDER BY model_key, step
"""


@dataclass(frozen=True, slots=True)
class Spread:
    """The distribution of one model's evaluations: quantiles in hundredths, ascending."""

    model: str
    answers: int
    latency_ms: tuple[float, ...]
    priced: int
    cost_usd: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class FinishedOverTime:
    """How many evaluations of a model were finished after so many seconds, ascending."""

    model: str
    points: tuple[tuple[float, int], ...]


def spreads_of(connection: Connection, run_id: UUID) -> tuple[Spread, ...]:
    """By model. The database sorts the run's rows; none is fetched."""
    shares = [step / STEPS for step in range(STEPS + 1)]
    return tuple(
        Spread(
            exact_text(model),
            answers,
            tuple(map(float, latencies or ())),
            priced,
            tuple(map(float, costs or ())),
        )
        for model, answers, latencies, priced, costs in connection.execute(
            _SPREAD, {"run": run_id, "shares": shares}
        )
    )


def finished_over_time(
    connection: Connection, run_id: UUID, began: datetime
) -> tuple[FinishedOverTime, ...]:
    """By model, what this run evaluated itself: at most a hundred moments."""
    found: dict[str, list[tuple[float, int]]] = {}
    for model, step, count, whole in connection.execute(
        _FINISHED, {"run": run_id, "began": began, "steps": STEPS}
    ):
        points = found.setdefault(exact_text(model), [(0.0, 0)])
        points.append((round(whole * step / STEPS, 3), points[-1][1] + count))
    return tuple(FinishedOverTime(model, tuple(points)) for model, points in found.items())
