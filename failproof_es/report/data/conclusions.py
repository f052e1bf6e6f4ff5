"""The verdict of a report, and the limits of its numbers. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from failproof_es.catalogue.run import RunDocument
from failproof_es.catalogue.wording import describe_bounds, judge_named, points
from failproof_es.core.evaluation import AWAITING_REVIEW
from failproof_es.core.pairing import what_differs
from failproof_es.core.people import REVIEW_STATUSES, describe_people
from failproof_es.core.severity import severity_rank
from failproof_es.core.transcript import WITHHELD
from failproof_es.dialects.fixed_outcomes import FixedOutcomeCounts
from failproof_es.dialects.kit import cut_off
from failproof_es.engine.reviews.comparison import JUDGES
from failproof_es.events.base import ENDED
from failproof_es.gate_words import format_amount
from failproof_es.gates import judges_results
from failproof_es.report.data.analysis import bounds_of, pass_rate_of
from failproof_es.report.data.comparison import BY_GROUP
from failproof_es.report.data.content import (
    Comparison,
    GateRow,
    JudgeCalibration,
    Provenance,
    Report,
    SeriesPairing,
    Tone,
    Verdict,
)
from failproof_es.report.data.judge_sentences import sentences_on_judges, unmeasured_judges
from failproof_es.report.data.observations import UNFINISHED, Observation
from failproof_es.report.data.result_sentence import result_sentences
from failproof_es.support.percentages import percent
from failproof_es.support.plurals import plural

_NAMED_GATES = 3
"""Missed gates that the verdict names at most; the table lists all."""
_FEW = 30
_MANY_UNSCORED = 0.05
_WIDE = 0.1
_NOT_GRADED = {
    WITHHELD: "Withheld by the provider",
    "broken": "Broken off, or of no use to the server",
    "unknown": "Ended for a reason of unknown meaning",
}
"""Descriptions of the classes of replies that nobody grades."""

_BAD_ENDS = {"failed": "failed", "given_up": "was given up"}
TonedSentence = tuple[Tone, str]
_WORST_FIRST: tuple[Tone, ...] = ("bad", "doubt", "good", "plain")


def verdict(
    provenances: Sequence[Provenance],
    gates: Sequence[GateRow],
    series: Mapping[str, Sequence[Observation]],
    compared: Sequence[SeriesPairing] = (),
    comparisons: Sequence[Comparison] = (),
    pooled: str | None = None,
    calibrated: Sequence[JudgeCalibration] = (),
) -> Verdict:
    """The verdict in a few sentences, and remarks on how far it holds. The worst sets the tone.

    Missed gates and failed runs come first, then the result with its most severe failures, then
    gates that are met, which are good only if one is on results. The remarks are the names of
    several missed gates, doubts, results by people, and rates corrected for errors of judges. A
    damaged record is the whole verdict. `series` maps the name of each series to its observations;
    `pooled` is `Report.pooled`, `calibrated` has the runs with judges.
    """
    runs = [provenance.run for provenance in provenances]
    if broken := _name_runs(
        provenance.run for provenance in provenances if provenance.integrity is False
    ):
        sentence = f"The record of {broken} is damaged: do not trust this report."
        return Verdict("bad", sentence, ())
    missed = list(_missed_gates(gates, runs))
    bad = [*missed[:1], *_failed_runs(runs)]
    met = [*_most_severe(series, gates), *_met_gates(runs, gates)]
    remarks = [
        *missed[1:],
        *_reviews_by_people(runs),
        *_unfinished_runs(runs),
        *_runs_chosen_by_result(runs),
        *_unscored(series),
        *_fixed_outcomes(series),
        *_on_judges(calibrated),
        *(("plain", sentence) for sentence in islice(_unlike_series(compared), 1)),
    ]
    if pooled is not None:
        remarks.append(("plain", pooled))
    tones = {tone for tone, _ in (*bad, *met, *remarks)}
    results = list(result_sentences(series, comparisons, compared))
    if not results and not any(run.by_people or run.status == "failed" for run in runs):
        results = ["Nothing was scored."]
        tones.add("doubt")
    sentences = [*(text for _, text in bad), *results, *(text for _, text in met)]
    texts = [text for _, text in remarks]
    if not sentences:
        sentences.append(texts.pop(0))
    worst: Tone = next((tone for tone in _WORST_FIRST if tone in tones), "plain")
    return Verdict(worst, " ".join(sentences), tuple(texts))


def _unlike_series(compared: Sequence[SeriesPairing]) -> Iterator[str]:
    """A sentence on each two compared series that were not asked the same, or graded otherwise."""
    for pairing in compared:
        differs = what_differs(pairing.unpaired) if pairing.incomparable is None else None
        if differs is not None:
            whys = "; ".join(unpaired.describe() for unpaired in pairing.unpaired)
            yield (
                f"{pairing.one} and {pairing.other} were not {differs}. Compared: "
                f"{plural(pairing.pairs, 'scored pair')}; left out: {whys}."
            )


def _name_runs(runs: Iterable[RunDocument]) -> str:
    numbers = [str(run.run_number) for run in runs]
    return f"{'run' if len(numbers) == 1 else 'runs'} {', '.join(numbers)}" if numbers else ""


def _missed_gates(gates: Sequence[GateRow], runs: Sequence[RunDocument]) -> Iterator[TonedSentence]:
    """Number of missed gates, and which: in the same sentence if it is one, else in a second."""
    missed = [gate for gate in gates if not gate.met]
    if not missed:
        return
    numbers = {gate.run_number for gate in missed}
    count = _count_missed(len(missed), len(gates))
    if len(runs) > 1:
        count += f" ({_name_runs(run for run in runs if run.run_number in numbers)})"
    phrases = [_describe_gate(gate, len(numbers)) for gate in missed[:_NAMED_GATES]]
    if len(missed) > _NAMED_GATES:
        phrases.append(f"{len(missed) - _NAMED_GATES} more")
    if len(missed) == 1:
        yield "bad", f"{count}: {phrases[0]}."
    else:
        yield "bad", f"{count}."
        yield "bad", f"Not met: {', '.join(phrases)}."


def _count_missed(missed: int, gates: int) -> str:
    if gates == 1:
        return "The gate is not met"
    return f"{missed} of {gates} gates {'is' if missed == 1 else 'are'} not met"


def _describe_gate(gate: GateRow, runs: int) -> str:
    """A missed gate with its limit and its measurement; `runs` is the number of runs with such."""
    limit = describe_limit(gate)
    word = "against" if limit.startswith("run ") else "limit"
    measured = "nothing measured"
    if gate.measured is not None:
        measured = f"measured {describe_measured(gate)}"
    phrase = f"{gate.name} ({word} {limit}, {measured})"
    return phrase if runs == 1 else f"run {gate.run_number} {phrase}"


def describe_limit(gate: GateRow) -> str:
    """The gate's limit as text; for `no_regression_against` the run compared with: `run 5`."""
    if gate.name.startswith("no_regression_against."):
        return f"run {gate.limit}"
    return format_amount(gate.limit)


def describe_measured(gate: GateRow) -> str:
    """The gate's measurement as text; `nothing` if there is none."""
    return "nothing" if gate.measured is None else format_amount(gate.measured).replace("-", "−")


def _failed_runs(runs: Sequence[RunDocument]) -> Iterator[TonedSentence]:
    for run in runs:
        if run.status in _BAD_ENDS:
            why = "" if run.reason is None else f": {run.reason.rstrip('.')}"
            yield "bad", f"Run {run.run_number} {_BAD_ENDS[run.status]}{why}."


def _unfinished_runs(runs: Sequence[RunDocument]) -> Iterator[TonedSentence]:
    for run in runs:
        if run.status not in ENDED:
            finished = f"{run.counts.finished:,} of {plural(run.counts.planned, 'evaluation')}"
            yield (
                "doubt",
                f"Run {run.run_number} has not ended ({run.status}): the numbers cover {finished}.",
            )


def _on_judges(calibrated: Sequence[JudgeCalibration]) -> Iterator[TonedSentence]:
    """Sentences on the judges of each run, with its number if there are several."""
    for calibration in calibrated:
        of_run = f" (run {calibration.run_number})" if len(calibrated) > 1 else ""
        yield from sentences_on_judges(calibration, of_run)


def _runs_chosen_by_result(runs: Sequence[RunDocument]) -> Iterator[TonedSentence]:
    for run in runs:
        if (reason := run.chosen_by_result) is not None:
            yield "doubt", f"{reason[:1].upper()}{reason[1:]}."


def _reviews_by_people(runs: Iterable[RunDocument]) -> Iterator[TonedSentence]:
    """A sentence for each model of a run that left evaluations to people: how they decided."""
    reviewed = [run for run in runs if run.by_people]
    for run in reviewed:
        for figure in run.by_people:
            if figure.dimension == "overall":
                of_run = f" (run {run.run_number})" if len(reviewed) > 1 else ""
                yield (
                    "doubt" if figure.awaiting_review else "plain",
                    f"Left to people, {figure.model}{of_run}: "
                    f'{describe_people(figure.as_json())} (section "Judges and people").',
                )


def _unscored(series: Mapping[str, Sequence[Observation]]) -> Iterator[TonedSentence]:
    ended = [
        observation
        for of in series.values()
        for observation in of
        if observation.unscored_reason != UNFINISHED
    ]
    awaiting = sum(observation.unscored_reason == AWAITING_REVIEW for observation in ended)
    unscored = sum(observation.is_unscored for observation in ended) - awaiting
    if unscored == len(ended):
        return  # the verdict says so
    if unscored / len(ended) > _MANY_UNSCORED:
        share = percent(unscored / len(ended))
        bounds = ""
        if len(series) == 1:
            bounds = describe_bounds(bounds_of(pass_rate_of(ended), unscored + awaiting))
        sentence = f"{unscored:,} of {len(ended):,} evaluations ({share}) have no score{bounds}."
        yield "doubt", sentence


def _fixed_outcomes(series: Mapping[str, Sequence[Observation]]) -> Iterator[TonedSentence]:
    """Doubts about cases with a fixed outcome: pass, fail or no verdict, whatever the answer is.

    Such cases raise or lower the rates. Two versions of a case that are sent or graded differently
    count as two cases.
    """
    cases = {
        observation.question._replace(repetition=1): observation.fixed_outcome
        for of in series.values()
        for observation in of
    }
    counts = FixedOutcomeCounts()
    for outcome in cases.values():
        counts.add(outcome)
    yield from (("doubt", f"{line}.") for line in counts.lines())


def _most_severe(
    series: Mapping[str, Sequence[Observation]], gates: Sequence[GateRow]
) -> Iterator[TonedSentence]:
    """Number of failures at the highest severity that failed; none if no failure has a severity.

    It is a doubt if no gate is on severities and no severity is higher.
    """
    failed = [seen.severity for of in series.values() for seen in of if seen.passed is False]
    severities = Counter(severity for severity in failed if severity is not None)
    if not severities:
        return
    worst = min(map(severity_rank, severities))
    words = sorted(word for word in severities if severity_rank(word) == worst)
    count = sum(severities[word] for word in words)
    gated = any(gate.name.startswith("no_failures_at") for gate in gates)
    tone: Tone = "plain" if gated or worst else "doubt"
    are = "is" if count == 1 else "are"
    yield (
        tone,
        f"{count:,} of {plural(len(failed), 'failure')} {are} of severity {' or '.join(words)}.",
    )


def _met_gates(runs: Sequence[RunDocument], gates: Sequence[GateRow]) -> Iterator[TonedSentence]:
    """A sentence if every gate is met; nothing if one is missed, or if no run has gates.

    The sentence names completed runs without gates: such a run never counts as passed.
    """
    if not gates or not all(gate.met for gate in gates):
        return
    gated = {gate.run_number for gate in gates}
    ended = [run for run in runs if run.status == "completed"]
    without = _name_runs(run for run in ended if run.run_number not in gated)
    met = "The gate is met." if len(gates) == 1 else f"All {len(gates)} gates are met."
    if without:
        yield "plain", f"{met} None is set for {without}."
    elif judges_results(gate.name for gate in gates):
        yield "good", met
    elif any(run.people_judge for run in runs):
        yield "plain", met  # their gates are judged when the reviews are closed
    else:
        yield "plain", f"{met} No gate is set on pass rates or severities."


def limitations(report: Report, series: Mapping[str, Sequence[Observation]]) -> Report:
    """A copy of the report with its `limitations`: sentences on the limits of its numbers.

    `series` maps the name of each series to its observations.
    """
    return replace(report, limitations=tuple(_limitations(report, series)))


def _limitations(report: Report, series: Mapping[str, Sequence[Observation]]) -> Iterator[str]:
    yield from _limitations_of_series(series)
    runs = [provenance.run for provenance in report.asked]
    if all(run.repetitions == 1 for run in runs):
        yield "Every case was asked once, so the stability of the answers is unknown."
    elif once := _name_runs(run for run in runs if run.repetitions == 1):
        yield f"Every case was asked once in {once}, so the stability of those answers is unknown."
    for run in runs:
        if run.part is not None:
            yield (
                f"Run {run.run_number} asked a part of what its configuration names "
                f"({run.part}); its numbers are of that part."
            )
    if unknown := [cost.key for cost in report.costs if cost.cost_usd is None]:
        names = ", ".join(map(judge_named, dict.fromkeys(unknown)))
        yield f"The cost of {names} is unknown: no price, or no count of tokens."
    if charged := sum(cost.possibly_charged for cost in report.costs):
        yield f"{plural(charged, 'request')} without an answer may have been charged."
    compared = any(agreement.one == JUDGES for agreement in report.agreement)
    reviewed = any(run.reviews.get(status) for run in runs for status in REVIEW_STATUSES)
    if any(run.judges for run in runs) and not compared and not reviewed:
        yield "Models judged, and no person has reviewed what they said."
    yield from unmeasured_judges(report.calibrations)
    for provenance in report.asked:
        if provenance.skipped:
            defects = plural(len(provenance.skipped), "defect")
            yield (
                f"Run {provenance.run.run_number}: {defects} kept cases out of the plan: the rates "
                "do not cover them."
            )
    for sentence in _unlike_series(report.pairings):
        yield f"{sentence} The rates cover other results than the comparison."
    yield from _earlier_attempts(report)
    yield from _undetectable_differences(report)
    yield "The cases are a chosen sample: the intervals do not generalise to other cases."
    commands = ", ".join(f"`failproof-es verify {run.run_number}`" for run in runs)
    yield (
        "This report was made from the log as it is, and does not compare it with what was signed. "
        f"To do so: {commands}."
    )


def _earlier_attempts(report: Report) -> Iterator[str]:
    """A sentence for each run with earlier attempts, or earlier runs that share many of its cases.

    The run of the report can be the luckiest of them.
    """
    for run in (provenance.run for provenance in report.asked):
        before = run.attempts.attempt - 1
        overlap = sum(other.run_number < run.run_number for other in run.attempts.overlapping)
        tried = [
            *([plural(before, "earlier attempt")] if before else []),
            *([plural(overlap, "earlier overlapping run")] if overlap else []),
        ]
        if tried:
            yield (
                f"Run {run.run_number} has {' and '.join(tried)}. Choosing the best of several "
                "attempts inflates its result; the intervals do not correct for that."
            )


def _limitations_of_series(series: Mapping[str, Sequence[Observation]]) -> Iterator[str]:
    """A sentence for each limitation that a series has: it names them all, each with its number."""
    named: dict[str, list[str]] = {}
    for name, of in series.items():
        for limitation, number in _limitations_of_one(of):
            named.setdefault(limitation, []).append(f"{name} ({number})")
    yield from (f"{limitation}: {', '.join(names)}." for limitation, names in named.items())


def _limitations_of_one(of: Sequence[Observation]) -> Iterator[tuple[str, str]]:
    overall = pass_rate_of(of)
    if 0 < overall.clusters < _FEW:
        yield "The rates rest on few independent cases", f"{overall.clusters:,}"
    if overall.half_width is not None and overall.half_width > _WIDE:
        width = points(2 * overall.half_width)
        yield "The interval of the pass rate is wide, and more cases would narrow it", width
    for limitation, count in (
        ("Not scored, and in no rate", sum(seen.unscored_reason is not None for seen in of)),
        ("Cut off at max_tokens", sum(seen.class_ == cut_off.CLASS for seen in of)),
        *(
            (meaning, sum(seen.class_ == class_ for seen in of))
            for class_, meaning in _NOT_GRADED.items()
        ),
    ):
        if count:
            yield limitation, f"{count:,} of {plural(len(of), 'evaluation')}"


def _undetectable_differences(report: Report) -> Iterator[str]:
    """A sentence that names every two series which so few pairs can hardly tell apart."""
    effects: list[str] = []
    for comparison in report.comparisons:
        if comparison.what.startswith(BY_GROUP):
            continue  # the table has them
        smallest = comparison.paired.smallest_effect
        if smallest is not None and comparison.adjusted_p > 0.05:
            share = comparison.paired.first_only is not None
            effect = points(min(smallest, 1.0)) if share else f"{smallest:.3f}"
            effects.append(f"{comparison.one} and {comparison.other} ({comparison.what}: {effect})")
    if effects:
        yield f"A smaller difference would probably not have been detected: {', '.join(effects)}."
