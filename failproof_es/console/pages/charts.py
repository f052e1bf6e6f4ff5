"""`/runs/{run}/charts`: one run in pictures, each with the numbers it is drawn from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from failproof_es.catalogue.pass_rate import PassRate, build_model_pass_rate
from failproof_es.console.page import Page, PageModel, PageRequest
from failproof_es.console.paging import Query
from failproof_es.core.severity import severity_order
from failproof_es.core.summary import RunSummary
from failproof_es.core.tally import Group
from failproof_es.reading.overviews.distributions import (
    FinishedOverTime,
    Spread,
    drawn_of,
    finished_over_time,
    spreads_of,
)
from failproof_es.report.data.analysis import NO_SEVERITY
from failproof_es.store.reading.archives import require_attached
from failproof_es.support.document import Document


class RateOf(Document):
    """The pass rate of one model in one suite, or over all of them."""

    model: str
    suite: str
    passed: PassRate


class FailedWhere(Document):
    """Failures of one model in one category and severity."""

    model: str
    category: str
    severity: str
    failed: int
    total: int


class CostOf(Document):
    """Cost of the answers of one model or judge; `None` where one of them is unknown."""

    asked: str
    answers: int
    unpriced: int
    cost_usd: float | None
    possibly_charged: int


class ChartsPage(PageModel):
    """Everything that is drawn of a run."""

    run_number: int
    name: str
    status: str
    remarks: tuple[str, ...]
    """Remarks that qualify its numbers."""
    planned_of_a_model: int
    overall: tuple[RateOf, ...]
    suites: tuple[RateOf, ...]
    failures: tuple[FailedWhere, ...]
    drawn: int | None
    """Size of the sample of evaluations in `spreads` and `progress` of a large run, drawn by the
    digests of their cases; `None`: all of them."""
    spreads: tuple[Spread, ...]
    costs: tuple[CostOf, ...]
    progress: tuple[FinishedOverTime, ...]


def read_charts(request: PageRequest[Query]) -> ChartsPage:
    """The charts of the run that the path names."""
    connection = request.connection
    request.need_projections("Without them: `failproof-es report`.")
    run = request.run()
    summary, started = request.reader.summary(run, messages=0, reviews=False), run.started
    run_id = started.originator_id
    require_attached(connection, run_id)
    drawn = drawn_of(connection, started)
    return ChartsPage.copy_of(
        started,
        run,
        as_of=request.as_of,
        remarks=request.remarks_on(run),
        planned_of_a_model=summary.planned // max(len(summary.models), 1),
        overall=tuple(
            RateOf(model=model, suite="all suites", passed=build_model_pass_rate(summary, model))
            for model in summary.models
        ),
        suites=tuple(
            RateOf(model=model, suite=suite, passed=build_model_pass_rate(summary, model, suite))
            for model, suite in sorted(summary.by_suite(), key=lambda pair: (pair[1], pair[0]))
        ),
        failures=tuple(_failures(summary)),
        drawn=None if drawn is None else len(drawn),
        spreads=spreads_of(connection, run_id, drawn),
        costs=tuple(
            CostOf.copy_of(spent, asked=key, cost_usd=summary.cost_of(key))
            for key, spent in summary.counts.spending.items()
        ),
        progress=finished_over_time(connection, run_id, started.timestamp, drawn),
    )


def _failures(summary: RunSummary) -> Iterator[FailedWhere]:
    cells = defaultdict[tuple[str, str, str], Group](Group)
    for key, group in summary.counts.groups.items():
        category, severity = key.category or key.suite_id, key.severity or NO_SEVERITY
        cells[key.model_key, category, severity].include(group)
    for cell in sorted(cells, key=lambda cell: (cell[0], cell[1], severity_order(cell[2]))):
        (model, category, severity), group = cell, cells[cell]
        yield FailedWhere(
            model=model,
            category=category,
            severity=severity,
            failed=group.failed,
            total=group.passed + group.failed,
        )


PAGE = Page(
    name="charts",
    path="/runs/{run}/charts",
    word="Charts",
    says="A run in pictures, each with the numbers it is drawn from.",
    read=read_charts,
    streamed=True,
)
