"""`/runs/{run}`: how one run is going, or how it went."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from failproof_es.catalogue.run import RunDocument
from failproof_es.catalogue.run_document import run_document
from failproof_es.console.page import Page, PageRequest
from failproof_es.console.paging import Query
from failproof_es.console.parts.run import (
    MOST_FAILED_GROUPS,
    MOST_READ,
    ModelTrend,
    RunPage,
    failed_groups,
    next_steps,
)
from failproof_es.core.summary import RunSummary
from failproof_es.reading.listed_runs import change_since_before, trends_of
from failproof_es.reading.recorded_run import RecordedRun

MOST_MESSAGES = 100
"""Most distinct messages of failed requests that are read: the most frequent."""


def read_run(request: PageRequest[Query]) -> RunPage:
    """The run that the path names: by its number, its id, or as `latest`."""
    run = request.run()
    recorded = RecordedRun(request.connection, run, request.reader, messages=MOST_MESSAGES)
    document = run_document(recorded, request.as_of, most_read=MOST_READ)
    failed = failed_groups(recorded.summary)
    return RunPage(
        **dict(document),
        shape=shape_of(recorded.summary),
        trends=tuple(_trends(request, document)),
        failed_most=tuple(failed[:MOST_FAILED_GROUPS]),
        more_failed=sum(group.failed for group in failed[MOST_FAILED_GROUPS:]),
        next_steps=tuple(next_steps(run, recorded.summary, document.undriven)),
    )


def _trends(request: PageRequest[Query], document: RunDocument) -> Iterator[ModelTrend]:
    attempts = document.attempts
    if attempts.attempts == 1:
        return
    trends = trends_of(request.connection, request.reader, [attempts.experiment])
    for model in document.models:
        if points := trends.get((attempts.experiment, model.key)):
            change = change_since_before(points, document.run_number)
            yield ModelTrend(model=model.key, points=points, change=change)


def shape_of(summary: RunSummary) -> str:
    """Fingerprint of the rows and columns of a run's page; numbers alone do not change it."""
    shape = (
        summary.run.version,
        sorted(name for name, count in summary.total.classes.items() if count),
        len(summary.messages()) + summary.more_messages,
        [key for key, count in sorted(summary.counts.unscored.items()) if count],
        sorted(key[:2] for key in summary.counts.groups),
        [model for model in summary.models if summary.group(model=model).pass_rate is None],
        [key for key, group in summary.by_suite().items() if group.pass_rate is None],
        (summary.cost_usd is None, summary.latency_ms(50) is None),
    )
    return sha256(repr(shape).encode("utf-8", "backslashreplace")).hexdigest()[:16]


PAGE = Page(
    name="run",
    path="/runs/{run}",
    says="How a run is going, or how it went.",
    read=read_run,
)
