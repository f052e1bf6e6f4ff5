"""Gates: the limits that a configuration sets for a complete run, and whether it meets them. Pure.

Each model is checked against each limit by itself, so that a good one hides no bad one; only the
cost is that of the whole run. A figure that was not measured meets no gate. Each gate says its
limit, the measured value, the counts, the model, whether it is met, and why not where that is not
plain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from failproof_es.configuration.schema import Gates
from failproof_es.core.costs import Spent
from failproof_es.core.pairing import Unpaired
from failproof_es.core.summary import RunSummary
from failproof_es.core.tally import Group, ModelTally
from failproof_es.declared_gates import DECLARED
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import one_line, shortened

Gate = dict[str, Any]
"""`limit`, `measured`, `of`, `met`, and what else there is to say of it; `model`, if of one."""
Named = Iterator[tuple[str, Gate]]


def describe_gate(name: str, gate: Mapping[str, Any]) -> str:
    """A gate in one phrase, whether it is met left out: its limit, and what was measured."""
    measured, of = gate.get("measured"), gate.get("of")
    said = f"{name} {format_amount(gate['limit'])}: "
    said += "nothing measured" if measured is None else f"measured {format_amount(measured)}"
    if measured is not None and of is not None:
        said += f" {'of' if isinstance(measured, int) else 'over'} {of:,}"
    if interval := gate.get("interval"):
        said += f", interval {format_amount(interval[0])} to {format_amount(interval[1])}"
    return f"{said} ({why})" if (why := gate.get("why")) else said


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

    `interval` is two-sided, at 95 %; `None` where nothing varies.
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


def judge_gates(
    limits: Gates, summary: RunSummary, *, changes: Sequence[Change] = ()
) -> dict[str, Gate]:
    """Each configured gate of a run by its name, and those on what was lost.

    The name ends in the model's where a run asked several. `changes` are read for the gate
    on them only.
    """
    judged: dict[str, Gate] = {}
    tallies = {model: summary.model_tally(model) for model in summary.models}
    for model, tally in tallies.items():
        for name, gate in _of_model(limits, model, tally):
            full = _unique(f"{name}.{model}" if len(tallies) > 1 else name, judged)
            judged[full] = gate | {"model": model}
    if limits.max_cost_usd is not None:
        judged["max_cost_usd"] = _cost(limits.max_cost_usd, summary)
    if limits.no_regression_against is not None:
        for change in changes:
            name = _unique(f"no_regression_against.{change.model}", judged)
            judged[name] = _no_regression(limits.no_regression_against, change)
            of = tallies.get(change.model)
            if of is not None and of.everything.awaiting:
                judged[name] |= {"met": False, "why": _awaited(of.everything)}
    return judged


_RATES = ("min_accuracy", "min_accuracy_by_suite", "no_failures_at")
"""The gates on rates, besides those that dialects declare."""
_OTHERS = ("max_error_rate", "max_lost_rate", "max_cost_usd", "no_regression_against")


def limits_at_the_end(limits: Gates) -> Gates:
    """The limits that a run is judged by when it ends: with `by: people` none on a rate."""
    if limits.by != "people":
        return limits
    return limits.model_copy(update=dict.fromkeys((*_RATES, *limits.declared())))


def limits_by_people(limits: Gates) -> Gates:
    """The limits that are judged when the reviews of a run are closed."""
    return limits.model_copy(update=dict.fromkeys(_OTHERS))


def _unique(name: str, taken: Mapping[str, Gate]) -> str:
    """The name, or another one: suites and models may be called anything, and no gate is lost."""
    return name if name not in taken else _unique(f"{name}'", taken)


def _of_model(limits: Gates, model: str, tally: ModelTally) -> Named:
    """The gates of one model by itself."""
    yield from _accuracies(limits, tally)
    yield from _losses(limits, model, tally)
    if limits.max_error_rate is not None:
        yield "max_error_rate", _error_rate(limits.max_error_rate, tally)
    if limits.no_failures_at is not None:
        yield "no_failures_at", _no_failures(limits.no_failures_at, tally.severities)


def _accuracies(limits: Gates, tally: ModelTally) -> Named:
    """The rates that must be reached: accuracies, then those that dialects declare."""
    suites = sorted((limits.min_accuracy_by_suite or {}).items())
    accuracies = [
        ("min_accuracy", limits.min_accuracy, tally.everything),
        *(
            (f"min_accuracy_by_suite.{suite}", limit, tally.suites.get(suite, Group()))
            for suite, limit in suites
        ),
    ]
    for name, wanted, group in accuracies:
        if wanted is not None:
            yield name, _rate(wanted, group.accuracy, group.measured, group)
    for name, limit in limits.declared().items():
        if limit is None:
            continue
        gate = DECLARED.load(name)
        group = gate.group(tally)
        if gate.rate == "success_rate":
            yield name, _rate(limit, group.success_rate, group.finished, group)
        else:
            yield name, _rate(limit, group.accuracy, group.measured, group)


def _rate(wanted: float, measured: float | None, of: int, group: Group) -> Gate:
    gate: Gate = {"limit": wanted, "measured": measured, "of": of}
    if group.awaiting:
        return gate | {"met": False, "why": _awaited(group)}
    if measured is None:
        return gate | {"met": False, "why": "nothing that it is about was scored"}
    return gate | {"met": measured >= wanted}


def _awaited(group: Group) -> str:
    """Why nothing can be said of a group that people have not judged."""
    return f"{group.awaiting:,} of {group.finished:,} await review"


def _error_rate(limit: float, tally: ModelTally) -> Gate:
    gate: Gate = {"limit": limit, "measured": None, "of": tally.planned}
    if not tally.planned:
        return gate | {"met": False, "why": "nothing was planned"}
    rate = (tally.abandoned - tally.everything.awaiting) / tally.planned
    return gate | {"measured": rate, "met": rate <= limit}


MOST_LOST = 0.1
"""The share of a model's evaluations that may be lost where no gate says another."""
_LONGEST_REASON = 200


def _losses(limits: Gates, model: str, tally: ModelTally) -> Named:
    """Whether enough of a model's evaluations were answered.

    Judged without being asked for, too, where something was lost: a result over what is left
    may be another than the one over everything. Who allows more errors allows more losses.
    """
    limit = limits.max_lost_rate
    if limit is None:
        limit = max(MOST_LOST, limits.max_error_rate or 0.0)
    lost = tally.lost.total()
    if not tally.finished or (not lost and limits.max_lost_rate is None):
        return
    share = lost / tally.finished
    nothing = lost > 0 and not tally.scored and limit < 1 and limits.by != "people"
    gate: Gate = {"limit": limit, "measured": share, "of": tally.finished}
    gate["met"] = share <= limit and not nothing
    if lost:
        gate["why"] = f"model {model}: {describe_lost(tally)}"
    yield "max_lost_rate", gate


def describe_lost(model: ModelTally) -> str:
    """How many evaluations of a model were lost, and why: `8 of 12 evaluations lost: ... (8)`."""
    by_kind: dict[str, Counter[str]] = {}
    for (kind, reason), count in model.lost.items():
        by_kind.setdefault(kind, Counter())[reason] += count
    why = []
    for kind, reasons in sorted(by_kind.items(), key=lambda each: -each[1].total()):
        told = shortened(next(iter(reasons)), _LONGEST_REASON) if len(reasons) == 1 else kind
        why.append(f"{told or kind} ({reasons.total():,})")
    of = plural(model.finished, "evaluation")
    nothing = "" if model.scored else "; nothing was scored"
    return f"{model.lost.total():,} of {of} lost: {', '.join(why)}{nothing}"


def _no_failures(wanted: Sequence[str], severities: Mapping[str, Group]) -> Gate:
    """No failure, as its dialect says, at these severities.

    What has no score has not shown that it is none, nor has one that neither passes nor fails.
    """
    groups = [severities[each] for each in wanted if each in severities]
    finished = sum(group.finished for group in groups)
    failed = sum(group.failed for group in groups)
    unscored = finished - failed - sum(group.passed for group in groups)
    gate: Gate = {"limit": list(wanted), "measured": failed, "of": finished, "unscored": unscored}
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
    if known := spent.answers - spent.unpriced:
        why += f"; {plural(known, 'other answer')} took {float(spent.known_usd):.4g} US dollars"
    return gate | {"unpriced": spent.unpriced, "known_usd": float(spent.known_usd), "why": why}


def _unknown(key: str, spending: Mapping[str, Spent]) -> str:
    """A model of whose answers it is not known what they took, and how many they are."""
    spent = spending.get(key)
    if spent is None:
        return f"{key}, which has no price"
    return f"{key} ({spent.unpriced:,} of {plural(spent.answers, 'answer')})"


def _no_regression(against: int | str, change: Change) -> Gate:
    """Not met where the whole interval lies below 0: it is worse, and not by chance alone."""
    gate: Gate = {
        "limit": against,
        "model": change.model,
        "of": change.pairs,
        "cases": change.cases,
        "unpaired": change.unpaired,
    }
    if not change.pairs:
        why = "the two runs have no scored case in common"
        if change.why_unpaired:
            why += ": " + "; ".join(each.describe() for each in change.why_unpaired)
        return gate | {"measured": None, "interval": None, "met": False, "why": why}
    if change.unpaired:
        why = "; ".join(each.describe() for each in change.why_unpaired)
        left = f"nothing to compare with: {plural(change.unpaired, 'evaluation')}"
        gate |= {"why": f"{left}: {why}" if why else left}
    interval = change.interval
    met = change.difference >= 0 if interval is None else interval[1] >= 0
    return gate | {
        "measured": change.difference,
        "interval": None if interval is None else list(interval),
        "met": met,
    }
