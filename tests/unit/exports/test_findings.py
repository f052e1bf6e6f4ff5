"""SARIF: what people decided is a finding, a pass, or neither, like a verdict of the engine."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

from failproof_es.core.case import Case
from failproof_es.core.people import ReviewStatus
from failproof_es.exports.exporter import Export
from failproof_es.exports.sarif import Sarif
from failproof_es.reading.recorded_run import PlannedOutcome, RecordedRun
from tests.unit.summaries import abandoned_outcome, scored_outcome, summary_of


def test_what_people_failed_is_a_finding_and_what_they_passed_is_none() -> None:
    awaited = abandoned_outcome(awaiting=True)._replace(ended_kind="awaiting_review")
    statuses: tuple[ReviewStatus, ...] = ("awaiting", "pass", "fail", "unclear", "disputed")
    cases = [
        Case(dialect="redteam", case_id=f"c{number}", suite_id="s", turns=()) for number in range(8)
    ]
    by_people = [(awaited, status) for status in statuses]
    by_engine = [
        (scored_outcome(1.0), None),
        (scored_outcome(0.0), None),
        (scored_outcome(None), None),
    ]
    planned = [
        PlannedOutcome(place, case, outcome, status)
        for place, (case, (outcome, status)) in enumerate(
            zip(cases, [*by_people, *by_engine], strict=True), 1
        )
    ]
    run = SimpleNamespace(
        started=summary_of({"m": []}).run.started, run=summary_of({"m": []}).run,
        run_id="id", origin="asked", outcomes=lambda: iter(planned),
    )  # fmt: skip
    export = Export(datetime(2026, 1, 1, tzinfo=UTC))
    (file,) = Sarif().files([cast(RecordedRun, run)], export)
    (exported,) = json.loads(b"".join(file.pieces))["runs"]
    texts = [finding["message"]["text"] for finding in exported["results"]]
    assert texts == ["s/c2 failed with m: failed by people", "s/c6 failed with m: failed."]
    counts = {
        (row["left_out"], row["why"].partition(":")[0]): row["count"]
        for row in export.left_out.rows()
    }
    assert counts["evaluations that passed", "only what failed is a finding"] == 2
    undecided = {why for what, why in counts if what == "evaluations without a verdict"}
    assert undecided == {"awaiting_review", "unclear", "disputed", "scored"}
