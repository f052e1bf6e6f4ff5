"""A run's progress as JSON for programs: one object a line (specification 001 § 8.1)."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import orjson

from failproof_es.cli.progress_state import ModelProgress, ProgressState, RateLimit, share
from failproof_es.cli.sanitise import json_text

ERROR_GROUPS = 20
"""So many, most frequent first: a line a second should stay short."""


def json_line(state: ProgressState) -> str:
    """How the run stands, as one JSON object on one line."""
    return json_text(orjson.dumps(progress_object(state), option=orjson.OPT_UTC_Z).decode())


def progress_object(state: ProgressState) -> dict[str, Any]:
    """How the run stands. What is not known is `None`, never 0; rates of errors are 0 to 1."""
    models = list(state.models.values())
    scored = sum(model.scored for model in models)
    abandoned = sum(model.abandoned for model in models)
    rows = [_row(state, model) for model in models]
    return {
        "event": "progress",
        "timestamp": datetime.now(UTC),
        "test_run_id": state.run_id,
        "details": {
            "run_number": state.run_number,
            "name": state.name,
            "phase": state.phase,
            "elapsed_s": round(state.elapsed_s, 3),
            "planned": state.planned,
            "finished": state.finished,
            "scored": scored,
            "errors": abandoned,
            "awaiting_review": (awaiting := sum(model.awaiting for model in models)),
            "error_rate": share(abandoned, scored + abandoned + awaiting),
            "cost_usd": _sum_or_none([row["cost_usd"] for row in rows]),
            "seconds_left": state.seconds_left,
            "models": rows,
            "error_groups": [asdict(group) for group in state.errors.most_frequent(ERROR_GROUPS)],
            "judges": [
                {"judge": key.removeprefix("judge:"), **_limit(limit)}
                for key, limit in state.judge_limits().items()
            ],
        },
    }


def _row(state: ProgressState, model: ModelProgress) -> dict[str, Any]:
    pace = state.pace(model.key)
    return {
        "model": model.key,
        "planned": model.planned,
        "finished": model.finished,
        "scored": model.scored,
        "passed": model.passed,
        "refused": model.refused,
        "carried_over": model.carried_over,
        "errors": model.abandoned,
        "awaiting_review": model.awaiting,
        "error_rate": model.error_rate,
        "retries": model.retries,
        "in_flight": len(model.in_flight),
        "per_second": pace.per_second,
        "cost_usd": model.cost_usd,
        "seconds_left": pace.seconds_left,
        **_limit(state.rate_limit(model.key)),
    }


def _limit(limit: RateLimit) -> dict[str, Any]:
    return {"limit": limit.allowed, "ceiling": limit.ceiling, "held_until": limit.held_until}


def _sum_or_none(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
