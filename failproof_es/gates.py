"""Gates: the limits that a configuration sets for a complete run, and their verdicts. Pure.

Each model is judged by each limit separately, so that a good model hides no bad one; a
cost is the whole run's. A figure that was not measured meets no gate. Each gate states its limit,
the measured value, the counts, the model, whether it is met, and the reason if the numbers do not
show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import ceil
from typing import Any

from failproof_es.configuration.gates_section import MOST_UNSCORED, Gates, GateSubject
from failproof_es.core.costs import Spent
from failproof_es.core.pairing import OTHER_VERSIONS, Unpaired
from failproof_es.core.severity import severity_rank
from failproof_es.core.summary import RunSummary
from failproof_es.core.tally import Group, ModelTally
from failproof_es.declared_gates import DECLARED
from failproof_es.gate_words import describe_unscored, format_amount
from failproof_es.support.plurals import plural

Gate = dict[str, Any]
"""Keys `limit`, `measured`, `of`, `met`; where they apply `model`, `why`, `interval` and others."""
NamedGates = Iterator[tuple[str, Gate]]


@dataclass(frozen=True, slots=True)
class Change:
    """A model's change against another run: the mean of paired differences of their scores.

    The difference is this run's score less the other's. `interval` is two-sided at 95 %; `None` if
    the pairs are too few to exclude any difference.
    """

    model: str
    pairs: int
    cases: int
    unpaired: int
    """Planned evaluations of the model that the two runs have not both scored."""
    difference: float
    interval: tuple[float, float] | None
    why_unpaired: tuple[Unpaired, ...] = ()
    """Reasons, each with its counts in this run and in the other one."""
    other_versions: tuple[str, ...] = ()
    """Graders whose versions differ between the runs: `failproof.accuracy 3, before 2`."""
    lost: int = 0
    """Evaluations that the other run scored, and this one left without a score."""
    interval_if_lost_failed: tuple[float, float] | None = None
    """The interval if the lost evaluations had failed: losing bad answers must raise no rate."""

    @property
    def regraded(self) -> int:
        """The number of evaluations that different grader versions scored in the two runs."""
        return sum(
            unpaired.first for unpaired in self.why_unpaired if unpaired.why == OTHER_VERSIONS
        )


@dataclass(frozen=True, slots=True)
class RetryBias:
    """The bias of a run that asked evaluations of another run again because of their results."""

    by_result: str | None = None
    """Why no rate of the run is a measurement; `None` if no evaluation was chosen by its result."""
    unscored_before: Mapping[str, int] = field(default_factory=dict)
    """For each model, the scored evaluations whose earlier answer was left without a score."""


ASKED_ONCE = RetryBias()


@dataclass(frozen=True, slots=True)
class AccuracyBounds:
    """The 95 % interval of a model's mean accuracy over `cases` cases."""

    low: float
    high: float
    cases: int


BoundsByGroup = Mapping[tuple[str, str | None], AccuracyBounds]
"""Keys are model and suite; the suite `None` means all suites of the model."""


def judge_gates(
    limits: Gates,
    summary: RunSummary,
    *,
    changes: Sequence[Change] = (),
    again: RetryBias = ASKED_ONCE,
    bounds: BoundsByGroup | None = None,
) -> dict[str, Gate]:
    """Judge every configured gate, and the gate on unscored evaluations; verdicts by gate name.

    A name ends in the model's key if the run asked several models. `changes` are needed by
    `no_regression_against` only, `bounds` only if the lower ends of accuracies are judged. Rates
    and changes are not judged if `again` says that evaluations were chosen by their results.
    """
    judged: dict[str, Gate] = {}
    tallies = {model: summary.model_tally(model) for model in summary.models}
    for model, tally in tallies.items():
        for name, gate in _judge_model(limits, model, tally, again):
            if limits.judges_lower_end and name.startswith(_ACCURACY):
                suite = name.removeprefix(_ACCURACY).removeprefix("_by_suite.") or None
                gate = _at_lower_end(gate, (bounds or {}).get((model, suite)))
            full = _unique(f"{name}.{model}" if len(tallies) > 1 else name, judged)
            judged[full] = gate | {"model": model}
    if limits.max_cost_usd is not None:
        judged["max_cost_usd"] = _judge_cost(limits.max_cost_usd, summary)
    if limits.no_regression_against is not None:
        for change in changes:
            name = _unique(f"no_regression_against.{change.model}", judged)
            judged[name] = _judge_regression(
                limits.no_regression_against, limits.regression_margin, change
            )
            if change.regraded:
                judged[name] |= {
                    "met": False,
                    "cannot_tell": True,
                    "why": _describe_regraded(change),
                }
            of = tallies.get(change.model)
            if of is not None and of.everything.awaiting:
                judged[name] |= {"met": False, "why": _describe_awaited(of.everything)}
            judged[name] = not_judged(judged[name], again)
    return judged


def not_judged(gate: Gate, again: RetryBias) -> Gate:
    """The same gate if evaluations were not chosen by their results, else a gate that is not met.

    It then has no measurement.
    """
    if again.by_result is None:
        return gate
    why = f"not judged: {again.by_result}"
    return gate | {"measured": None, "interval": None, "met": False, "why": why}


def _describe_regraded(change: Change) -> str:
    """Why the change cannot be judged: different grader versions scored the two runs."""
    return (
        f"cannot tell: {plural(change.regraded, 'evaluation')} graded otherwise, by other versions "
        f"({'; '.join(change.other_versions)}); start the baseline again, or `replay` it to see "
        "what this version says"
    )


_ACCURACY = "min_accuracy"


def _at_lower_end(gate: Gate, bounds: AccuracyBounds | None) -> Gate:
    """The gate of an accuracy, judged by the lower end of its interval.

    Without `bounds` it is not met: too few cases have no interval.
    """
    gate = gate | {"judge": "lower"}
    if gate["measured"] is None:
        return gate
    if bounds is None:
        why = "cannot tell: so few cases have no interval"
        return gate | {"met": False, "cannot_tell": True, "why": _append_reason(gate, why)}
    gate |= {"interval": [bounds.low, bounds.high]}
    if bounds.low >= gate["limit"] or not gate["met"]:
        return gate
    why = _describe_inconclusive(
        f"the accuracy may be as low as {format_amount(bounds.low)}",
        gate["measured"] - gate["limit"], gate["measured"] - bounds.low, bounds.cases,
    )  # fmt: skip
    return gate | {"met": False, "cannot_tell": True, "why": _append_reason(gate, why)}


def _append_reason(gate: Gate, why: str) -> str:
    return f"{gate['why']}; {why}" if gate.get("why") else why


def _describe_inconclusive(what: str, distance: float, reach: float, cases: int) -> str:
    """Why the data are inconclusive, and about how many similar cases would decide.

    `what` is the finding. The interval reaches `reach` below the measured value, where `distance`
    would be allowed; its width shrinks with the square root of the number of cases.
    """
    text = f"cannot tell: {what} over {plural(cases, 'case')}"
    if distance <= 0:
        return text
    return f"{text}; about {ceil(cases * (reach / distance) ** 2):,} like these would tell"


def judges_results(gates: Iterable[str]) -> bool:
    """Whether one of the gates of these names is on pass rates, severities or regressions."""
    others = (*Gates.on(GateSubject.REST), *Gates.on(GateSubject.JUDGES))
    return any(not name.startswith(others) for name in gates)


def limits_at_the_end(limits: Gates) -> Gates:
    """The limits that are judged when the run ends.

    With `by: people` these are none on results: people's verdicts come later.
    """
    if limits.by != "people":
        return limits
    results = (*Gates.on(GateSubject.RESULTS), *limits.declared())
    return limits.model_copy(update=dict.fromkeys(results))


def limits_by_people(limits: Gates) -> Gates:
    """The limits for the gates on results, which are judged when the reviews of a run are closed.

    `max_unscored_rate` is also a limit of the parts that such gates judge, and stays.
    """
    rest = [name for name in Gates.on(GateSubject.REST) if name != "max_unscored_rate"]
    return limits.model_copy(update=dict.fromkeys(rest))


def _unique(name: str, gates: Mapping[str, Gate]) -> str:
    """The name, with `'` appended until it is unique: suite and model names may collide."""
    return name if name not in gates else _unique(f"{name}'", gates)


def _judge_model(limits: Gates, model: str, tally: ModelTally, again: RetryBias) -> NamedGates:
    """The gates of one model, each with its name."""
    for name, gate in _judge_rates(limits, tally):
        yield name, not_judged(gate, again)
    yield from _judge_unscored(limits, model, tally, again.unscored_before.get(model, 0))
    if limits.no_failures_at is not None:
        failures = _judge_failures(limits.no_failures_at, tally.severities)
        yield "no_failures_at", not_judged(failures, again)


def _judge_rates(limits: Gates, tally: ModelTally) -> NamedGates:
    """The gates on accuracies, then the gates that dialects declare, each with its name."""
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
            gate = _judge_rate(minimum, group.accuracy, group.measured, group)
            whole = group is tally.everything  # `max_unscored_rate` judges the whole
            yield name, gate if whole else _limit_unscored_part(gate, limits, group)
    for name, limit in limits.declared().items():
        if limit is None:
            continue
        declared = DECLARED.load(name)
        group = declared.group(tally)
        if declared.rate == "success_rate":
            yield name, _judge_rate(limit, group.success_rate, group.finished, group)
        else:
            gate = _judge_rate(limit, group.accuracy, group.measured, group)
            yield name, _limit_unscored_part(gate, limits, group)


def _limit_unscored_part(gate: Gate, limits: Gates, group: Group) -> Gate:
    """The gate of a part of the evaluations, not met if too many of that part have no score.

    The limit is that of `max_unscored_rate`; `group` counts the part.
    """
    limit = limits.max_unscored_rate
    if limit is None or not gate["met"] or group.missing / group.finished <= limit:
        return gate
    why = f"{group.missing:,} of {plural(group.finished, 'evaluation')} of it have no score"
    return gate | {"met": False, "why": f"{why}, more than {format_amount(limit)}"}


def _judge_rate(minimum: float, measured: float | None, of: int, group: Group) -> Gate:
    gate: Gate = {"limit": minimum, "measured": measured, "of": of}
    if group.awaiting:
        return gate | {"met": False, "why": _describe_awaited(group)}
    if measured is None:
        return gate | {"met": False, "why": "no evaluation of this gate was scored"}
    return gate | {"met": measured >= minimum}


def _describe_awaited(group: Group) -> str:
    """Why a group is not judged: people have not reviewed all of its evaluations."""
    return f"{group.awaiting:,} of {group.finished:,} await review"


def _judge_unscored(limits: Gates, model: str, tally: ModelTally, before: int) -> NamedGates:
    """The gate `max_unscored_rate` of a model: the share of evaluations without a score.

    The default limit is judged, too, if an evaluation has no score: a rate over the scored ones
    may differ from the rate over all. `before` counts evaluations that have a score only because
    they were asked again after an answer without one. Evaluations that await people do not count.
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
    if tally.everything.missing:
        why.append(describe_unscored(tally))
    if before:
        have = plural(before, "evaluation has a score", "evaluations have a score")
        why.append(f"{have} only because a first answer without one was asked again")
    if unscored:
        gate["why"] = f"model {model}: {'; '.join(why)}"
    yield "max_unscored_rate", gate


def _judge_failures(levels: Sequence[str], severities: Mapping[str, Group]) -> Gate:
    """The gate `no_failures_at`: no failed evaluation of a case with one of these severities.

    `levels` are the gate's severities, `severities` the model's results by severity: `critical` is
    `S0`. An evaluation without a score, or with one that is neither pass nor failure, does not meet
    it.
    """
    ranks = set(map(severity_rank, levels))
    groups = [group for name, group in severities.items() if severity_rank(name) in ranks]
    finished = sum(group.finished for group in groups)
    failed = sum(group.failed for group in groups)
    unscored = finished - failed - sum(group.passed for group in groups)
    gate: Gate = {"limit": list(levels), "measured": failed, "of": finished, "unscored": unscored}
    if not finished:
        return gate | {"measured": None, "met": False, "why": "no case has such a severity"}
    if unscored:
        gate |= {"why": f"{unscored} of {finished} have no score"}
    return gate | {"met": not failed and not unscored}


def _judge_cost(limit: float, summary: RunSummary) -> Gate:
    """The gate on the cost of all answers, in US dollars.

    Not met if the cost of an answer is unknown, or if requests without an answer may have exceeded
    the limit.
    """
    gate: Gate = {"limit": limit, "measured": None, "of": summary.planned, "met": False}
    if not summary.planned:
        return gate | {"why": "nothing was planned"}
    spent = summary.spent
    if not summary.unpriced:
        gate |= {"measured": float(spent.known_usd)}
        return gate | _judge_known_cost(Decimal(str(limit)), spent)
    unknown = ", ".join(
        _describe_unpriced(key, summary.counts.spending) for key in summary.unpriced
    )
    why = f"unknown cost: {unknown}"
    if priced := spent.answers - spent.unpriced:
        why += f"; {plural(priced, 'other answer')} cost {float(spent.known_usd):.4g} US dollars"
    return gate | {"unpriced": spent.unpriced, "known_usd": float(spent.known_usd), "why": why}


def _judge_known_cost(limit: Decimal, spent: Spent) -> Gate:
    """Whether the cost is within the limit, and the requests that may have added to it."""
    if not spent.possibly_charged or spent.known_usd > limit:
        return {"met": spent.known_usd <= limit}
    requests = f"{plural(spent.possibly_charged, 'request')} without an answer"
    most = spent.most_usd
    if most is None:
        why = f"cannot tell: nothing bounds what {requests} may have cost"
        return {"met": False, "cannot_tell": True, "why": why}
    why = f"at most {float(most):.4g}: {requests} may have been charged"
    if most <= limit:
        return {"met": True, "why": why}
    return {"met": False, "cannot_tell": True, "why": f"cannot tell: {why}"}


def _describe_unpriced(key: str, spending: Mapping[str, Spent]) -> str:
    """The model with the key, and how many of its answers have an unknown cost."""
    spent = spending.get(key)
    if spent is None:
        return f"{key}, which has no price"
    return f"{key} ({spent.unpriced:,} of {plural(spent.answers, 'answer')})"


def _judge_if_lost_failed(gate: Gate, margin: float, change: Change) -> Gate:
    """The gate, not met unless it would also hold if all lost evaluations had failed.

    `margin` is the largest loss allowed.
    """
    ends = change.interval_if_lost_failed
    if ends is not None and ends[0] >= -margin:
        return gate
    excluded = "no loss is" if ends is None else f"a loss of {format_amount(-ends[0])} is not"
    why = (
        f"cannot tell: {plural(change.lost, 'evaluation')} had a score before and none now; if all "
        f"had failed, {excluded} excluded"
    )
    return gate | {"met": False, "cannot_tell": True, "why": _append_reason(gate, why)}


def _judge_regression(against: int | str, margin: float, change: Change) -> Gate:
    """The gate `no_regression_against` of one model.

    `against` is the other run. Met if the interval excludes a loss of more than `margin`; not met
    without pairs.
    """
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
        return _judge_if_lost_failed(gate, margin, change)
    if gate["met"] or (interval is not None and interval[1] < -margin):
        return gate
    if interval is None:
        why = f"cannot tell: {plural(change.cases, 'case')} exclude no loss"
    else:
        why = _describe_inconclusive(
            f"a loss of {format_amount(-interval[0])} is not excluded",
            change.difference + margin, change.difference - interval[0], change.cases,
        )  # fmt: skip
    return gate | {"cannot_tell": True, "why": _append_reason(gate, why)}
