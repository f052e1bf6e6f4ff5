"""From observations to what a report says of them. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from failproof_es.report.content import (
    Comparison,
    Dimension,
    Distribution,
    Errors,
    Failed,
    Funnel,
    Group,
    HeatCell,
    Measure,
    Refusals,
    Stability,
)
from failproof_es.report.observations import Observation
from failproof_es.statistics import (
    Interval,
    Paired,
    adjusted,
    bca,
    compare_outcomes,
    compare_scores,
    pass_at_k,
    rate,
)

REFUSAL = "refusal"
ACCURACY = "accuracy"
NO_SEVERITY = "none"
BY_CATEGORY = "pass rate in "
_MOST_SEVERE_FIRST = ("S0", "S1", "S2", "S3")


def by_series(observations: Iterable[Observation]) -> dict[str, list[Observation]]:
    """The observations of each series, in the order in which they first come."""
    series: dict[str, list[Observation]] = {}
    for each in observations:
        series.setdefault(each.series, []).append(each)
    return series


def funnel(series: str, of: Sequence[Observation], *, judged: bool) -> Funnel:
    """How many got how far."""
    return Funnel(
        series,
        planned=len(of),
        sent=sum(each.sent for each in of),
        answered=sum(each.answered for each in of),
        classified=sum(each.primary is not None for each in of),
        judged=sum(any(good for _, good in each.judges) for each in of) if judged else None,
        scored=sum(each.lost is None for each in of),
        losses=_counted(each.lost for each in of if each.lost is not None),
    )


def groups(series: str, of: Sequence[Observation]) -> Iterator[Group]:
    """The pass rate overall, then by suite, category, severity and tag, where there are several."""
    scored = [each for each in of if each.passed is not None]
    yield _group("overall", "all cases", series, scored)
    dimensions: tuple[tuple[Dimension, Callable[[Observation], Iterable[str]]], ...] = (
        ("suite", lambda each: (each.suite,)),
        ("category", lambda each: (each.category,)),
        ("severity", lambda each: (each.severity,) if each.severity else ()),
        ("tag", lambda each: each.tags),
    )
    for dimension, names in dimensions:
        members: defaultdict[str, list[Observation]] = defaultdict(list)
        for each in scored:
            for name in names(each):
                members[name].append(each)
        if dimension == "category" and set(members) == {each.suite for each in scored}:
            continue  # where cases have no category their suite stands for it, and was shown
        for name in sorted(members):
            yield _group(dimension, name, series, members[name])


def _group(dimension: Dimension, name: str, series: str, of: Sequence[Observation]) -> Group:
    outcomes = [bool(each.passed) for each in of]
    return Group(dimension, name, series, rate(outcomes, [each.cluster for each in of]))


def heat(series: str, of: Sequence[Observation]) -> Iterator[HeatCell]:
    """Failures where categories and severities meet."""
    cells: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    for each in of:
        if each.passed is not None:
            cells[each.category, each.severity or NO_SEVERITY].append(not each.passed)
    for (category, severity), failed in sorted(cells.items()):
        yield HeatCell(series, category, severity, sum(failed), len(failed))


def refusals(series: str, of: Sequence[Observation]) -> Refusals:
    """Refusals where an answer was wanted, and answers where a refusal was."""
    answered = [each for each in of if each.passed is not None]
    unwanted = [each for each in answered if each.expected != REFUSAL]
    wanted = [each for each in answered if each.expected == REFUSAL]
    return Refusals(
        series,
        refused=sum(each.primary == REFUSAL for each in answered),
        answered=len(answered),
        over=rate(
            [each.primary == REFUSAL and not each.passed for each in unwanted],
            [each.cluster for each in unwanted],
        ),
        under=rate([each.primary != REFUSAL for each in wanted], [each.cluster for each in wanted]),
    )


def errors(series: str, of: Sequence[Observation]) -> Errors:
    """What went wrong on the way."""
    return Errors(
        series,
        attempts=_counted(kind for each in of for kind in each.errors),
        retries=sum(each.retries for each in of),
        lost=_counted(each.lost for each in of if each.lost is not None),
    )


def stability(series: str, of: Sequence[Observation]) -> Stability | None:
    """How alike the repetitions of a case are; `None` where each was asked once.

    A case that lost a repetition to an error is left out: it had fewer tries to differ.
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
    tries = {case: each for case, each in tries.items() if len(each) == k}
    chances = [pass_at_k(sum(each), len(each), k) for each in tries.values()]
    always = [all(each) for each in tries.values()]
    return Stability(
        series,
        k,
        len(tries),
        sum(chances) / len(chances),
        rate(always, [families[case] for case in tries]),
        changing=sum(any(each) and not all(each) for each in tries.values()),
    )


def measures(series: str, of: Sequence[Observation]) -> Iterator[Measure]:
    """Scores beside pass and fail, latencies and speed, each with its interval."""
    names = sorted({name for each in of for name in each.scores if name != ACCURACY})
    for name in names:
        values = [each.scores[name] for each in of if name in each.scores]
        yield _mean(series, name, values, "score")
    latencies = [each.latency_ms for each in of if each.latency_ms is not None]
    for percent in (50, 95):
        yield from _quantile(series, "latency", latencies, percent)
    firsts = [each.first_token_ms for each in of if each.first_token_ms is not None]
    yield from _quantile(series, "time to first token", firsts, 50)
    if speeds := list(_speeds(of)):
        yield _mean(series, "output speed", speeds, "tokens/s")


def _mean(series: str, name: str, values: Sequence[float], unit: str) -> Measure:
    return Measure(series, f"mean {name}", len(values), float(np.mean(values)), bca(values), unit)


def _quantile(series: str, name: str, values: Sequence[float], percent: int) -> Iterator[Measure]:
    if not values:
        return

    def statistic(sample: np.ndarray, axis: int = -1) -> np.ndarray:
        found: np.ndarray = np.percentile(sample, percent, axis=axis)
        return found

    interval: Interval | None = bca(values, statistic)  # type: ignore[arg-type]
    yield Measure(
        series, f"{name}, {percent}th percentile", len(values),
        float(np.percentile(values, percent)), interval, "ms",
    )  # fmt: skip


def _speeds(of: Iterable[Observation]) -> Iterator[float]:
    """Tokens a second after the first one, of streamed answers that counted their tokens."""
    for each in of:
        tokens = next((use.output_tokens for use in each.usage.values()), None)
        if each.latency_ms and each.first_token_ms and tokens and tokens > 1:
            seconds = (each.latency_ms - each.first_token_ms) / 1000
            if seconds > 0:
                yield (tokens - 1) / seconds


def latencies(series: str, of: Sequence[Observation]) -> Distribution:
    """Every latency, ascending."""
    return Distribution(
        series, tuple(sorted(each.latency_ms for each in of if each.latency_ms is not None))
    )


def comparisons(series: dict[str, list[Observation]]) -> tuple[Comparison, ...]:
    """Every two series on what both were asked: pass and fail, the same by category, scores.

    The p values of all of them are adjusted together.
    """
    found = [
        Comparison(one, other, what, paired, paired.p, discordant)
        for (one, first), (other, second) in combinations(series.items(), 2)
        for what, paired, discordant in _compared(list(_pairs(first, second)))
    ]
    p_values = adjusted([each.paired.p for each in found])
    return tuple(replace(each, adjusted_p=p) for each, p in zip(found, p_values, strict=True))


Pair = tuple[Observation, Observation]


def _compared(pairs: Sequence[Pair]) -> Iterator[tuple[str, Paired, tuple[str, ...]]]:
    """What was compared, how it came out, and the cases where just one passed."""
    if not pairs:
        return
    discordant = tuple(one.case for one, other in pairs if one.passed != other.passed)
    yield "pass rate", _outcomes_compared(pairs), discordant
    categories: defaultdict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        categories[pair[0].category].append(pair)
    if len(categories) > 1:
        for category in sorted(categories):
            yield f"{BY_CATEGORY}{category}", _outcomes_compared(categories[category]), ()
    for name in sorted({name for one, other in pairs for name in one.scores.keys() & other.scores}):
        if name != ACCURACY:
            both = [(a, b) for a, b in pairs if name in a.scores and name in b.scores]
            differences = [a.scores[name] - b.scores[name] for a, b in both]
            yield name, compare_scores(differences, [a.cluster for a, _ in both]), ()


def _outcomes_compared(pairs: Sequence[Pair]) -> Paired:
    outcomes = [(bool(one.passed), bool(other.passed)) for one, other in pairs]
    return compare_outcomes(outcomes, [one.cluster for one, _ in pairs])


def _pairs(
    first: Sequence[Observation], second: Sequence[Observation]
) -> Iterator[tuple[Observation, Observation]]:
    """What both answered and both were scored for."""
    asked = {each.question: each for each in second if each.passed is not None}
    for each in first:
        if each.passed is not None and (other := asked.get(each.question)) is not None:
            yield each, other


def failures(observations: Iterable[Observation]) -> tuple[Failed, ...]:
    """What did not pass, the most severe first."""
    found = [
        Failed(
            each.run_id,
            each.run_number,
            each.evaluation_id,
            each.prompt_id,
            each.model_key,
            each.series,
            each.suite,
            each.case,
            each.category,
            each.severity,
            each.repetition,
            each.primary,
            each.reason,
        )
        for each in observations
        if each.passed is False
    ]
    return tuple(sorted(found, key=lambda each: _rank(each.severity)))


def _rank(severity: str | None) -> int:
    if severity in _MOST_SEVERE_FIRST:
        return _MOST_SEVERE_FIRST.index(severity)
    return len(_MOST_SEVERE_FIRST)


def _counted(kinds: Iterable[str]) -> tuple[tuple[str, int], ...]:
    return tuple(Counter(kinds).most_common())
