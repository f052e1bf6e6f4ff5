"""Compares every two series on the cases that both were asked. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product

from failproof_es.core.exact_numbers import difference
from failproof_es.core.pairing import Pairing, graded_alike, pair_evaluations
from failproof_es.core.selection import ChosenByResult, why_incomparable
from failproof_es.core.severity import severity_order
from failproof_es.report.data.content import Comparison, SeriesPairing
from failproof_es.report.data.observations import Observation
from failproof_es.support.statistics import (
    Paired,
    benjamini_hochberg,
    compare_outcomes,
    compare_scores,
)

OVERALL = "pass rate"
BY_GROUP = "pass rate in "
"""Prefix of the name of a comparison on the cases of one severity or category."""
NOT_COMPARED = ("accuracy", "judge_agreement")
"""Not compared: `accuracy` repeats pass and fail, `judge_agreement` measures the judges."""

Pair = tuple[Observation, Observation]
WhyNot = Callable[[Sequence[Observation], Sequence[Observation]], str | None]


def why_never(first: Sequence[Observation], second: Sequence[Observation]) -> None:
    """Every two series can be compared."""


def chosen_unlike(by_result: Mapping[int, ChosenByResult | None]) -> WhyNot:
    """Why two series cannot be compared, from what results chose of each run, by its number."""

    def why(first: Sequence[Observation], second: Sequence[Observation]) -> str | None:
        runs = ({observation.run_number for observation in of} for of in (first, second))
        reasons = (
            why_incomparable(by_result[one], by_result[other]) for one, other in product(*runs)
        )
        return next(filter(None, reasons), None)

    return why


def pairings(
    series: Mapping[str, Sequence[Observation]], why_not: WhyNot = why_never
) -> tuple[SeriesPairing, ...]:
    """For every two series, the number of compared pairs and why other evaluations are left out.

    `series` maps the name of each series (one model in one run) to its observations, `why_not` says
    which two cannot be compared.
    """
    return tuple(
        SeriesPairing(one, other, len(pairing.pairs), pairing.unpaired, why_not(first, second))
        for (one, first), (other, second) in combinations(series.items(), 2)
        for pairing in (_paired(first, second),)
    )


def comparisons(
    series: Mapping[str, Sequence[Observation]], why_not: WhyNot = why_never
) -> tuple[Comparison, ...]:
    """For every two series that can be compared, the differences in pass rates and in scores.

    Of pass rates overall, by severity and by category. Arguments are those of `pairings`; two
    series without a common scored question have none. The p values of overall pass rates form one
    family, those of groups and scores another. Each is adjusted by itself, so that more groups
    change no verdict on the whole.
    """
    unadjusted = [
        comparison
        for (one, first), (other, second) in combinations(series.items(), 2)
        if why_not(first, second) is None
        for comparison in _compared(one, other, _pairs(first, second))
    ]
    families = (
        [comparison for comparison in unadjusted if comparison.what == OVERALL],
        [comparison for comparison in unadjusted if comparison.what != OVERALL],
    )
    adjusted = {
        id(comparison): replace(comparison, adjusted_p=p, adjusted_for=len(family))
        for family in families
        for comparison, p in zip(
            family, benjamini_hochberg([comparison.paired.p for comparison in family]), strict=True
        )
    }
    return tuple(adjusted[id(comparison)] for comparison in unadjusted)


def _pairs(first: Sequence[Observation], second: Sequence[Observation]) -> list[Pair]:
    """Pairs of evaluations, one of each series, of the same question; both scored, and graded
    alike.
    """
    return [(first[one], second[other]) for one, other in _paired(first, second).pairs]


def _paired(first: Sequence[Observation], second: Sequence[Observation]) -> Pairing:
    return pair_evaluations(
        [observation.question for observation in first],
        [observation.question for observation in second],
        lambda one, other: first[one].passed is not None and second[other].passed is not None,
        lambda one, other: graded_alike(first[one].graded_by, second[other].graded_by),
    )


def _compared(one: str, other: str, pairs: Sequence[Pair]) -> Iterator[Comparison]:
    """Comparisons of the series named `one` and `other` on these pairs; none without pairs.

    `adjusted_p` is the unadjusted p value for now.
    """
    if not pairs:
        return
    outcomes = _outcomes(pairs)
    several = len({one.suite for one, _ in pairs}) > 1
    labels = [f"{one.suite}/{one.case}" if several else one.case for one, _ in pairs]
    labelled_pairs = list(zip(labels, pairs, strict=True))
    only_first = dict.fromkeys(name for name, (a, b) in labelled_pairs if a.passed and not b.passed)
    only_second = dict.fromkeys(
        name for name, (a, b) in labelled_pairs if b.passed and not a.passed
    )
    yield Comparison(
        one, other, OVERALL, outcomes, outcomes.p, tuple(only_first), tuple(only_second)
    )
    for group, members in _groups(pairs):
        outcomes = _outcomes(members)
        yield Comparison(one, other, f"{BY_GROUP}{group}", outcomes, outcomes.p)
    for name in sorted({name for a, b in pairs for name in a.scores.keys() & b.scores}):
        if name not in NOT_COMPARED:
            scores = _scores(name, pairs)
            yield Comparison(one, other, name, scores, scores.p)


def _groups(pairs: Sequence[Pair]) -> Iterator[tuple[str, list[Pair]]]:
    """The pairs of each severity, the most severe first, and of each category, by its name.

    No group that has all pairs.
    """
    severities: defaultdict[str, list[Pair]] = defaultdict(list)
    categories: defaultdict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        categories[pair[0].category].append(pair)
        if (severity := pair[0].severity) is not None:
            severities[severity].append(pair)
    ranked = sorted(severities, key=severity_order)
    for groups, named in ((severities, ranked), (categories, sorted(categories))):
        for name in named:
            if len(groups[name]) < len(pairs):
                yield (f"severity {name}" if groups is severities else name), groups[name]


def _outcomes(pairs: Sequence[Pair]) -> Paired:
    outcomes = [(bool(one.passed), bool(other.passed)) for one, other in pairs]
    return compare_outcomes(outcomes, [one.cluster for one, _ in pairs])


def _scores(name: str, pairs: Sequence[Pair]) -> Paired:
    both = [(a, b) for a, b in pairs if name in a.scores and name in b.scores]
    differences = [difference(a.scores[name], b.scores[name]) for a, b in both]
    return compare_scores(differences, [a.cluster for a, _ in both])
