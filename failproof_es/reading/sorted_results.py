"""Results in the order of a column, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import total_ordering
from heapq import nsmallest
from itertools import islice
from typing import Any, NamedTuple

from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.severity import severity_of, severity_rank
from failproof_es.reading.recorded_run import PlannedOutcome, RecordedRun
from failproof_es.reading.result_conditions import STATES, state_of

MOST_SORTED = 100_000
"""Number of results that are sorted at most."""


@total_ordering
class SortKey:
    """A value to sort by; `None` comes last, in either direction."""

    __slots__ = ("_is_descending", "_value")

    def __init__(self, value: Any, is_descending: bool = False) -> None:
        self._value = value
        self._is_descending = is_descending

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SortKey) and self._value == other._value

    def __lt__(self, other: SortKey) -> bool:
        if self._value is None or other._value is None:
            return other._value is None and self._value is not None
        if self._is_descending:
            return bool(other._value < self._value)
        return bool(self._value < other._value)

    __hash__ = None  # type: ignore[assignment]


def worst_first(planned: PlannedOutcome) -> SortKey:
    """Failed results first, then those without a score. Among them the most severe (`severity_of`),
    then the lowest accuracy comes first."""
    state = "failed" if planned.failed else state_of(planned)
    severity = severity_rank(severity_of(planned.case))
    return SortKey((STATES.index(state), severity, planned.outcome.accuracy or 0.0))


class TooManyToSort(Exception):
    """More results fit than are sorted."""


class _Entry(NamedTuple):
    """The place is unique, so that two entries are never equal."""

    sort_key: SortKey
    place: int
    key: EvaluationKey


def sort_results(
    run: RecordedRun,
    results: Iterable[PlannedOutcome],
    key_of: Callable[[PlannedOutcome], SortKey],
    *,
    after: int = 0,
    limit: int | None = None,
) -> Iterator[PlannedOutcome]:
    """At most `limit` of the run's `results`, sorted, without the first `after`.

    Equal ones are in plan order. Keeps only the sorting keys in memory and reads the results again.
    Raises `TooManyToSort` if that is more than `MOST_SORTED`.
    """
    entries = (_Entry(key_of(planned), planned.place, planned.outcome.key) for planned in results)
    wanted = MOST_SORTED + 1 if limit is None else after + limit
    if limit is not None and wanted <= MOST_SORTED:
        chosen = nsmallest(wanted, entries)
    else:
        chosen = sorted(islice(entries, MOST_SORTED + 1))
        if len(chosen) > MOST_SORTED:
            raise TooManyToSort
    return run.outcomes_of((entry.place, entry.key) for entry in chosen[after:][:limit])
