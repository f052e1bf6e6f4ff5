"""Sorting results: by any column, ties in plan order, in bounded memory."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.reading import sorted_results
from failproof_es.reading.recorded_run import PlannedOutcome, RecordedRun
from failproof_es.reading.sorted_results import SortKey, TooManyToSort, sort_results, worst_first
from tests.unit.cli.summaries import abandoned_one, scored_one


class Run:
    """Gives results by their places."""

    def __init__(self, results: list[PlannedOutcome]) -> None:
        self._results = results

    def outcomes_of(self, places: Any) -> list[PlannedOutcome]:
        return [self._results[place - 1] for place, _ in places]


def run_of(values: list[Any]) -> tuple[RecordedRun, list[PlannedOutcome]]:
    """A run whose results have the case ids 1, 2, ...; `values` are sorted by."""
    results = []
    for place in range(1, len(values) + 1):
        outcome, case = scored_one(place, 1.0)
        results.append(PlannedOutcome(place, case, outcome))
    return cast(RecordedRun, Run(results)), results


def places(values: list[Any], is_descending: bool = False, **page: Any) -> list[int]:
    run, results = run_of(values)
    found = sort_results(
        run, results, lambda planned: SortKey(values[planned.place - 1], is_descending), **page
    )
    return [planned.place for planned in found]


@given(
    values=st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=12),
    is_descending=st.booleans(),
    after=st.integers(0, 5),
    limit=st.one_of(st.none(), st.integers(1, 6)),
)
def test_results_are_sorted_and_paged(
    values: list[int | None], is_descending: bool, after: int, limit: int | None
) -> None:
    sign = -1 if is_descending else 1
    order = sorted(
        range(1, len(values) + 1),
        key=lambda place: (values[place - 1] is None, sign * (values[place - 1] or 0), place),
    )
    assert places(values, is_descending, after=after, limit=limit) == order[after:][:limit]


def test_the_worst_failed_with_the_greatest_severity_and_the_lowest_score() -> None:
    def result(place: int, accuracy: float, severity: str | None, *tags: str) -> PlannedOutcome:
        outcome, case = scored_one(place, accuracy)
        case = case.model_copy(update={"severity": severity, "tags": tags})
        return PlannedOutcome(place, case, outcome)

    lost, case = abandoned_one(10)
    results = [
        PlannedOutcome(1, case.model_copy(update={"severity": "S0"}), lost),
        result(2, 1.0, "S0"),
        result(3, 0.0, None, "smoke"),
        result(4, 0.5, "S1", "severity:critical"),
        result(5, 0.2, None, "severity:High"),
        result(6, 0.9, None, "severity:critical"),
        result(7, 0.0, "strange"),
    ]
    run = cast(RecordedRun, Run(results))
    found = [planned.place for planned in sort_results(run, results, worst_first)]
    assert found == [6, 5, 4, 7, 3, 1, 2]


def test_more_than_can_be_sorted_is_refused_but_not_a_page_of_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sorted_results, "MOST_SORTED", 3)
    assert places([3, 2, 1]) == [3, 2, 1]
    assert places([4, 3, 2, 1], limit=2) == [4, 3]
    for after, limit in ((0, None), (2, 2)):
        with pytest.raises(TooManyToSort):
            places([4, 3, 2, 1], after=after, limit=limit)
