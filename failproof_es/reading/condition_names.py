"""Names in conditions that nothing in a run has: mistyped cases, suites, tags, classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from failproof_es.core.case import Case
from failproof_es.core.severity import is_same_severity, severity_of
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.reading.result_conditions import Conditions

_MOST_KNOWN = 20_000
"""Number of names that are collected at most, to find the near ones."""
_MOST_LISTED = 10
_NAMES_OF_CASE: Mapping[str, Callable[[Case], Sequence[str]]] = {
    "case": lambda case: (case.case_id,),
    "suite": lambda case: (case.suite_id,),
    "tag": lambda case: case.tags,
    "category": lambda case: () if case.category is None else (case.category,),
    "severity": lambda case: tuple(filter(None, [severity_of(case)])),
}
"""By the name of a condition, the names of a case that it can choose."""
_ALSO: Mapping[str, Callable[[Case], Sequence[str]]] = {"case": lambda case: case.names}
"""More of them, which no hint lists."""


class UnknownName(NamedTuple):
    """A name that a condition gives and nothing in the run has."""

    condition: str
    name: str
    known: Sequence[str]
    """Names that there are instead, at most 20,000."""

    def hint(self) -> str:
        """The nearest names, else some of the known ones, in words."""
        if near := get_close_matches(self.name, self.known, n=3):
            return f"did you mean {' or '.join(map(repr, near))}?"
        more = " and more" if len(self.known) > _MOST_LISTED else ""
        return f"there are: {', '.join(self.known[:_MOST_LISTED]) or 'none'}{more}"


def unknown_names(run: RecordedRun, conditions: Conditions) -> Iterator[UnknownName]:
    """The names in the conditions that neither a case nor a model nor a result of the run has.

    Reads the cases of the plan until every name was seen.
    """
    known: dict[str, Sequence[str]] = {
        "model": [model.key for model in run.started.models],
        **_known_of_cases(run, conditions),
    }
    if conditions.named.get("class_"):
        groups = run.summary.counts.groups.values()
        known["class_"] = sorted({name for group in groups for name in group.classes})
    for condition, names in conditions.named.items():
        for name in names:
            if condition in known and not _chosen_by(condition, known[condition], {name}):
                yield UnknownName(condition, name, known[condition])


def _known_of_cases(run: RecordedRun, conditions: Conditions) -> dict[str, Sequence[str]]:
    """The names that the cases have, by condition; the reading ends once all given ones are seen.

    Only for conditions that are given. All given names that exist are among them.
    """
    given = {name: set(conditions.named.get(name, ())) for name in _NAMES_OF_CASE}
    given = {name: names for name, names in given.items() if names}
    known: dict[str, dict[str, None]] = {name: {} for name in given}
    unseen = {(name, value) for name, values in given.items() for value in values}
    for case in run.cases() if unseen else ():
        for name, values in given.items():
            for value in _NAMES_OF_CASE[name](case):
                chosen = _chosen_by(name, [value], values)
                unseen -= {(name, word) for word in chosen}
                if chosen or len(known[name]) < _MOST_KNOWN:
                    known[name][value] = None
            if name in _ALSO:
                known[name] |= dict.fromkeys(values.intersection(_ALSO[name](case)))
                unseen -= {(name, value) for value in _ALSO[name](case)}
        if not unseen:
            break
    return {name: list(names) for name, names in known.items()}


def _chosen_by(condition: str, values: Sequence[str], names: set[str]) -> set[str]:
    """Those of the names that choose one of the values: `S0` chooses the severity `critical`."""
    if condition != "severity":
        return names.intersection(values)
    return {name for name in names if any(is_same_severity(value, name) for value in values)}
