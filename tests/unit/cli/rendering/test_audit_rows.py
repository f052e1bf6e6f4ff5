"""The audit trail in words: every event that is in it says something, or nothing on purpose."""

from __future__ import annotations

from typing import Any, cast

import orjson

from failproof_es.cli.rendering.audit_rows import AuditRows, says
from failproof_es.events import EVENTS, Event
from failproof_es.store.mapper import encode
from projections.audit_trail import AuditRecord, AuditTrail, audit_record
from projections.protocol import Fact
from tests.every import every
from tests.unit.event_samples import SAMPLES

SILENT = {"ValidationStarted", "RunResumed"}
AUDITED = [each for each in SAMPLES if type(each).__name__ in AuditTrail.topics]


def record(sample: Event, **changes: Any) -> tuple[str, dict[str, Any]]:
    payload = {**orjson.loads(encode(sample)), **changes}
    found = audit_record(Fact(1, "stream", type(sample).__name__, None, payload))
    assert found is not None
    return found.event, found.details


@every("sample", AUDITED)
def test_every_event_of_the_trail_says_what_is_most_telling(sample: Event) -> None:
    event, details = record(sample, attempt=2, grader="api", judge="api")
    said = says(event, details)
    assert bool(said) == (event not in SILENT)
    assert "None" not in said and "{}" not in said and "::" not in said


def test_the_position_of_an_event_is_its_place_in_the_log_whatever_its_fields_are_named() -> None:
    record_fields = {*AuditRecord._fields, "stream_id"} - {"timestamp"}
    same = {
        (topic, field)
        for topic, kind in EVENTS.items()
        for field in set(kind.model_fields) & record_fields
    }
    assert same == {
        ("ReviewExported", "position"), ("ReviewClosed", "position"), ("Classified", "details"),
        ("QueueCreated", "position"), ("QueueClosed", "position"), ("JudgeCalibrated", "position"),
    }, "a field of this name would hide a place in the log"  # fmt: skip
    [closed] = [sample for sample in SAMPLES if type(sample).__name__ == "ReviewClosed"]
    payload = {**orjson.loads(encode(closed)), "position": 77}
    found = audit_record(Fact(1, "stream", "ReviewClosed", None, payload))
    assert found is not None
    details = found.document()["details"]
    assert (details["position"], details["own_position"]) == (1, 77)
    row = AuditRows(cast(Any, None)).row(found._replace(test_run_id=None))
    assert (row["position"], row["says"][:23]) == (1, "as of position 77, gate")


@every("topic", ["RequestSent", "Judged"])
def test_what_went_as_planned_is_not_in_the_trail(topic: str) -> None:
    [sample] = [each for each in AUDITED if type(each).__name__ == topic]
    payload = {**orjson.loads(encode(sample)), "attempt": 1, "judge": "judge:j", "grader": "g"}
    assert audit_record(Fact(1, "stream", topic, None, payload)) is None


def test_there_is_a_sample_of_every_event_of_the_trail() -> None:
    assert {type(each).__name__ for each in AUDITED} == AuditTrail.topics


def test_what_is_missing_or_hostile_breaks_no_line() -> None:
    assert says("ValidationPassed", {"estimate": {}}) == "evaluations: , requests"
    assert says("CaseSkipped", {"path": "a.yaml", "line": None, "field": None, "why": "no"}) == (
        "a.yaml: no"
    )
    assert says("Reviewed", {"reviewer": "{x}", "verdict": "fail", "notes": "\x1b[2J\nb"}) == (
        "{x} says fail: \\x1b[2J b"
    )
    assert says("SomethingNew", {"a": 1}) == ""
