"""Converts a run to one JSON document: all of its own stream except the planned cases."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import orjson

from failproof_es.core.run import Run
from failproof_es.events import (
    EVENTS,
    Counts,
    LimitChanged,
    ModelPrices,
    RunImported,
    RunStarted,
    RunValidated,
    SpendCeilingChanged,
)


def run_document(run: Run) -> str:
    """The run as JSON, from which `run_of` makes it again."""
    said = {
        "version": run.version,
        "manifest": run.started.model_dump(mode="json"),
        "last": None if run.last is None else run.last.__name__,
        "chunks": run.chunks,
        "planned_cases": run.planned_cases,
        "skipped": run.skipped,
        "prices": [each.model_dump(mode="json") for each in run.prices.values()],
        "status": run.status,
        "reason": run.reason,
        "counts": None if run.counts is None else run.counts.model_dump(mode="json"),
        "gates": run.gates,
        "ended_at": run.ended_at,
        "validation": None if run.validation is None else run.validation.model_dump(mode="json"),
        "sealed": run.sealed,
        "limits": {name: each.model_dump(mode="json") for name, each in run.limits.items()},
        "imported": run.imported and run.imported.model_dump(mode="json"),
        "spend_ceiling": run.spend_ceiling and run.spend_ceiling.model_dump(mode="json"),
        "at_ceiling": run.at_ceiling,
    }
    return orjson.dumps(said).decode()


def run_of(document: str) -> Run:
    """The run that a document holds."""
    said: dict[str, Any] = orjson.loads(document)
    counts, validation = said["counts"], said["validation"]
    ceiling, imported = said["spend_ceiling"], said["imported"]
    limits = {name: LimitChanged.model_validate(each) for name, each in said["limits"].items()}
    return replace(
        Run(),
        version=said["version"],
        manifest=RunStarted.model_validate(said["manifest"]),
        last=EVENTS.get(said["last"]),
        chunks=said["chunks"],
        planned_cases=said["planned_cases"],
        skipped=said["skipped"],
        prices=prices_of(said["prices"]),
        status=said["status"],
        reason=said["reason"],
        counts=None if counts is None else Counts.model_validate(counts),
        gates=said["gates"],
        ended_at=None if said["ended_at"] is None else datetime.fromisoformat(said["ended_at"]),
        validation=None if validation is None else RunValidated.model_validate(validation),
        sealed=said["sealed"],
        imported=None if imported is None else RunImported.model_validate(imported),
        limits=limits,
        spend_ceiling=None if ceiling is None else SpendCeilingChanged.model_validate(ceiling),
        at_ceiling=said["at_ceiling"],
    )


def prices_of(said: list[Any]) -> dict[str, ModelPrices]:
    """Prices by the key of their model or judge."""
    models = [ModelPrices.model_validate(each) for each in said]
    return {each.model_key: each for each in models}
