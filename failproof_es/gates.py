"""Gates: the limits that a configuration sets for a complete run, and whether it meets them. Pure.

Each model is checked against each limit by itself, so that a good one hides no bad one; only the
cost is that of the whole run. A figure that was not measured meets no gate. Each gate says its
limit, the measured value, the counts, the model, whether it is met, and why not where that is not
plain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import ceil
from typing import Any

from failproof_es.configuration.schema import MOST_UNSCORED, Gates
from failproof_es.core.costs import Spent
from failproof_es.core.pairing import OTHER_VERSIONS, Unpaired
from failproof_es.core.summary import RunSummary
from failproof_es.core.tally import Group, ModelTally
from failproof_es.core.unscored import GROUPS, WORDS, UnscoredGroup
from failproof_es.declared_gates import DECLARED
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import one_line, shortened

Gate = dict[str, Any]
"""`limit`, `measured`, `of`, `met`, and what else there is to say of it; `model`, if of one."""
NamedGates = Iterator[tuple[str, Gate]]


def describe_gate(name: str, gate: Mapping[str, Any]) -> str:
    """A gate in one phrase, whether it is met left out: its limit, and what was measured."""
    measured, of = gate.get("measured"), gate.get("of")
    text = f"{name} {format_amount(gate['limit'])}: "
    text += "nothing measured" if measured is None else f"measured {format_amount(measured)}"
    if measured is not None and of is not None:
        text += f" {'of' if isinstance(measured, int) else 'over'} {of:,}"
    if interval := gate.get("interval"):
        text += f", interval {format_amount(interval[0])} to {format_amount(interval[1])}"
    return f"{text} ({why})" if (why := gate.get("why")) else text


def gate_line(name: str, gate: Mapping[str, Any]) -> str:
    """A gate in one line, safe to show: its limit, what was measured, whether it is met."""
    return one_line(f"gate {describe_gate(name, gate)}, {'met' if gate['met'] else 'NOT MET'}")


def format_amount(value: object) -> str:
    """A limit or a measurement as people read it: four digits, severities side by side."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


@dataclass(frozen=True, slots=True)
class Change:
    """One model against another run, over what both scored: the mean of paired differences.

    `interval` is two-sided, at 95 %; `None` where the pairs exclude no difference.
    """

    model: str
    pairs: int
    cases: int
    unpaired: int
    """What this run planned of the model and the two have not both scored."""
    difference: float
    interval: tuple[float, float] | None
    why_unpaired: tuple[Unpaired, ...] = ()
    """Of this run and of the other one."""
    other_versions: tuple[str, ...] = ()
    """What graded the two runs in different versions: `failproof.accuracy 3, before 2`."""
    lost: int = 0
    """Evaluations that the other run scored, and this one left without a score."""
    interval_if_lost_failed: tuple[float, float] | None = None
    """The interval if those had all failed: nobody raises a rate by losing bad answers."""

    @property
    def regraded(self) -> int:
        """The number of evaluations that both scored, by different versions of what graded them."""
        return sum(
            unpaired.first for unpaired in self.why_unpaired if unpaired.why == OTHER_VERSIONS
        )


@dataclass(frozen=True, slots=True)
class RetryBias:
    """The evaluations that a branch asked again because of how they had ended."""

    by_result: str | None = None
    """Why no rate of the run is a measurement; `None` if nothing was chosen by its result."""
    unscored_before: Mapping[str, int] = field(default_factory=dict)
    """By model: evaluations that have a score, and that the answer before had left without one."""


ASKED_ONCE = RetryBias()


@dataclass(frozen=True, slots=True)
class AccuracyBounds:
    """The 95 % interval of a model's mean accuracy, over so many cases."""

    low: float
    high: float
    cases: int


BoundsByGroup = Mapping[tuple[str, str | None], AccuracyBounds]
"""By model and suite; `None` for all suites of the model."""


def judge_gates(
    limits: Gates,
    summary: RunSummary,
    *,
    changes: Sequence[Change] = (),
    again: RetryBias = ASKED_ONCE,
    bounds: BoundsByGroup | None = None,
) -> dict[str, Gate]:
    """Each configured gate of a run by its name, and the one on what has no score.

    The name ends in the model's where a run asked several. `changes` are read for the gate
    on them only, `bounds` for accuracies of which the lower end is judged. Rates and changes are
    not judged where evaluations were asked again by result.
    """
    judged: dict[str, Gate] = {}
    tallies = {model: summary.model_tally(model) for model in summary.models}
    for model, tally in tallies.items():
        for name, gate in _of_model(limits, model, tally, again):
            if limits.judges_lower_end and name.startswith(_ACCURACY):
                suite = name.removeprefix(_ACCURACY).removeprefix("_by_suite.") or None
                gate = _at_lower_end(gate, (bounds or {}).get((model, suite)))
            full = _unique(f"{name}.{model}" if len(tallies) > 1 else name, judged)
            judged[full] = gate | {"model": model}
    if limits.max_cost_usd is not None:
        judged["max_cost_usd"] = _cost(limits.max_cost_usd, summary)
    if limits.no_regression_against is not None:
        for change in changes:
            name = _unique(f"no_regression_against.{change.model}", judged)
            judged[name] = _no_regression(
                limits.no_regression_against, limits.regression_margin, change
            )
            if change.regraded:
                judged[name] |= {"met": False, "cannot_tell": True, "why": _regraded(change)}
            of = tallies.get(change.model)
            if of is not None and of.everything.awaiting:
                judged[name] |= {"met": False, "why": _awaited(of.everything)}
            judged[name] = _not_judged(judged[name], again)
    return judged


def _not_judged(gate: Gate, again: RetryBias) -> Gate:
    """The gate as it is; not met, without a measurement, where a result chose what was asked."""
    if again.by_result is None:
        return gate
    why = f"not judged: {again.by_result}"
    return gate | {"measured": None, "interval": None, "met": False, "why": why}


def _regraded(change: Change) -> str:
    """Why nothing can be said of scores that different versions gave."""
    return (
        f"cannot tell: {plural(change.regraded, 'evaluation')} graded otherwise, by other versions "
        f"({'; '.join(change.other_versions)}); start the baseline again, or `replay` it to see "
        "what this version says"
    )


_ACCURACY = "min_accuracy"


def _at_lower_end(gate: Gate, bounds: AccuracyBounds | None) -> Gate:
    """The gate of an accuracy, judged by the lower end of its interval."""
    gate = gate | {"judge": "lower"}
    if gate["measured"] is None:
        return gate
    if bounds is None:
        why = "cannot tell: so few cases have no interval"
        return gate | {"met": False, "cannot_tell": True, "why": _also(gate, why)}
    gate |= {"interval": [bounds.low, bounds.high]}
    if bounds.low >= gate["limit"] or not gate["met"]:
        return gate
    why = _cannot_tell(
        f"the accuracy may be as low as {format_amount(bounds.low)}",
        gate["measured"] - gate["limit"], gate["measured"] - bounds.low, bounds.cases,
    )  # fmt: skip
    return gate | {"met": False, "cannot_tell": True, "why": _also(gate, why)}


def _also(gate: Gate, why: str) -> str:
    return f"{gate['why']}; {why}" if gate.get("why") else why


def _cannot_tell(what: str, distance: float, reach: float, cases: int) -> str:
    """Why the data decide nothing, and how many cases would decide it if they went on alike.

    The interval reaches so far beyond what was measured, and may reach no farther than `distance`:
    it shrinks with the root of the number of cases.
    """
    text = f"cannot tell: {what} over {plural(cases, 'case')}"
    if distance <= 0:
        return text
    return f"{text}; about {ceil(cases * (reach / distance) ** 2):,} like these would tell"


_RATES = ("min_accuracy", "min_accuracy_by_suite", "no_failures_at")
"""The gates on rates, besides those that dialects declare."""
_OTHER_GATES = ("max_unscored_rate", "max_cost_usd", "no_regression_against")


def limits_at_the_end(limits: Gates) -> Gates:
    """The limits that a run is judged by when it ends: with `by: people` none on a rate."""
    if limits.by != "people":
        return limits
    return limits.model_copy(update=dict.fromkeys((*_RATES, *limits.declared())))


def limits_by_people(limits: Gates) -> Gates:
    """The limits that are judged when the reviews of a run are closed."""
    return limits.model_copy(update=dict.fromkeys(_OTHER_GATES))


def _unique(name: str, gates: Mapping[str, Gate]) -> str:
    """The name, or another one: suites and models may be called anything, and no gate is lost."""
    return name if name not in gates else _unique(f"{name}'", gates)


def _of_model(limits: Gates, model: str, tally: ModelTally, again: RetryBias) -> NamedGates:
    """The gates of one model by itself."""
    for name, gate in _accuracies(limits, tally):
        yield name, _not_judged(gate, again)
    yield from _without_score(limits, model, tally, again.unscored_before.get(model, 0))
    if limits.no_failures_at is not None:
        failures = _no_failures(limits.no_failures_at, tally.severities)
        yield "no_failures_at", _not_judged(failures, again)


def _accuracies(limits: Gates, tally: ModelTally) -> NamedGates:
    """The rates that must be reached: accuracies, then those that dialects declare."""
    suites = sorted((limits.min_accuracy_by_suite or {}).items())
    accuracies = [
        ("min_accuracy", limits.min_accuracy, tally.everything),
        *(
            (f"min_accuracy_by_suite.{suite}", limit, tally.suites.get(suite, Group()))
            for suite, limit in suites
        ),
    ]
    for name, minimum, group in accuracies:
        if minimum is not None:
            gate = _rate(minimum, group.accuracy, group.measured, group)
            whole = group is tally.everything  # of that `max_unscored_rate` is a gate of its own
            yield name, gate if whole else _of_a_part(gate, limits, group)
    for name, limit in limits.declared().items():
        if limit is None:
            continue
        declared = DECLARED.load(name)
        group = declared.group(tally)
        if declared.rate == "success_rate":
            yield name, _rate(limit, group.success_rate, group.finished, group)
        else:
            gate = _rate(limit, group.accuracy, group.measured, group)
            yield name, _of_a_part(gate, limits, group)


def _of_a_part(gate: Gate, limits: Gates, group: Group) -> Gate:
    """The gate of a part of the evaluations: not met where too many of that part have no score."""
    limit = limits.max_unscored_rate
    if limit is None or not gate["met"] or group.missing <= limit * group.finished:
        return gate
    why = f"{group.missing:,} of {plural(group.finished, 'evaluation')} of it have no score"
    return gate | {"met": False, "why": f"{why}, more than {format_amount(limit)}"}


def _rate(minimum: float, measured: float | None, of: int, group: Group) -> Gate:
    gate: Gate = {"limit": minimum, "measured": measured, "of": of}
    if group.awaiting:
        return gate | {"met": False, "why": _awaited(group)}
    if measured is None:
        return gate | {"met": False, "why": "nothing that it is about was scored"}
    return gate | {"met": measured >= minimum}


def _awaited(group: Group) -> str:
    """Why nothing can be said of a group that people have not judged."""
    return f"{group.awaiting:,} of {group.finished:,} await review"


_LONGEST_REASON = 200


def _without_score(limits: Gates, model: str, tally: ModelTally, before: int) -> NamedGates:
    """Whether enough of a model's evaluations have a score, or wait for people alone.

    Judged without being set, too, where one has none: a result over what is left may be another
    than the one over everything. `before` are those that have a score only because they were asked
    again, and that the answer had left without one.
    """
    limit, unscored = limits.max_unscored_rate, tally.everything.missing + before
    if limit is None or (not unscored and limit == MOST_UNSCORED):
        return
    gate: Gate = {"limit": limit, "measured": None, "of": tally.finished}
    if not tally.finished:
        yield "max_unscored_rate", gate | {"met": False, "why": "nothing was planned"}
        return
    share = min(unscored / tally.finished, 1.0)
    nothing = unscored > 0 and not tally.scored and limit < 1 and limits.by != "people"
    gate |= {"measured": share, "met": share <= limit and not nothing}
    why = []
    if tally.unscored:
        why.append(describe_unscored(tally))
    if before:
        have = plural(before, "evaluation has a score", "evaluations have a score")
        why.append(f"{have} only because a first answer without one was asked again")
    if unscored:
        gate["why"] = f"model {model}: {'; '.join(why)}"
    yield "max_unscored_rate", gate


def describe_unscored(model: ModelTally) -> str:
    """How many evaluations of a model ended without a score, and why; those left to people apart.

    `9 of 12 evaluations have no score: cut off at max_tokens (8), awaits review by people (1)`
    """
    why = []
    reasons: dict[UnscoredGroup, Counter[str]] = {}
    for key, count in model.unscored.items():
        reasons.setdefault(key.group, Counter())[key.reason or key.kind] += count
    for group in sorted(reasons, key=lambda group: (-reasons[group].total(), GROUPS.index(group))):
        words, counts = WORDS[group], reasons[group]
        if len(counts) == 1 and group in _REASONED:
            words += f": {shortened(next(iter(counts)), _LONGEST_REASON)}"
        why.append(f"{words} ({counts.total():,})")
    of = plural(model.finished, "evaluation")
    have = "has" if (total := model.unscored.total()) == 1 else "have"
    nothing = "" if model.scored else "; nothing was scored"
    return f"{total:,} of {of} {have} no score: {', '.join(why)}{nothing}"


_REASONED = frozenset(GROUPS) - {"cut_off", "withheld", "awaiting_people"}
"""The groups whose words do not give the whole reason."""


def _no_failures(levels: Sequence[str], severities: Mapping[str, Group]) -> Gate:
    """No failure, as its dialect says, at these severities.

    What has no score has not shown that it is none, nor has one that neither passes nor fails.
    """
    groups = [severities[level] for level in levels if level in severities]
    finished = sum(group.finished for group in groups)
    failed = sum(group.failed for group in groups)
    unscored = finished - failed - sum(group.passed for group in groups)
    gate: Gate = {"limit": list(levels), "measured": failed, "of": finished, "unscored": unscored}
    if not finished:
        return gate | {"measured": None, "met": False, "why": "no case has such a severity"}
    if unscored:
        gate |= {"why": f"{unscored} of {finished} have no score"}
    return gate | {"met": not failed and not unscored}


def _cost(limit: float, summary: RunSummary) -> Gate:
    """What all answers took together; where that of one is not known, it is not met."""
    gate: Gate = {"limit": limit, "measured": None, "of": summary.planned, "met": False}
    if not summary.planned:
        return gate | {"why": "nothing was planned"}
    spent = summary.spent
    if not summary.unpriced:
        met = spent.known_usd <= Decimal(str(limit))
        return gate | {"measured": float(spent.known_usd), "met": met}
    unknown = ", ".join(_unknown(key, summary.counts.spending) for key in summary.unpriced)
    why = f"what it took is not known of {unknown}"
    if priced := spent.answers - spent.unpriced:
        why += f"; {plural(priced, 'other answer')} took {float(spent.known_usd):.4g} US dollars"
    return gate | {"unpriced": spent.unpriced, "known_usd": float(spent.known_usd), "why": why}


def _unknown(key: str, spending: Mapping[str, Spent]) -> str:
    """A model of whose answers it is not known what they took, and how many they are."""
    spent = spending.get(key)
    if spent is None:
        return f"{key}, which has no price"
    return f"{key} ({spent.unpriced:,} of {plural(spent.answers, 'answer')})"


def _at_worst(gate: Gate, margin: float, change: Change) -> Gate:
    """A gate that is met by what was scored: it holds if what is missing since had failed, too."""
    ends = change.interval_if_lost_failed
    if ends is not None and ends[0] >= -margin:
        return gate
    excluded = "no loss is" if ends is None else f"a loss of {format_amount(-ends[0])} is not"
    why = (
        f"cannot tell: {plural(change.lost, 'evaluation')} had a score before and none now; if all "
        f"had failed, {excluded} excluded"
    )
    return gate | {"met": False, "cannot_tell": True, "why": _also(gate, why)}


def _no_regression(against: int | str, margin: float, change: Change) -> Gate:
    """Met where the interval excludes a loss of more than the margin: no data are no evidence."""
    gate: Gate = {
        "limit": against,
        "margin": margin,
        "model": change.model,
        "of": change.pairs,
        "cases": change.cases,
        "unpaired": change.unpaired,
    }
    if not change.pairs:
        why = "the two runs have no scored case in common"
        if change.why_unpaired:
            why += ": " + "; ".join(unpaired.describe() for unpaired in change.why_unpaired)
        return gate | {"measured": None, "interval": None, "met": False, "why": why}
    if change.unpaired:
        why = "; ".join(unpaired.describe() for unpaired in change.why_unpaired)
        message = f"nothing to compare with: {plural(change.unpaired, 'evaluation')}"
        gate |= {"why": f"{message}: {why}" if why else message}
    interval = change.interval
    gate |= {
        "measured": change.difference,
        "interval": None if interval is None else list(interval),
        "met": interval is not None and interval[0] >= -margin,
    }
    if gate["met"] and change.lost:
        return _at_worst(gate, margin, change)
    if gate["met"] or (interval is not None and interval[1] < -margin):
        return gate
    if interval is None:
        why = f"cannot tell: {plural(change.cases, 'case')} exclude no loss"
    else:
        why = _cannot_tell(
            f"a loss of {format_amount(-interval[0])} is not excluded",
            change.difference + margin, change.difference - interval[0], change.cases,
        )  # fmt: skip
    return gate | {"cannot_tell": True, "why": _also(gate, why)}
