"""The summary of a run: its groups (`core.tally` has their rates), costs and latencies. Pure.

`RunSummary` is the one definition: the projections store its counts, folding the log computes them,
and all code that prints, compares or judges a run reads it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from operator import itemgetter
from statistics import fmean
from typing import NamedTuple, Protocol
from uuid import UUID

from failproof_es.core.clusters import Clustered, ClusterSums, SharedClusters
from failproof_es.core.costs import Spent, priced
from failproof_es.core.exact_numbers import exact
from failproof_es.core.latencies import latency_bucket, percentile_ms
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.core.run import Run
from failproof_es.core.severity import severity_of
from failproof_es.core.tally import Group, ModelTally
from failproof_es.core.unscored import UnscoredGroup, UnscoredKey


class Grouped(Clustered, Protocol):
    """The attributes of a case that select its group and cluster."""

    @property
    def category(self) -> str | None: ...

    @property
    def severity(self) -> str | None: ...

    @property
    def tags(self) -> Sequence[str]: ...


class GroupKey(NamedTuple):
    """The attributes that all evaluations of a group share: model, suite, category, severity."""

    model_key: str
    suite_id: str
    category: str | None
    severity: str | None

    @classmethod
    def of(cls, model_key: str, case: Grouped) -> GroupKey:
        """The group of an evaluation of this case by this model."""
        return cls(model_key, case.suite_id, case.category, severity_of(case))


class ErrorKey(NamedTuple):
    """The attributes that failed requests share if they are counted together."""

    model_key: str
    """The key of the model or judge that was asked."""
    kind: str
    message: str
    """The server's message, in one line."""


@dataclass(slots=True)
class RequestStats:
    """Requests on behalf of one model under test: to it, and to the judges of its answers.

    The requests of carried-over evaluations belong to another run and are not counted.
    """

    requests: int = 0
    answers: int = 0
    errors: int = 0
    """Requests that failed."""
    retries: int = 0
    """Requests that repeated a failed or orphaned one."""
    orphaned_requests: int = 0
    """Requests whose outcome nobody recorded, because the process died."""
    in_flight: int = 0
    """Evaluations with a request that waits for its outcome."""
    carried_over: int = 0
    """Number of evaluations carried over from another run."""

    def add(self, outcome: EvaluationOutcome, times: int = 1) -> None:
        """Add the requests of one evaluation of this run; with `times=-1` subtract them."""
        self.requests += times * outcome.requests
        self.answers += times * outcome.answers
        self.errors += times * len(outcome.errors)
        self.retries += times * outcome.retries
        self.orphaned_requests += times * outcome.orphaned_requests
        self.in_flight += times * outcome.in_flight

    def include(self, other: RequestStats, times: int = 1) -> None:
        """Add the counts of `other`; with `times=-1` subtract them."""
        self.requests += times * other.requests
        self.answers += times * other.answers
        self.errors += times * other.errors
        self.retries += times * other.retries
        self.orphaned_requests += times * other.orphaned_requests
        self.in_flight += times * other.in_flight
        self.carried_over += times * other.carried_over


@dataclass(slots=True)
class RunCounts:
    """The additive counts of a run: sums over its evaluations, in any order."""

    groups: dict[GroupKey, Group] = field(default_factory=dict)
    asking: dict[str, RequestStats] = field(default_factory=dict)
    """Requests by the key of the model under test."""
    spending: dict[str, Spent] = field(default_factory=dict)
    """Usage by the key of the model or judge that answered, without carried-over answers."""
    errors: Counter[ErrorKey] = field(default_factory=Counter)
    """Failed requests of this run."""
    unscored: Counter[UnscoredKey] = field(default_factory=Counter)
    """Evaluations that ended without a score."""
    latencies: Counter[int] = field(default_factory=Counter)
    """Answers of the models under test in this run by `latency_bucket` of their time."""
    impossible: int = 0
    """Evaluations whose record cannot be true or be read."""
    clusters: SharedClusters | None = field(default_factory=SharedClusters)
    """The clusters for intervals of rates; `None` if no interval is needed."""

    def add(self, outcome: EvaluationOutcome, case: Grouped, times: int = 1) -> None:
        """Add one evaluation of this case in the state `outcome`; with `times=-1` subtract it."""
        self.add_without_spending(outcome, case, times)
        for key, spent in outcome.spending.items():
            if key not in self.spending:
                self.spending[key] = Spent()
            self.spending[key].include(spent, times)

    def add_without_spending(
        self, outcome: EvaluationOutcome, case: Grouped, times: int = 1
    ) -> None:
        """Like `add` without `spending`, for callers that group usage by more than the model."""
        self.impossible += times * (outcome.impossible is not None)
        if outcome.status == "planned":
            return
        model = outcome.model_key
        if outcome.carried_over:
            self._asking(model).carried_over += times
        else:
            if outcome.requests or outcome.errors:  # an imported evaluation has none
                self._asking(model).add(outcome, times)
            for error in outcome.errors:
                self.errors[ErrorKey(error.judge or model, error.kind, error.message)] += times
            for latency_ms in outcome.response_ms:
                self.latencies[latency_bucket(latency_ms)] += times
        if outcome.finished:
            key = GroupKey.of(model, case)
            group = self.groups.get(key)
            if group is None:
                group = self.groups[key] = Group()
            add_to_group(group, outcome, times)
            if (unscored := outcome.unscored_as) is not None:
                kind = outcome.ended_kind or ""
                self.unscored[UnscoredKey(model, unscored, kind, outcome.reason)] += times
            if self.clusters is not None:
                self.clusters.add(model, case, outcome.passed, times)

    def _asking(self, model: str) -> RequestStats:
        stats = self.asking.get(model)
        if stats is None:
            stats = self.asking[model] = RequestStats()
        return stats

    def include(self, other: RunCounts, times: int = 1) -> None:
        """Add the counts of `other`; with `times=-1` subtract them.

        Its clusters must not be settled.
        """
        for key, group in other.groups.items():
            self.groups.setdefault(key, Group()).include(group, times)
        for model, asking in other.asking.items():
            self.asking.setdefault(model, RequestStats()).include(asking, times)
        for model_key, spent in other.spending.items():
            self.spending.setdefault(model_key, Spent()).include(spent, times)
        for error, count in other.errors.items():
            self.errors[error] += times * count
        for unscored, count in other.unscored.items():
            self.unscored[unscored] += times * count
        for bucket, count in other.latencies.items():
            self.latencies[bucket] += times * count
        self.impossible += times * other.impossible
        if self.clusters is not None and other.clusters is not None:
            self.clusters.include(other.clusters, times)


@dataclass(frozen=True, slots=True)
class RunTotals:
    """The sums of a run for a list of runs, without their parts."""

    run: Run
    total: Group
    """All finished evaluations. The groups here have no `classes`."""
    models: Mapping[str, Group]
    """The finished evaluations of each model under test, in the order of the configuration."""
    cost_usd: Decimal | None
    """The costs, like `RunSummary.cost_usd`."""
    spending: Mapping[str, Spent]
    """Usage by the key of the model or judge that answered, like `RunCounts.spending`."""
    clusters: Mapping[str, ClusterSums]
    """Cluster sums by model, like `RunSummary.cluster_sums`."""

    @property
    def run_id(self) -> UUID:
        """The run's id, which is also the id of its stream."""
        return self.run.started.originator_id


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """The summary of one run, at the position of the log at which it was read."""

    run: Run
    """The state of the run's own stream: manifest, status, gates, validation, prices, limits."""
    counts: RunCounts
    reviews: Mapping[str, int] = field(default_factory=dict)
    """Number of evaluations left to people, by `core.people.ReviewStatus`."""
    as_of: int | None = None
    """The position of the log up to which it was read; `None` for all of it."""
    more_messages: int = 0
    """Number of messages of failed requests that the counts lack, because fewer were requested."""
    _suites: dict[tuple[str, str], Group] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    """Cache of the groups by model and suite, from which all other sums are computed."""

    @property
    def run_id(self) -> UUID:
        """The run's id, which is also the id of its stream."""
        return self.run.started.originator_id

    @property
    def models(self) -> tuple[str, ...]:
        """The keys of the models under test, in the order of the configuration."""
        return tuple(model.key for model in self.run.started.models)

    @property
    def planned(self) -> int:
        """Evaluations of all models: cases x models x repetitions."""
        return self.run.started.planned_evaluations

    @property
    def total(self) -> Group:
        """The counts of the finished evaluations of all models and suites."""
        return self.group()

    def group(self, *, model: str | None = None, suite: str | None = None) -> Group:
        """The counts of the finished evaluations of this model and suite; `None` means all."""
        return _sum_of(
            group
            for (its_model, its_suite), group in self._by_suite().items()
            if model in (None, its_model) and suite in (None, its_suite)
        )

    def cluster_sums(self, model: str, suite: str | None = None) -> ClusterSums:
        """The sums over clusters for the interval of a model's pass rate.

        In this suite; `None` means all suites.
        """
        assert self.counts.clusters is not None, "clusters were not counted"
        shared = self.counts.clusters.sums(model, suite)
        group = self.group(model=model, suite=suite)
        failed = group.failed - (shared.size - shared.passed)
        return shared.plus(ClusterSums.alone(group.passed - shared.passed, failed))

    def by_suite(self) -> dict[tuple[str, str], Group]:
        """The counts of the finished evaluations by (model key, suite id), sorted by both."""
        sums = sorted(self._by_suite().items(), key=itemgetter(0))
        return {key: _sum_of([group]) for key, group in sums}

    def _by_suite(self) -> dict[tuple[str, str], Group]:
        if not self._suites:
            for key, group in self.counts.groups.items():
                self._suites.setdefault((key.model_key, key.suite_id), Group()).include(group)
        return self._suites

    def mean_of_suites(self, model: str | None = None) -> float | None:
        """The unweighted mean of the suites' accuracies, of this model; `None` means all models.

        `None` if no suite has an accuracy.
        """
        suites = dict.fromkeys(key.suite_id for key in self.counts.groups)
        accuracies = (self.group(model=model, suite=suite).accuracy for suite in suites)
        means = sorted(accuracy for accuracy in accuracies if accuracy is not None)
        return fmean(means) if means else None

    def mean_of_suites_bounds(self, model: str | None = None) -> tuple[float, float] | None:
        """`mean_of_suites` if all unscored evaluations had failed, and if all had passed.

        `None` without unscored evaluations.
        """
        suites = dict.fromkeys(key.suite_id for key in self.counts.groups)
        rates = [self.group(model=model, suite=suite).bounded_accuracy for suite in suites]
        if not any(rate.unscored for rate in rates):
            return None
        ends = [
            rate.bounds or (rate.rate, rate.rate) for rate in rates if rate.scored or rate.unscored
        ]
        return fmean(low or 0.0 for low, _ in ends), fmean(high or 0.0 for _, high in ends)

    def asking(self, model: str | None = None) -> RequestStats:
        """The requests on behalf of this model; `None` means all."""
        total = RequestStats()
        for key, stats in self.counts.asking.items():
            if model in (None, key):
                total.include(stats)
        return total

    @property
    def spent(self) -> Spent:
        """The usage of all answers and requests of this run, judges' included."""
        total = Spent()
        for spent in self.counts.spending.values():
            total.include(spent)
        return total

    @property
    def cost_usd(self) -> Decimal | None:
        """The cost of all answers of this run in US dollars; `None` if `unpriced` is not empty."""
        return None if self.unpriced else self.spent.cost_usd

    def cost_of(self, key: str) -> Decimal | None:
        """The cost of all answers of this model or judge in US dollars, 0 without any; `None` if
        it is among `unpriced`."""
        return None if key in self.unpriced else self.spent_on(key).cost_usd

    def spent_on(self, key: str) -> Spent:
        """The usage of all answers and requests of this model or judge; do not change it."""
        return self.counts.spending.get(key) or Spent()

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Models without a price, and models and judges with an answer whose cost is not known."""
        prices = self.run.prices or {}
        models = {key for key in self.models if not priced(prices, [key])}
        return tuple(
            sorted(models | {k for k, spent in self.counts.spending.items() if spent.unpriced})
        )

    @property
    def totals(self) -> RunTotals:
        """The sums of the run for a list of runs."""
        total, models = self.total, {key: self.group(model=key) for key in self.models}
        for group in (total, *models.values()):
            group.classes.clear()
        clusters = {key: self.cluster_sums(key) for key in self.models}
        return RunTotals(self.run, total, models, self.cost_usd, self.counts.spending, clusters)

    @property
    def brief(self) -> RunSummary:
        """The summary without messages of failed requests and without reviews."""
        counts = replace(self.counts, errors=Counter())
        return replace(self, counts=counts, reviews={}, more_messages=0)

    def unscored(self, model: str | None = None) -> Counter[UnscoredGroup]:
        """Evaluations of this model, or of all, that ended without a score, by their group."""
        groups: Counter[UnscoredGroup] = Counter()
        for key, count in self.counts.unscored.items():
            if count and model in (None, key.model_key):
                groups[key.group] += count
        return groups

    def model_tally(self, model: str) -> ModelTally:
        """The counts of one model's evaluations, for its gates."""
        tally = ModelTally(self.planned // len(self.models))
        for key, group in self.counts.groups.items():
            if key.model_key != model:
                continue
            tally.everything.include(group)
            for groups, name in (
                (tally.suites, key.suite_id),
                (tally.categories, key.category),
                (tally.severities, key.severity),
            ):
                if name is not None:
                    groups.setdefault(name, Group()).include(group)
        for unscored, count in sorted(self.counts.unscored.items()):
            if unscored.model_key == model and count:
                tally.unscored[unscored] += count
        return tally

    def latency_ms(self, percent: float) -> float | None:
        """The latency in milliseconds at this percentile, from 0 to 100, of the answers of all
        models under test (not of judges), each turn of a conversation by itself.

        To three significant digits; `None` without answers.
        """
        return percentile_ms(self.counts.latencies, percent)

    def messages(self) -> Sequence[tuple[ErrorKey, int]]:
        """The messages of failed requests with their counts, the most frequent first."""
        error_counts = ((key, count) for key, count in self.counts.errors.items() if count)
        return sorted(error_counts, key=lambda error_count: (-error_count[1], error_count[0]))


def _sum_of(groups: Iterable[Group]) -> Group:
    """The sum of the groups, as a new group that the caller may change."""
    total = Group()
    for group in groups:
        total.include(group)
    return total


def add_to_group(group: Group, outcome: EvaluationOutcome, times: int = 1) -> None:
    """Add one finished evaluation to a group; with `times=-1` subtract it."""
    accuracy = outcome.accuracy
    # It can raise: before anything is counted.
    measured = None if accuracy is None else exact(accuracy)
    group.finished += times
    if outcome.status == "scored":
        group.scored += times
    else:
        group.abandoned += times
    group.awaiting += times * outcome.awaiting_review
    group.lost += times * outcome.lost
    group.cases += times * (outcome.repetition == 1)
    group.passed += times * (outcome.passed is True)
    group.failed += times * (outcome.passed is False)
    if measured is not None:
        group.measured += times
        if measured:
            group.accuracy_sum += measured if times == 1 else measured * times
    if outcome.class_ is not None:
        group.classes[outcome.class_] += times
