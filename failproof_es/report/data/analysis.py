"""Computes a report's figures from observations. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from statistics import fmean

import numpy as np

from failproof_es.core.case import FAMILY
from failproof_es.core.tally import RateBounds
from failproof_es.core.transcript import AWAITING_REVIEW
from failproof_es.report.data.content import (
    Dimension,
    Distribution,
    Errors,
    Failed,
    Funnel,
    Group,
    HeatCell,
    Judged,
    Measure,
    Refusals,
    Stability,
)
from failproof_es.report.data.observations import UNFINISHED, Observation
from failproof_es.support.statistics import Rate, mean_interval, percentile_interval, rate

REFUSAL = "refusal"
EMPTY = "empty"
ACCURACY = "accuracy"
NO_SEVERITY = "no severity"
_MOST_SEVERE_FIRST = ("S0", "S1", "S2", "S3")


def by_series(observations: Iterable[Observation]) -> dict[str, list[Observation]]:
    """The observations of each series, in the order in which they first come."""
    series: dict[str, list[Observation]] = {}
    for each in observations:
        series.setdefault(each.series, []).append(each)
    return series


def funnel(series: str, of: Sequence[Observation], *, judged: bool) -> Funnel:
    """How many evaluations reached each stage."""
    return Funnel(
        series,
        planned=len(of),
        sent=sum(each.sent for each in of),
        answered=sum(each.answered for each in of),
        classified=sum(each.answered and each.class_ is not None for each in of),
        judged=sum(any(good for _, good in each.judges) for each in of) if judged else None,
        scored=sum(each.unscored_reason is None for each in of),
        losses=_counted(each.unscored_reason for each in of),
    )


def groups(series: str, of: Sequence[Observation]) -> Iterator[Group]:
    """The pass rate overall, then by suite, category, severity and tag, where there are several.

    A tag that names a family of cases is none of these: a family is what one case is.
    """
    ended = [each for each in of if each.passed is not None or each.is_unscored]
    yield _group("overall", "all cases", series, ended)
    dimensions: tuple[tuple[Dimension, Callable[[Observation], Iterable[str]]], ...] = (
        ("suite", lambda each: (each.suite,)),
        ("category", lambda each: (each.category,)),
        ("severity", lambda each: (each.severity,) if each.severity else ()),
        ("tag", lambda each: (tag for tag in each.tags if not tag.startswith(FAMILY))),
    )
    for dimension, names in dimensions:
        members: defaultdict[str, list[Observation]] = defaultdict(list)
        for each in ended:
            for name in names(each):
                members[name].append(each)
        if dimension == "category" and set(members) == {each.suite for each in ended}:
            continue  # where cases have no category the suite is used, and was shown
        for name in sorted(members):
            yield _group(dimension, name, series, members[name])


def _group(dimension: Dimension, name: str, series: str, of: Sequence[Observation]) -> Group:
    found = rate_of(of)
    unscored = sum(each.is_unscored for each in of)
    return Group(dimension, name, series, found, unscored, bounds_of(found, unscored))


def bounds_of(found: Rate, unscored: int) -> tuple[float, float] | None:
    """A pass rate had so many more failed, and had they passed; `None` without any."""
    return RateBounds(Fraction(found.passed), found.total, unscored).bounds


def rate_of(of: Iterable[Observation]) -> Rate:
    """The pass rate of those that passed or failed."""
    scored = [each for each in of if each.passed is not None]
    return rate([bool(each.passed) for each in scored], [each.cluster for each in scored])


def heat(series: str, of: Sequence[Observation]) -> Iterator[HeatCell]:
    """Failures where categories and severities meet."""
    cells: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    for each in of:
        if each.passed is not None:
            cells[each.category, each.severity or NO_SEVERITY].append(not each.passed)
    for (category, severity), failed in sorted(cells.items()):
        yield HeatCell(series, category, severity, sum(failed), len(failed))


def refusals(series: str, of: Sequence[Observation]) -> Refusals:
    """Refusals where an answer was wanted, and answers where a refusal was.

    Either counts where it failed the case: a judge may hold that a refusal was right, or that
    an answer declined without the words that are known to refuse. Nothing said is no answer.
    """
    scored = [each for each in of if each.passed is not None]
    unwanted = [each for each in scored if not each.refusal_wanted]
    wanted = [each for each in scored if each.refusal_wanted]
    return Refusals(
        series,
        refused=sum(each.class_ == REFUSAL for each in scored),
        scored=len(scored),
        over=rate(
            [not each.passed and each.class_ == REFUSAL for each in unwanted],
            [each.cluster for each in unwanted],
        ),
        under=rate(
            [not each.passed and each.class_ not in (REFUSAL, EMPTY) for each in wanted],
            [each.cluster for each in wanted],
        ),
    )


def errors(series: str, of: Sequence[Observation]) -> Errors:
    """Errors by kind: failed requests, and evaluations that ended without a score."""
    return Errors(
        series,
        requests=_counted(kind for each in of for kind in each.errors),
        retries=sum(each.retries for each in of),
        lost=_counted(
            each.unscored_reason
            for each in of
            if each.unscored_reason not in (None, UNFINISHED, AWAITING_REVIEW)
        ),
    )


def stability(series: str, of: Sequence[Observation]) -> Stability | None:
    """How alike the repetitions of a case are; `None` where each was asked once.

    A case that lost a repetition to an error is left out: fewer repetitions look more stable.
    """
    tries: dict[tuple[str, str], list[bool]] = defaultdict(list)
    families: dict[tuple[str, str], tuple[str, str]] = {}
    for each in of:
        if each.passed is not None:
            tries[each.suite, each.case].append(each.passed)
            families[each.suite, each.case] = each.cluster
    k = max((len(each) for each in tries.values()), default=0)
    if k < 2:
        return None
    whole = {case: each for case, each in tries.items() if len(each) == k}
    clusters = [families[case] for case in whole]
    return Stability(
        series,
        k,
        any_of_k=rate([any(each) for each in whole.values()], clusters),
        all_of_k=rate([all(each) for each in whole.values()], clusters),
    )


def by_judge(run_number: int, of: Sequence[Observation]) -> Iterator[Judged]:
    """How often each judge of a run came to a verdict, in the order in which they are asked."""
    verdicts: defaultdict[str, list[bool]] = defaultdict(list)
    for each in of:
        for judge, came_to_one in each.judges:
            verdicts[judge].append(came_to_one)
    for judge, found in verdicts.items():
        yield Judged(run_number, judge, len(found), sum(found))


def measures(series: str, of: Sequence[Observation]) -> Iterator[Measure]:
    """Scores beside pass and fail, latencies and speed, each with its interval."""
    names = sorted({name for each in of for name in each.scores if name != ACCURACY})
    for name in names:
        having = [(each, each.scores[name]) for each in of if name in each.scores]
        yield from _measure(series, f"mean {name}", having, "score", None)
    timed = [(each, each.latency_ms) for each in of if each.latency_ms is not None]
    for percent in (50, 95):
        yield from _measure(series, f"latency, {percent}th percentile", timed, "ms", percent)
    firsts = [(each, each.first_token_ms) for each in of if each.first_token_ms is not None]
    yield from _measure(series, "time to first token, 50th percentile", firsts, "ms", 50)
    speeds = [(each, each.tokens_per_second) for each in of if each.tokens_per_second is not None]
    yield from _measure(series, "mean output speed", speeds, "tokens/s", None)


def _measure(
    series: str,
    name: str,
    having: Sequence[tuple[Observation, float]],
    unit: str,
    percent: float | None,
) -> Iterator[Measure]:
    """A percentile, or the mean, with its interval over cases and families."""
    if not having:
        return
    values = [value for _, value in having]
    clusters = [each.cluster for each, _ in having]
    if percent is None:
        found, interval = fmean(values), mean_interval(values, clusters)
    else:
        found = float(np.percentile(values, percent))
        interval = percentile_interval(values, percent, clusters)
    yield Measure(series, name, len(values), found, interval, unit, len(set(clusters)))


def latencies(series: str, of: Sequence[Observation]) -> Distribution:
    """Every latency, ascending."""
    return Distribution(
        series, tuple(sorted(each.latency_ms for each in of if each.latency_ms is not None))
    )


def failures(observations: Iterable[Observation]) -> tuple[Failed, ...]:
    """What did not pass, the most severe first."""
    found = [
        Failed(
            run_id=each.run_id,
            run_number=each.run_number,
            evaluation_id=each.evaluation_id,
            prompt_id=each.prompt_id,
            model_key=each.model_key,
            series=each.series,
            suite=each.suite,
            case=each.case,
            category=each.category,
            severity=each.severity,
            repetition=each.repetition,
            class_=each.class_,
            reason=each.reason,
        )
        for each in observations
        if each.passed is False
    ]
    return tuple(sorted(found, key=lambda each: _rank(each.severity)))


def _rank(severity: str | None) -> int:
    if severity in _MOST_SEVERE_FIRST:
        return _MOST_SEVERE_FIRST.index(severity)
    return len(_MOST_SEVERE_FIRST)


def _counted(kinds: Iterable[str | None]) -> tuple[tuple[str, int], ...]:
    return tuple(Counter(kind for kind in kinds if kind is not None).most_common())
