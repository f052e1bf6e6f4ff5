"""Computes a report's figures from observations. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from statistics import fmean

import numpy as np

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
    series: dict[str, list[Observation]] = {}
    for observation in observations:
        series.setdefault(observation.series, []).append(observation)
    return series


def funnel(series: str, of: Sequence[Observation], *, judged: bool) -> Funnel:
    """Numbers of evaluations of a series at each stage, and of those without a score, by reason.

    `series` is the name, `of` holds all observations of the series. Without `judged`, as in a run
    without judges, the count of the stage `judged` is `None`.
    """
    return Funnel(
        series,
        planned=len(of),
        sent=sum(observation.sent for observation in of),
        answered=sum(observation.answered for observation in of),
        classified=sum(
            observation.answered and observation.class_ is not None for observation in of
        ),
        judged=sum(any(good for _, good in observation.judges) for observation in of)
        if judged
        else None,
        scored=sum(observation.unscored_reason is None for observation in of),
        losses=_count_kinds(observation.unscored_reason for observation in of),
    )


def groups(series: str, of: Sequence[Observation]) -> Iterator[GroupRate]:
    """Pass rates of a series: overall, then by suite, category, severity and tag.

    `of` holds the observations of the series; unfinished ones, and scored ones that neither pass
    nor fail, do not count. Categories are left out if they only repeat the suites, and so are tags
    that name a family: the variants of a case are one family and count as one case.
    """
    ended = [
        observation
        for observation in of
        if observation.passed is not None or observation.is_unscored
    ]
    yield _group("overall", "all cases", series, ended)
    dimensions: tuple[tuple[Dimension, Callable[[Observation], Iterable[str]]], ...] = (
        ("suite", lambda observation: (observation.suite,)),
        ("category", lambda observation: (observation.category,)),
        ("severity", lambda observation: (observation.severity,) if observation.severity else ()),
        (
            "tag",
            lambda observation: (tag for tag in observation.tags if not tag.startswith(FAMILY)),
        ),
    )
    for dimension, names in dimensions:
        members: defaultdict[str, list[Observation]] = defaultdict(list)
        for observation in ended:
            for name in names(observation):
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
    scored = [observation for observation in of if observation.passed is not None]
    return rate(
        [bool(observation.passed) for observation in scored],
        [observation.cluster for observation in scored],
    )


def heat(series: str, of: Sequence[Observation]) -> Iterator[HeatCell]:
    """For each category and severity, how many evaluations of the series failed, and of how many.

    Sorted by both. Only evaluations that passed or failed count; cases without a severity stand
    under `NO_SEVERITY`.
    """
    cells: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    for observation in of:
        if observation.passed is not None:
            cells[observation.category, observation.severity or NO_SEVERITY].append(
                not observation.passed
            )
    for category, severity in sorted(cells, key=lambda cell: (cell[0], severity_order(cell[1]))):
        failed = cells[category, severity]
        yield HeatCell(series, category, severity, sum(failed), len(failed))


def refusals(series: str, of: Sequence[Observation]) -> Refusals:
    """The series' over-refusals (failed by refusing) and under-refusals (failed by answering).

    The former are counted over cases that want an answer, the latter over cases with the tag
    `refusal`. A passed case counts as neither: a judge may find a refusal right, or an answer to
    decline in words that the classifier does not know. An empty reply is not an answer.
    """
    scored = [observation for observation in of if observation.passed is not None]
    expecting_answer = [observation for observation in scored if not observation.refusal_wanted]
    expecting_refusal = [observation for observation in scored if observation.refusal_wanted]
    return Refusals(
        series,
        refused=sum(observation.class_ == REFUSAL for observation in scored),
        scored=len(scored),
        over=rate(
            [
                not observation.passed and observation.class_ == REFUSAL
                for observation in expecting_answer
            ],
            [observation.cluster for observation in expecting_answer],
        ),
        under=rate(
            [
                not observation.passed and observation.class_ not in (REFUSAL, EMPTY)
                for observation in expecting_refusal
            ],
            [observation.cluster for observation in expecting_refusal],
        ),
    )


def errors(series: str, of: Sequence[Observation]) -> Errors:
    """Errors of a series by kind, the most frequent first: failed requests, lost evaluations.

    An evaluation is lost if it ended without a score and does not await people.
    """
    return Errors(
        series,
        requests=_count_kinds(kind for observation in of for kind in observation.errors),
        retries=sum(observation.retries for observation in of),
        lost=_count_kinds(
            observation.unscored_reason
            for observation in of
            if observation.unscored_reason not in (None, UNFINISHED, AWAITING_REVIEW)
        ),
    )


def stability(series: str, of: Sequence[Observation]) -> Stability | None:
    """Rates of cases that passed all, and at least one, of their k repetitions.

    k is the highest number of scored repetitions of a case; `None` if it is below 2. A case with
    fewer than k, as after an error, is left out: fewer repetitions look more stable.
    """
    tries: dict[tuple[str, str], list[bool]] = defaultdict(list)
    families: dict[tuple[str, str], tuple[str, str]] = {}
    for observation in of:
        if observation.passed is not None:
            tries[observation.suite, observation.case].append(observation.passed)
            families[observation.suite, observation.case] = observation.cluster
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

    The latency percentiles are the 50th and the 95th, and the 50th of the time to the first token.
    Each measure of the series has its interval; a measure without values is left out.
    """
    names = sorted({name for observation in of for name in observation.scores if name != ACCURACY})
    for name in names:
        having = [
            (observation, observation.scores[name])
            for observation in of
            if name in observation.scores
        ]
        yield from _measure(series, f"mean {name}", having, "score", None)
    timed = [
        (observation, observation.latency_ms)
        for observation in of
        if observation.latency_ms is not None
    ]
    for percent in (50, 95):
        yield from _measure(series, f"latency, {percent}th percentile", timed, "ms", percent)
    firsts = [
        (observation, observation.first_token_ms)
        for observation in of
        if observation.first_token_ms is not None
    ]
    yield from _measure(series, "time to first token, 50th percentile", firsts, "ms", 50)
    speeds = [
        (observation, observation.tokens_per_second)
        for observation in of
        if observation.tokens_per_second is not None
    ]
    yield from _measure(series, "mean output speed", speeds, "tokens/s", None)


def _measure(
    series: str,
    name: str,
    having: Sequence[tuple[Observation, float]],
    unit: str,
    percent: float | None,
) -> Iterator[Measure]:
    """The mean of the values, or their percentile, with its interval; nothing if `having` is empty.

    `having` holds each value with its observation; `percent` is from 0 to 100, `None` for the mean.
    Observations of one case, or of one family of cases, form a cluster.
    """
    if not having:
        return
    values = [value for _, value in having]
    clusters = [observation.cluster for observation, _ in having]
    if percent is None:
        statistic, interval = fmean(values), mean_interval(values, clusters)
    else:
        statistic = float(np.percentile(values, percent))
        interval = percentile_interval(values, percent, clusters)
    yield Measure(series, name, len(values), statistic, interval, unit, len(set(clusters)))


def latencies(series: str, of: Sequence[Observation]) -> Distribution:
    """All latencies of the series in milliseconds, ascending; observations without one are left
    out.
    """
    return Distribution(
        series,
        tuple(
            sorted(
                observation.latency_ms for observation in of if observation.latency_ms is not None
            )
        ),
    )


def failures(observations: Iterable[Observation]) -> tuple[Failed, ...]:
    """The evaluations that failed, the most severe first (`core.severity`).

    Those of one rank are ordered by their fault, the most frequent first, then by their severity,
    so that failures of one fault and severity stand together.
    """
    failed_evaluations = [
        Failed(
            run_id=observation.run_id,
            run_number=observation.run_number,
            evaluation_id=observation.evaluation_id,
            prompt_id=observation.prompt_id,
            model_key=observation.model_key,
            series=observation.series,
            suite=observation.suite,
            case=observation.case,
            category=observation.category,
            severity=observation.severity,
            repetition=observation.repetition,
            class_=observation.class_,
            fault=observation.fault,
            unmet=observation.unmet,
            reason=observation.reason,
        )
        for observation in observations
        if observation.passed is False
    ]
    counts = Counter(failed.fault for failed in failed_evaluations)
    failed_evaluations.sort(
        key=lambda failed: (
            severity_rank(failed.severity),
            -counts[failed.fault],
            failed.fault,
            failed.severity or "",
        )
    )
    return tuple(failed_evaluations)


def _count_kinds(kinds: Iterable[str | None]) -> tuple[tuple[str, int], ...]:
    return tuple(Counter(kind for kind in kinds if kind is not None).most_common())
