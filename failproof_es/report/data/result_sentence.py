"""The result in a sentence: how many passed, and which model or run is better by how much. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from failproof_es.catalogue.wording import points
from failproof_es.report.data.analysis import pass_rate_of
from failproof_es.report.data.comparison import OVERALL
from failproof_es.report.data.content import Comparison, SeriesPairing
from failproof_es.report.data.observations import Observation
from failproof_es.support.percentages import percent, percent_range
from failproof_es.support.statistics import CONFIDENCE, Rate

ALPHA = 0.05
"""Differences with a p value below it are rarely chance."""
_NAMED_SERIES = 5
_INTERVAL = f"{CONFIDENCE * 100:.0f} % interval"

NamedRate = tuple[str, Rate]


def result_sentences(
    series: Mapping[str, Sequence[Observation]],
    comparisons: Sequence[Comparison],
    compared: Sequence[SeriesPairing],
) -> Iterator[str]:
    """The sentences of the result; nothing if no evaluation passed or failed.

    One series: its rate and the interval. Several: their counts, the best first, and how much
    better the first is than the second, or that nobody can tell. Two runs of the same models: that
    for each model.
    """
    untold = [{of.one, of.other} for of in compared if of.incomparable is not None]
    overall = [comparison for comparison in comparisons if comparison.what == OVERALL]
    for names in _compared_together(series):
        rates = [(name, pass_rate_of(series[name])) for name in names]
        scored = [(name, rate) for name, rate in rates if rate.total]
        if len(scored) == 1:
            yield f"{_describe_single(*scored[0])}."
        elif scored:
            yield f"{_describe_several(_best_first(scored, overall), overall, untold)}."


def _compared_together(series: Mapping[str, Sequence[Observation]]) -> list[list[str]]:
    """The names of series that one sentence compares: of two runs of the same models by model."""
    models: dict[str, list[str]] = {}
    runs: dict[int, set[str]] = {}
    for name, of in series.items():
        if of:
            models.setdefault(of[0].model_key, []).append(name)
            runs.setdefault(of[0].run_number, set()).add(of[0].model_key)
    same_models = len(runs) == 2 and all(keys == set(models) for keys in runs.values())
    if same_models and len(models) <= _NAMED_SERIES:
        return list(models.values())
    return [list(series)]


def _describe_single(name: str, rate: Rate) -> str:
    assert rate.value is not None and rate.interval is not None
    ends = percent_range((rate.interval.low, rate.interval.high))
    counts = f"{rate.passed:,} of {rate.total:,}"
    return f"{name} passed {counts} ({percent(rate.value)}, {_INTERVAL} {ends})"


def _best_first(scored: Sequence[NamedRate], overall: Sequence[Comparison]) -> list[NamedRate]:
    """The series by their pass rates; two by the difference on the pairs that both were asked."""
    if len(scored) == 2:
        names = tuple(name for name, _ in scored)
        for comparison in overall:
            if (comparison.one, comparison.other) == names:
                return list(reversed(scored) if comparison.paired.difference < 0 else scored)
    return sorted(scored, key=lambda named: -(named[1].value or 0.0))


def _describe_several(
    scored: Sequence[NamedRate], overall: Sequence[Comparison], untold: Sequence[set[str]]
) -> str:
    (first, rate), *others = scored[:_NAMED_SERIES]
    counts = [f"{first} passed {rate.passed:,} of {rate.total:,}"]
    counts += (f"{name} {other.passed:,} of {other.total:,}" for name, other in others)
    if (more := len(scored) - _NAMED_SERIES) > 0:
        counts.append(f"and {more:,} more")
    second = others[0][0]
    for comparison in overall:
        if {comparison.one, comparison.other} == {first, second}:
            between = "" if len(scored) == 2 else f"{first} against {second}, "
            difference = _describe_difference(comparison, 1 if comparison.one == first else -1)
            return f"{', '.join(counts)}: {between}{difference}"
    better = ": which is better cannot be told" if {first, second} in untold else ""
    return ", ".join(counts) + better


def _describe_difference(comparison: Comparison, sign: Literal[1, -1]) -> str:
    """The advantage of the first series, in words; with the sign -1 of the second one."""
    paired = comparison.paired
    assert paired.interval is not None
    ends = sorted((sign * paired.interval.low, sign * paired.interval.high))
    interval = f"{_INTERVAL} {' to '.join(map(_points, ends))}"
    if not paired.difference:
        return f"no difference ({interval} points)"
    better = "better" if sign * paired.difference > 0 else "worse"
    chance = "" if comparison.adjusted_p < ALPHA else ", which may be chance"
    if chance and ends[0] * ends[1] > 0:  # the interval alone would say otherwise
        interval += f", adjusted p {comparison.adjusted_p:.3f}"
    return f"{points(abs(paired.difference))} {better}{chance} ({interval})"


def _points(share: float) -> str:
    return points(share).removesuffix(" points").replace("-", "−")
