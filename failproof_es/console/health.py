"""`/healthz` and `/metrics`: whether the database answers, and how far its followers are behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from threading import Lock
from typing import Any, Literal, LiteralString

import psycopg
from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict
from starlette.responses import PlainTextResponse, Response

from failproof_es.assurance.protection_status import unsigned_events
from failproof_es.console.database import ConsoleBusy, ReadOnlyDatabase
from failproof_es.console.security.token import HEALTH, METRICS
from failproof_es.engine.workers.presence import list_workers
from failproof_es.store.reading.reader import Connection, max_position
from failproof_es.store.schema.queue_schema import has_queue
from projections.positions import read_positions

_MAX_AGE_S = 1.0
"""Age of a state that is read again: `/healthz` needs no token, so anybody can ask."""
_RUNS: LiteralString = """
SELECT run.status, count(*), count(*) FILTER (WHERE run.status = 'running' AND NOT EXISTS (
    SELECT FROM failproof.lease_list AS lease
    WHERE lease.run_id = run.run_id AND lease.expires_at > clock_timestamp()
))
FROM projections.runs AS run GROUP BY run.status ORDER BY run.status
"""
_ERRORS: LiteralString = (
    "SELECT kind, sum(requests) FROM projections.run_errors GROUP BY kind ORDER BY kind"
)
_SPENT: LiteralString = (
    "SELECT coalesce(sum(priced_usd), 0), coalesce(sum(possibly_charged), 0), "
    "coalesce(sum(answers_unpriced), 0), coalesce(sum(input_tokens), 0), "
    "coalesce(sum(output_tokens), 0) FROM projections.token_usage"
)
_UNUSABLE = (ConsoleBusy, psycopg.Error)
_LISTED = " (runs that are not archived)."
Samples = Mapping[str, Any]
"""The values of a metric by the value of its label; of one without a label by the empty text."""


class Health(BaseModel):
    """Whether the database answers, and how far its followers are behind."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: Literal["ok", "no database"]
    projections_behind: int | None = None
    """Positions of the log that the projections have not read; `None` without them."""
    unsigned: int | None = None
    """Events that no checkpoint signs; at most so many in a log that is far behind."""


def add_health(app: FastAPI, database: ReadOnlyDatabase) -> None:
    """Register both routes."""
    reading = HealthReader(database)

    def healthz() -> Response:
        health = reading.health()
        status = 200 if health.status == "ok" else 503
        return Response(health.model_dump_json(), status, media_type="application/json")

    def metrics() -> Response:
        text = "".join(_metric(*metric) for metric in reading.metrics())
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    app.add_api_route(HEALTH, healthz, include_in_schema=False)
    app.add_api_route(METRICS, metrics, include_in_schema=False)


class HealthReader:
    """Reads the state of the database, at most once a second."""

    def __init__(self, database: ReadOnlyDatabase, now: Callable[[], float] = time.monotonic):
        self._database = database
        self._now = now
        self._lock = Lock()
        self._health: tuple[float, Health] | None = None

    def health(self) -> Health:
        """The state now, or a second ago."""
        with self._lock:
            if self._health is None or self._now() - self._health[0] >= _MAX_AGE_S:
                health = self._read_health()  # may take seconds: who waited gets the same
                self._health = (self._now(), health)
            return self._health[1]

    def _read_health(self) -> Health:
        try:
            with self._database.snapshot() as connection:
                return _health_of(connection)
        except _UNUSABLE:
            return Health(status="no database")

    def metrics(self) -> Iterator[tuple[str, str, str, Samples]]:
        """Name, type and meaning of each metric, and its samples; raises nothing."""
        health = self.health()
        is_up = health.status == "ok"
        yield "database_up", "gauge", "Whether the database answers.", {"": int(is_up)}
        behind, unsigned = health.projections_behind, health.unsigned
        yield "projections_behind", "gauge", "Events not in the projections.", {"": behind}
        yield "unsigned_events", "gauge", "Events that no checkpoint signs.", {"": unsigned}
        try:
            with self._database.snapshot() as connection:
                yield from _counts(connection)
        except _UNUSABLE:
            return  # a missing metric is the alert


def _health_of(connection: Connection) -> Health:
    reached = [position.position for position in read_positions(connection).values()]
    behind = max_position(connection) - min(reached) if reached else None
    return Health(status="ok", projections_behind=behind, unsigned=unsigned_events(connection))


def _counts(connection: Connection) -> Iterator[tuple[str, str, str, Samples]]:
    runs = connection.execute(_RUNS).fetchall()
    idle = sum(undriven for _, _, undriven in runs)
    workers = None
    if has_queue(connection):
        workers = sum(not worker.gone for worker in list_workers(connection))
    errors = dict(connection.execute(_ERRORS).fetchall())
    [spent] = connection.execute(_SPENT).fetchall()
    cost_usd, possibly_charged, unpriced, input_tokens, output_tokens = spent
    yield "runs", "gauge", "Runs by status.", {_label("status", s): n for s, n, _ in runs}
    yield "runs_without_driver", "gauge", "Running runs that no process drives.", {"": idle}
    yield "workers", "gauge", "Workers with a recent heartbeat.", {"": workers}
    kinds = {_label("kind", kind): requests for kind, requests in errors.items()}
    # gauges, as the numbers of a run leave the projections when it is archived
    yield "failed_requests", "gauge", f"Failed requests by kind of error{_LISTED}", kinds
    meaning = f"Known cost of answers in US dollars{_LISTED}"
    yield "cost_usd", "gauge", meaning, {"": float(cost_usd)}
    unknown = {_label("why", "unpriced"): unpriced, _label("why", "unanswered"): possibly_charged}
    yield "requests_of_unknown_cost", "gauge", f"Requests of unknown cost{_LISTED}", unknown
    tokens = {
        _label("direction", "input"): input_tokens,
        _label("direction", "output"): output_tokens,
    }
    yield "tokens", "gauge", f"Tokens of answers, as far as reported{_LISTED}", tokens


def _label(name: str, value: str) -> str:
    escaped = value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'{{{name}="{escaped}"}}'


def _metric(name: str, kind: str, meaning: str, samples: Samples) -> str:
    """A metric in the text format of Prometheus; a sample of `None` is left out."""
    name = f"failproof_es_{name}"
    lines = [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
    lines += [f"{name}{label} {value}" for label, value in samples.items() if value is not None]
    return "\n".join(lines) + "\n"
