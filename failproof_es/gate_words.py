"""Describes gates and the evaluations that they count. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from failproof_es.core.tally import ModelTally
from failproof_es.core.unscored import GROUPS, WORDS, UnscoredGroup
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import one_line, shortened

_REASONED = frozenset(GROUPS) - {"cut_off", "withheld"}
"""Groups whose words leave out the reason; it is added if the whole group shares it."""
_LONGEST_REASON = 200


def describe_gate(name: str, gate: Mapping[str, Any]) -> str:
    """The gate's limit and measurement in one phrase, without the verdict.

    For example `min_accuracy 0.9: measured 0.85 over 40`.
    """
    measured, of = gate.get("measured"), gate.get("of")
    text = f"{name} {format_amount(gate['limit'])}: "
    text += "nothing measured" if measured is None else f"measured {format_amount(measured)}"
    if measured is not None and of is not None:
        text += f" {'of' if isinstance(measured, int) else 'over'} {of:,}"
    if interval := gate.get("interval"):
        text += f", interval {format_amount(interval[0])} to {format_amount(interval[1])}"
    return f"{text} ({why})" if (why := gate.get("why")) else text


def gate_line(name: str, gate: Mapping[str, Any]) -> str:
    """A gate as one printable line: its limit, its measurement, `met` or `NOT MET`."""
    return one_line(f"gate {describe_gate(name, gate)}, {'met' if gate['met'] else 'NOT MET'}")


def unmet_gates(gates: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The names of the gates that are not met, the one farthest from its limit first.

    Severities that failed come before shares; gates without a measurement come last.
    """
    unmet = {name: gate for name, gate in gates.items() if not gate["met"]}
    return sorted(unmet, key=lambda name: -_distance(unmet[name]))


def _distance(gate: Mapping[str, Any]) -> float:
    """The distance of the measurement from the limit, as a share of the greater of both, 0 to 2."""
    measured, limit = gate.get("measured"), gate["limit"]
    if not isinstance(measured, int | float):
        return -1.0
    if isinstance(limit, list | tuple):
        return 2.0
    if not isinstance(limit, int | float):
        return 0.0
    return abs(measured - limit) / max(abs(measured), abs(limit), 1e-12)


def format_amount(value: object) -> str:
    """A gate's limit or measurement as text: numbers with four significant digits.

    Lists, which hold severities, have commas.
    """
    if isinstance(value, float):
        return f"{value:.4g}"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def describe_unscored(model: ModelTally) -> str:
    """Number of evaluations of a model without a score, by reason, most frequent reason first.

    Those that wait for people are counted apart, as in `Group.missing`.

    `8 of 12 evaluations have no score: cut off at max_tokens (8); 1 awaits review by people`
    """
    why = []
    reasons: dict[UnscoredGroup, Counter[str]] = {}
    awaiting = 0
    for key, count in model.unscored.items():
        if key.group == "awaiting_people":
            awaiting += count
            continue
        reasons.setdefault(key.group, Counter())[key.reason or key.kind] += count
    for group in sorted(reasons, key=lambda group: (-reasons[group].total(), GROUPS.index(group))):
        words, counts = WORDS[group], reasons[group]
        if len(counts) == 1 and group in _REASONED:
            words += f": {shortened(next(iter(counts)), _LONGEST_REASON)}"
        why.append(f"{words} ({counts.total():,})")
    of = plural(model.finished, "evaluation")
    total = model.unscored.total() - awaiting
    text = f"{total:,} of {of} {'has' if total == 1 else 'have'} no score: {', '.join(why)}"
    if awaiting:
        text += f"; {plural(awaiting, 'awaits review by people', 'await review by people')}"
    return text if model.scored else f"{text}; nothing was scored"
