"""Computes a report's figures from observations. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from operator import attrgetter
from statistics import fmean
from typing import NamedTuple

from failproof_es.core.case import FAMILY
from failproof_es.core.severity import severity_order, severity_rank
from failproof_es.core.tally import BoundedRate
from failproof_es.core.transcript import AWAITING_REVIEW
from failproof_es.report.data.content import (
    Dimension,
    Distribution,
    Errors,
    Failed,
    Funnel,
    GroupRate,
    HeatCell,
    JudgeCoverage,
    Measure,
    Refusals,
    Stability,
)
from failproof_es.report.data.observations import UNFINISHED, Observation
from failproof_es.support.percentages import nearest_rank
from failproof_es.support.statistics import Rate, mean_interval, percentile_interval, rate

REFUSAL = "refusal"
EMPTY = "empty"
ACCURACY = "accuracy"
MEDIAN_LATENCY = "latency, 50th percentile"
"""Name of the measure."""
NO_SEVERITY = "no severity"


def by_series(observations: Iterable[Observation]) -> dict[str, list[Observation]]:
    """The observations of each series (one model in one run) by its name.

    The series are in order of first appearance; a series keeps the order of its observations.
    """
    series = defaultdict[str, list[Observation]](list)
    for observation in observations:
        series[observation.series].append(observation)
    return dict(series)


def funnel(series: str, of: Sequence[Observation], *, judged: bool) -> Funnel:
    """Numbers of evaluations of a series at each stage, and of those without a score, by reason.

    `series` is the name, `of` holds all observations of the series. Without `judged`, as in a run
    without judges, the count of the stage `judged` is `None`.
    """
    return Funnel(
        series,
        planned=len(of),
        sent=sum(seen.sent for seen in of),
        answered=sum(seen.answered for seen in of),
        classified=sum(seen.answered and seen.class_ is not None for seen in of),
        judged=sum(any(good for _, good in seen.judges) for seen in of) if judged else None,
        scored=sum(seen.unscored_reason is None for seen in of),
        losses=_count_kinds(seen.unscored_reason for seen in of),
    )


def groups(series: str, of: Sequence[Observation]) -> Iterator[GroupRate]:
    """Pass rates of a series: overall, then by suite, category, severity and tag.

    `of` holds the observations of the series; unfinished ones, and scored ones that neither pass
    nor fail, do not count. Categories are left out if they only repeat the suites, and so are tags
    that name a family: the variants of a case are one family and count as one case.
    """
    ended = [seen for seen in of if seen.passed is not None or seen.is_unscored]
    yield _group("overall", "all cases", series, ended)
    dimensions: tuple[tuple[Dimension, Callable[[Observation], Iterable[str]]], ...] = (
        ("suite", lambda seen: (seen.suite,)),
        ("category", lambda seen: (seen.category,)),
        ("severity", lambda seen: (seen.severity,) if seen.severity else ()),
        ("tag", lambda seen: (tag for tag in seen.tags if not tag.startswith(FAMILY))),
    )
    for dimension, names in dimensions:
        members: defaultdict[str, list[Observation]] = defaultdict(list)
        for observation in ended:
            for name in dict.fromkeys(names(observation)):  # a case may repeat a tag
                members[name].append(observation)
        if dimension == "category" and set(members) == {observation.suite for observation in ended}:
            continue  # the suite stands in for a missing category, and was shown
        for name in sorted(members, key=severity_order if dimension == "severity" else None):
            yield _group(dimension, name, series, members[name])


def _group(dimension: Dimension, name: str, series: str, of: Sequence[Observation]) -> GroupRate:
    pass_rate = pass_rate_of(of)
    unscored = sum(observation.is_unscored for observation in of)
    return GroupRate(dimension, name, series, pass_rate, unscored, bounds_of(pass_rate, unscored))


def bounds_of(pass_rate: Rate, unscored: int) -> tuple[float, float] | None:
    """The pass rate if all unscored had failed, and if all had passed; `None` if `unscored` is 0.

    `unscored` is the number of evaluations that ended without a score; `pass_rate` leaves them out.
    """
    return BoundedRate(Fraction(pass_rate.passed), pass_rate.total, unscored).bounds


def pass_rate_of(of: Iterable[Observation]) -> Rate:
    """The pass rate of the observations that passed or failed; its `value` is `None` if none did.

    Observations of one case, or of one family of cases, form a cluster. The figures are those of
    `catalogue.pass_rate`, which reads counts.
    """
    return _rate_of(_scored(of), lambda seen: bool(seen.passed))


def _scored(of: Iterable[Observation]) -> list[Observation]:
    return [observation for observation in of if observation.passed is not None]


def _rate_of(of: Sequence[Observation], holds: Callable[[Observation], bool]) -> Rate:
    return rate([holds(seen) for seen in of], [seen.cluster for seen in of])


def heat(series: str, of: Sequence[Observation]) -> Iterator[HeatCell]:
    """For each category and severity, how many evaluations of the series failed, and of how many.

    Sorted by both. Only evaluations that passed or failed count; cases without a severity stand
    under `NO_SEVERITY`.
    """
    cells: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    for seen in _scored(of):
        cells[seen.category, seen.severity or NO_SEVERITY].append(not seen.passed)
    for category, severity in sorted(cells, key=lambda cell: (cell[0], severity_order(cell[1]))):
        failed = cells[category, severity]
        yield HeatCell(series, category, severity, sum(failed), len(failed))


def refusals(series: str, of: Sequence[Observation]) -> Refusals:
    """The series' over-refusals (failed by refusing) and under-refusals (failed by answering).

    The latter are counted over cases that want a refusal, the former over all others. A passed case
    counts as neither: a judge may find a refusal right, or an answer to decline in words that the
    classifier does not know. An empty reply is not an answer.
    """
    scored = _scored(of)
    return Refusals(
        series,
        refused=sum(seen.class_ == REFUSAL for seen in scored),
        scored=len(scored),
        over=_rate_of(
            [seen for seen in scored if not seen.refusal_wanted],
            lambda seen: not seen.passed and seen.class_ == REFUSAL,
        ),
        under=_rate_of(
            [seen for seen in scored if seen.refusal_wanted],
            lambda seen: not seen.passed and seen.class_ not in (REFUSAL, EMPTY),
        ),
    )


def errors(series: str, of: Sequence[Observation]) -> Errors:
    """Errors of a series by kind, the most frequent first: failed requests, lost evaluations.

    An evaluation is lost if it ended without a score and does not await people.
    """
    return Errors(
        series,
        requests=_count_kinds(kind for seen in of for kind in seen.errors),
        retries=sum(seen.retries for seen in of),
        lost=_count_kinds(
            seen.unscored_reason
            for seen in of
            if seen.unscored_reason not in (UNFINISHED, AWAITING_REVIEW)
        ),
    )


def stability(series: str, of: Sequence[Observation]) -> Stability | None:
    """Rates of cases that passed all, and at least one, of their k repetitions.

    k is the highest number of scored repetitions of a case; `None` if it is below 2. A case with
    fewer than k, as after an error, is left out: fewer repetitions look more stable.
    """
    tries: dict[tuple[str, str, str], list[bool]] = defaultdict(list)
    families: dict[tuple[str, str, str], tuple[str, str]] = {}
    for seen in _scored(of):
        # pooled runs may grade the case of one id in two ways
        case = (seen.suite, seen.case, seen.question.graded)
        tries[case].append(bool(seen.passed))
        families[case] = seen.cluster
    k = max((len(outcomes) for outcomes in tries.values()), default=0)
    if k < 2:
        return None
    whole = {case: outcomes for case, outcomes in tries.items() if len(outcomes) == k}
    clusters = [families[case] for case in whole]
    return Stability(
        series,
        k,
        any_of_k=rate([any(outcomes) for outcomes in whole.values()], clusters),
        all_of_k=rate([all(outcomes) for outcomes in whole.values()], clusters),
    )


def by_judge(run_number: int, of: Sequence[Observation]) -> Iterator[JudgeCoverage]:
    """For each judge of a run, how often it was asked and how often it gave a verdict.

    `of` holds the observations of the run with this number. An evaluation counts once the judge is
    done with it.
    """
    verdicts: defaultdict[str, list[bool]] = defaultdict(list)
    for observation in of:
        for judge, came_to_one in observation.judges:
            verdicts[judge].append(came_to_one)
    for judge, outcomes in verdicts.items():
        yield JudgeCoverage(run_number, judge, len(outcomes), sum(outcomes))


def measures(series: str, of: Sequence[Observation]) -> Iterator[Measure]:
    """Mean of each score but `accuracy`, latency percentiles in ms, mean output speed in tokens/s.

    The latency percentiles are the 50th and the 95th of whole conversations, and the 50th of the
    time to the first token.
    Each measure of the series has its interval; a measure without values is left out. Observations
    of one case, or of one family of cases, form a cluster.
    """
    names = sorted({name for observation in of for name in observation.scores if name != ACCURACY})
    scores = (
        _Measured(f"mean {name}", "score", None, partial(_score_of, name=name)) for name in names
    )
    for name, unit, percent, value_of in (*scores, *_TIMES):
        having = [(seen.cluster, value) for seen in of if (value := value_of(seen)) is not None]
        if not having:
            continue
        clusters, values = zip(*having, strict=True)
        if percent is None:
            statistic, interval = fmean(values), mean_interval(values, clusters)
        else:
            statistic = sorted(values)[nearest_rank(len(values), percent) - 1]
            interval = percentile_interval(values, percent, clusters)
        yield Measure(series, name, len(values), statistic, interval, unit, len(set(clusters)))


class _Measured(NamedTuple):
    """A measure of a series: the mean of a value, or a percentile (0 to 100) of it."""

    name: str
    unit: str
    percent: float | None
    value_of: Callable[[Observation], float | None]


def _score_of(observation: Observation, name: str) -> float | None:
    return observation.scores.get(name)


_TIMES = (
    _Measured(MEDIAN_LATENCY, "ms", 50, attrgetter("latency_ms")),
    _Measured("latency, 95th percentile", "ms", 95, attrgetter("latency_ms")),
    _Measured("time to first token, 50th percentile", "ms", 50, attrgetter("first_token_ms")),
    _Measured("mean output speed", "tokens/s", None, attrgetter("tokens_per_second")),
)


def latencies(series: str, of: Sequence[Observation]) -> Distribution:
    """All latencies of the series in milliseconds, ascending; observations without one are left
    out.
    """
    values = (seen.latency_ms for seen in of if seen.latency_ms is not None)
    return Distribution(series, tuple(sorted(values)))


def failures(observations: Iterable[Observation]) -> tuple[Failed, ...]:
    """The evaluations that failed, the most severe first (`core.severity`).

    Those of one rank are ordered by their fault, the most frequent first, then by their severity,
    so that failures of one fault and severity stand together.
    """
    failures = [Failed.copy_of(seen) for seen in observations if seen.passed is False]
    counts = Counter(failed.fault for failed in failures)

    def place(failed: Failed) -> tuple[object, ...]:
        severity = failed.severity
        return severity_rank(severity), -counts[failed.fault], failed.fault, severity or ""

    return tuple(sorted(failures, key=place))


def _count_kinds(kinds: Iterable[str | None]) -> tuple[tuple[str, int], ...]:
    return tuple(Counter(kind for kind in kinds if kind is not None).most_common())
