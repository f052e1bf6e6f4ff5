"""A run's progress as JSON for programs: one object a line (specification 001 § 8.1)."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import orjson

from failproof_es.cli.progress.model_progress import ModelProgressState, RateLimit
from failproof_es.cli.progress.state import ProgressState
from failproof_es.core.costs import Spent
from failproof_es.support.untrusted_text import json_text

ERROR_GROUPS = 20
"""Most error groups in a line, most frequent first: lines should stay short."""


def json_line(state: ProgressState) -> str:
    """The progress as one JSON object on one line, without a line feed."""
    return json_text(orjson.dumps(progress_object(state), option=orjson.OPT_UTC_Z).decode())


def progress_object(state: ProgressState) -> dict[str, Any]:
    """The progress as an object for JSON (specification 001 § 8.1).

    Unknown values are `None`, never 0. Error rates are from 0 to 1. With several models, `passed`
    and `failed` of the whole run are `None`.
    """
    rows = [_row(state, model) for model in list(state.models.values())]
    return {
        "event": "progress",
        "timestamp": datetime.now(UTC),
        "test_run_id": state.run_id,
        "details": {
            "run_number": state.run_number,
            "name": state.name,
            "phase": state.phase,
            "elapsed_s": round(state.elapsed_s, 3),
            **_figures(state.total),
            **({"passed": None, "failed": None} if len(rows) > 1 else {}),
            "max_spend_usd": None if state.max_spend_usd is None else float(state.max_spend_usd),
            "seconds_left": state.seconds_left,
            "models": rows,
            "error_groups": [asdict(group) for group in state.errors.most_frequent(ERROR_GROUPS)],
            "judges": [
                {"judge": key.removeprefix("judge:"), **_limit(limit)}
                for key, limit in state.judge_limits().items()
            ],
        },
    }


def _row(state: ProgressState, model: ModelProgressState) -> dict[str, Any]:
    pace = state.pace(model.key)
    return {
        "model": model.key,
        **_figures(model),
        "refused": model.group.classes["refusal"],
        "carried_over": model.asking.carried_over,
        "retries": model.asking.retries,
        "in_flight": len(model.in_flight),
        "per_second": pace.per_second,
        "seconds_left": pace.seconds_left,
        **_limit(state.rate_limit(model.key)),
    }


def _figures(model: ModelProgressState) -> dict[str, Any]:
    """The figures of one model, or of all together; carried-over evaluations are included."""
    group = model.group
    return {
        "planned": model.planned,
        "finished": model.finished,
        "scored": group.scored,
        "passed": group.passed,
        "failed": group.failed,
        "abandoned": group.missing,
        "lost": group.lost,
        "awaiting_review": group.awaiting,
        "error_rate": model.error_rate,
        "failed_requests": model.asking.errors,
        "tokens": _tokens(model.spent),
        "cost_usd": model.cost_usd,
        "possibly_charged": model.spent.possibly_charged,
    }


def _tokens(spent: Spent) -> dict[str, int | None]:
    return {
        "input": spent.input.reported_total,
        "output": spent.output.reported_total,
        "input_unknown": spent.input.unknown,
        "output_unknown": spent.output.unknown,
    }


def _limit(limit: RateLimit) -> dict[str, Any]:
    return {"limit": limit.allowed, "ceiling": limit.ceiling, "held_until": limit.held_until}
