"""Pages of a run's results: how they are chosen, sorted and cut."""

from __future__ import annotations

from typing import cast

import pytest

from failproof_es.cli.rendering.result_columns import WORST_FIRST
from failproof_es.cli.rendering.result_pages import PlanPage, results_of
from failproof_es.reading import sorted_results
from failproof_es.reading.recorded_run import PlannedOutcome, RecordedRun
from tests.unit.cli.summaries import scored_one


class RunInLog:
    """A run of five results that is read from the log."""

    reader = None

    def outcomes(self, *, after: int = 0) -> list[PlannedOutcome]:
        results = []
        for place in range(1, 6):
            outcome, case = scored_one(place, 0.0)
            results.append(PlannedOutcome(place, case, outcome))
        return results[after:]


def test_a_page_of_more_results_than_are_sorted_ends_at_its_limit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sorted_results, "MOST_SORTED", 3)
    page = PlanPage(cast(RecordedRun, RunInLog()), after=2, limit=2, order=WORST_FIRST)
    results = results_of(page)
    assert [planned.place for planned in results] == [3, 4]
    assert "in the order of the plan" in capsys.readouterr().err
