"""Figures by people: their decisions on the evaluations that were left to them.

Every figure has its counts; a rate is over those that people passed or failed, with an interval
over independent cases.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from failproof_es.core.case import FAMILY, Case
from failproof_es.core.people import OUTCOMES, ReviewStatus
from failproof_es.core.severity import severity_of, severity_order
from failproof_es.reading.recorded_run import PlannedOutcome, RecordedRun
from failproof_es.support.extras import is_installed
from failproof_es.support.percentages import ratio

PeopleDimension = Literal["overall", "severity", "category", "tag"]
DIMENSIONS: tuple[PeopleDimension, ...] = ("overall", "severity", "category", "tag")
ALL_CASES = "all cases"


@dataclass(frozen=True, slots=True)
class PeopleFigure:
    """Decisions of people on one model's evaluations in a group that `dimension` and `name` give.

    `severity` and `high` are the cases of high severity; `overall` has all cases. Evaluations that
    were not left to people are not counted.
    """

    model: str
    dimension: PeopleDimension
    name: str
    passed: int
    failed: int
    unclear: int
    disputed: int
    awaiting_review: int
    rate: float | None
    """Passed of those passed or failed; `None` where people decided nothing."""
    interval: tuple[float, float] | None
    """At 95 %; `None` of nothing, and without the extra `report`, which computes it."""
    method: str | None
    """The method of the interval."""
    clusters: int
    """Independent cases and families among those decided."""

    @property
    def decided(self) -> int:
        """Number of evaluations that people passed or failed."""
        return self.passed + self.failed

    def as_json(self) -> dict[str, Any]:
        """The counts (`n`: those decided), the rate, and its interval as [low, high] or `None`."""
        return {
            "passed": self.passed,
            "failed": self.failed,
            "unclear": self.unclear,
            "disputed": self.disputed,
            "awaiting_review": self.awaiting_review,
            "n": self.decided,
            "rate": self.rate,
            "interval": None if self.interval is None else list(self.interval),
            "method": self.method,
            "clusters": self.clusters,
        }


@dataclass(slots=True)
class _Group:
    """The counts of a group by people's decision, and the clusters of the evaluations decided."""

    counts: Counter[str] = field(default_factory=Counter)
    passed: list[bool] = field(default_factory=list)
    clusters: list[tuple[str, str]] = field(default_factory=list)

    def add(self, case: Case, status: ReviewStatus) -> None:
        self.counts[OUTCOMES[status]] += 1
        if status in ("pass", "fail"):
            self.passed.append(status == "pass")
            self.clusters.append(case.family)

    def figure(self, model: str, dimension: PeopleDimension, name: str) -> PeopleFigure:
        passed, decided = sum(self.passed), len(self.passed)
        interval, method = _interval(self.passed, self.clusters)
        return PeopleFigure(
            model=model,
            dimension=dimension,
            name=name,
            passed=passed,
            failed=decided - passed,
            unclear=self.counts["unclear"],
            disputed=self.counts["disputed"],
            awaiting_review=self.counts["awaiting_review"],
            rate=ratio(passed, decided),
            interval=interval,
            method=method,
            clusters=len(set(self.clusters)),
        )


def people_figures(run: RecordedRun) -> tuple[PeopleFigure, ...]:
    """The figures of each model: overall, by severity, by category and by tag.

    Empty, without reading the run's evaluations, if nothing was left to people.
    """
    if not run.summary.total.awaiting:
        return ()
    return figures_of(run.outcomes(), run.summary.models)


def figures_of(
    evaluations: Iterable[PlannedOutcome], models: Sequence[str]
) -> tuple[PeopleFigure, ...]:
    """The figures of the evaluations left to people, by model in the order of `models`.

    Evaluations without a review status are ignored; each model of the others must be in `models`.
    Reads nothing from the database.
    """
    groups: defaultdict[tuple[str, PeopleDimension, str], _Group] = defaultdict(_Group)
    for _, case, outcome, status in evaluations:
        if status is not None:
            for dimension, name in _memberships(case):
                groups[outcome.model_key, dimension, name].add(case, status)
    ordered = sorted(
        groups,
        key=lambda key: (models.index(key[0]), DIMENSIONS.index(key[1]), _name_order(*key[1:])),
    )
    return tuple(groups[key].figure(*key) for key in ordered)


def _name_order(dimension: PeopleDimension, name: str) -> tuple[int, str]:
    return severity_order(name) if dimension == "severity" else (0, name)


def _memberships(case: Case) -> Iterator[tuple[PeopleDimension, str]]:
    """(dimension, name) of the groups of a case. A family tag makes no group, but a cluster."""
    yield "overall", ALL_CASES
    if (severity := severity_of(case)) is not None:
        yield "severity", severity
    if case.category is not None:
        yield "category", case.category
    for tag in dict.fromkeys(case.tags):
        if not tag.startswith(FAMILY):
            yield "tag", tag


def _interval(
    passed: Sequence[bool], clusters: Sequence[tuple[str, str]]
) -> tuple[tuple[float, float] | None, str | None]:
    """The interval of the rate and its method; `None` for nothing or without the extra `report`."""
    if not passed or not is_installed("report"):
        return None, None
    from failproof_es.support.statistics import rate  # scipy takes a third of a second

    interval = rate(passed, clusters).interval
    return (None, None) if interval is None else ((interval.low, interval.high), interval.method)
