"""`/runs/{run}/trend`: the pass rates of an experiment, attempt by attempt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from uuid import UUID

from pydantic import Field

from failproof_es.catalogue.pass_rate import PassRate, build_pass_rate
from failproof_es.console.page import Page, PageModel, PageRequest
from failproof_es.console.paging import Query
from failproof_es.core.summary import RunTotals
from failproof_es.engine.related_runs.attempts import attempts_of
from failproof_es.store.reading.reader import resolve_run
from failproof_es.support.document import Document

MOST = 100
"""Most attempts of a page."""
_MOST_ROWS = 1_000
"""Most attempts of `.jsonl` and `.csv`."""


class TrendQuery(Query):
    """The number of attempts to show."""

    attempts: int = Field(
        30, ge=1, le=MOST, description="So many attempts, the newest, and the run itself."
    )


class ModelInAttempt(Document):
    """One model in one attempt."""

    model: str
    run_number: int
    attempt: int | None
    """Number of the attempt, from 1."""
    name: str
    status: str
    started_at: datetime


class AttemptRate(ModelInAttempt):
    """One model in one attempt, for the page."""

    place: int
    """Its place among the attempts shown, from 0: the same for all models."""
    passed: PassRate
    change: float | None
    """The rate less that of the attempt before, of those shown."""


class AttemptRow(ModelInAttempt):
    """One model in one attempt, as a row of a table."""

    passed: int
    total: int
    """Evaluations that passed or failed."""
    rate: float | None
    low: float | None
    high: float | None
    change: float | None


class ModelOverRuns(Document):
    """One model over the attempts, the oldest first."""

    model: str
    points: tuple[AttemptRate, ...]


class TrendPage(PageModel):
    """The attempts of an experiment."""

    run_number: int
    name: str
    status: str
    attempts: int
    """Number of all attempts."""
    shown: int
    """Number of attempts shown: the newest that can be read, and the run itself."""
    models: tuple[ModelOverRuns, ...]


def read_trend(request: PageRequest[TrendQuery]) -> TrendPage:
    """The trend of the experiment of the run that the path names."""
    run = request.run()
    rates, attempts = _read_rates(request, run.started.originator_id, request.query.attempts)
    models = defaultdict[str, list[AttemptRate]](list)
    for rate in rates:
        models[rate.model].append(rate)
    return TrendPage.copy_of(
        run.started,
        run,
        as_of=request.as_of,
        attempts=attempts,
        shown=max((rate.place + 1 for rate in rates), default=0),
        models=tuple(ModelOverRuns(model=model, points=tuple(models[model])) for model in models),
    )


def every_rate(request: PageRequest[TrendQuery]) -> Iterator[AttemptRow]:
    """The rates of the newest attempts, at most `_MOST_ROWS` of these, by model."""
    run_id = resolve_run(request.connection, request.path["run"])
    for rate in _read_rates(request, run_id, _MOST_ROWS)[0]:
        yield AttemptRow.copy_of(rate.passed, rate)


def _read_rates(
    request: PageRequest[TrendQuery], run_id: UUID, most: int
) -> tuple[list[AttemptRate], int]:
    """The rates by model, each in the order of attempts; and the number of all attempts."""
    request.need_projections("Without them: `failproof-es show RUN`.")
    attempts = attempts_of(request.connection, run_id, most)
    places = {other.run_id: other.attempt for other in attempts.others}
    places[run_id] = attempts.attempt
    totals = request.reader.totals_of(list(places))
    runs = sorted(totals.values(), key=lambda run: run.run.started.run_number)
    models = dict.fromkeys(model for run in reversed(runs) for model in run.models)
    rates = [rate for model in models for rate in _rates_of(model, runs, places)]
    return rates, attempts.attempts


def _rates_of(
    model: str, runs: Sequence[RunTotals], places: dict[UUID, int | None]
) -> Iterator[AttemptRate]:
    before = None
    for place, run in enumerate(runs):
        if model not in run.models:
            continue
        passed = build_pass_rate(run.clusters[model], run.models[model].unscored)
        yield AttemptRate.copy_of(
            run.run.started,
            run.run,
            model=model,
            attempt=places[run.run_id],
            started_at=run.run.started.timestamp,
            place=place,
            passed=passed,
            change=None if before is None or passed.rate is None else passed.rate - before,
        )
        before = before if passed.rate is None else passed.rate


PAGE = Page(
    name="trend",
    path="/runs/{run}/trend",
    word="Trend",
    says="How the pass rates of an experiment went, attempt by attempt, with intervals.",
    read=read_trend,
    rows=every_rate,
)
