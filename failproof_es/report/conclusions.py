"""The verdict of a report, and what its numbers can't say. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from failproof_es.engine.review_comparison import JUDGES
from failproof_es.report.analysis import BY_CATEGORY
from failproof_es.report.content import Asked, Gate, Report, Tone, Verdict
from failproof_es.report.observations import Observation
from failproof_es.report.wording import percent, told
from failproof_es.statistics import Rate, rate

_FEW = 30
_MANY_UNSCORED = 0.05
_WIDE = 0.1
_CUT_OFF = "truncated"


def verdict(
    asked: Sequence[Asked], gates: Sequence[Gate], series: Mapping[str, Sequence[Observation]]
) -> Verdict:
    """One sentence that can be read alone, the worst that is to be said first."""
    beside = [f"{name}: {told(_overall(of))}" for name, of in series.items()]
    missed = [gate for gate in gates if not gate.met]
    broken = [each for each in asked if each.integrity is False]
    going = [each for each in asked if each.status not in ("completed", "failed")]
    if broken:
        numbers = ", ".join(str(each.run_number) for each in broken)
        sentence = f"The record of run {numbers} is not as it must be: trust none of this."
        return Verdict("bad", sentence, tuple(beside))
    if going:
        numbers = ", ".join(str(each.run_number) for each in going)
        sentence = f"Run {numbers} has not ended: these numbers are of what is finished by now."
        return Verdict("doubt", sentence, tuple(beside))
    if missed:
        named = ", ".join(_missed(gate) for gate in missed)
        sentence = f"Not met: {len(missed)} of {len(gates)} gates: {named}."
        return Verdict("bad", sentence, tuple(beside))
    tone: Tone = "good" if gates else "plain"
    everything = [each for of in series.values() for each in of]
    unscored = sum(each.lost is not None for each in everything)
    if everything and unscored / len(everything) > _MANY_UNSCORED:
        share = f"{unscored:,} of {len(everything):,} ({percent(unscored / len(everything))})"
        met = f" All {len(gates)} gates are met." if gates else ""
        return Verdict("doubt", f"{share} evaluations were never scored.{met}", tuple(beside))
    if gates:
        return Verdict(tone, f"All {len(gates)} gates are met.", tuple(beside))
    if len(series) == 1:
        return Verdict(tone, f"Passed: {told(_overall(everything))}.", ())
    return Verdict(tone, f"{len(series)} models or runs were asked the same.", tuple(beside))


def _missed(gate: Gate) -> str:
    measured = "was not measured" if gate.measured is None else f"is {_brief(gate.measured)}"
    return f"{gate.name} {measured} where the limit is {_brief(gate.limit)}"


def _brief(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _overall(of: Sequence[Observation]) -> Rate:
    scored = [each for each in of if each.passed is not None]
    return rate([bool(each.passed) for each in scored], [each.cluster for each in scored])


def limitations(report: Report, series: Mapping[str, Sequence[Observation]]) -> Report:
    """The report with what its numbers can't say, each true of these runs."""
    said: list[str] = []
    for name, of in series.items():
        overall = _overall(of)
        if 0 < overall.clusters < _FEW:
            said.append(f"{name}: only {overall.clusters} independent cases were scored.")
        if overall.half_width is not None and overall.half_width > _WIDE:
            said.append(f"{name}: the pass rate is known to no better than its interval says.")
        lost = sum(each.lost is not None for each in of)
        if lost:
            said.append(
                f"{name}: {lost:,} of {len(of):,} evaluations were not scored; the rates say "
                "nothing of them."
            )
        cut = sum(each.primary == _CUT_OFF for each in of)
        if cut:
            said.append(f"{name}: {cut:,} answers were cut off at max_tokens.")
    if all(each.repetitions == 1 for each in report.asked):
        said.append("Every case was asked once: nothing is known of how stable the answers are.")
    if any(cost.cost_usd is None for cost in report.costs):
        said.append("Some prices or token counts are unknown: costs are of the others.")
    reviewed = any(each.one == JUDGES for each in report.agreement)
    if any(each.judges for each in report.asked) and not reviewed:
        said.append("Models judged, and no person has reviewed what they said.")
    for each in report.comparisons:
        if each.what.startswith(BY_CATEGORY):
            continue  # as many as there are categories: the table tells
        if each.paired.smallest_effect is not None and each.adjusted_p > 0.05:
            said.append(
                f"{each.one} and {each.other} ({each.what}): a difference of less than "
                f"{percent(min(each.paired.smallest_effect, 1.0))} would mostly not have shown."
            )
    said.append("The cases are a sample somebody chose: the intervals say nothing of other cases.")
    return replace(report, limitations=tuple(said))
