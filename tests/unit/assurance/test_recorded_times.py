"""When a run's first event was recorded, beside the time that it is signed with."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

import orjson

from failproof_es.assurance.checking.catalog_checks import RunListCheck
from failproof_es.store.ledger import Connection, LeafRow

RECORDED = datetime(2026, 11, 21, 12, tzinfo=UTC)


class _NoRuns:
    """A database without runs."""

    def execute(self, _: str) -> _NoRuns:
        return self

    def fetchall(self) -> list[Any]:
        return []


def remarks(*signed: str) -> list[str]:
    """The remarks on runs that began at these signed times, all recorded at one time."""
    check = RunListCheck(cast(Connection, _NoRuns()))
    for number, timestamp in enumerate(signed, 1):
        state = orjson.dumps({"run_number": number, "timestamp": timestamp})
        stream = UUID(int=number).bytes
        recorded_us = int(RECORDED.timestamp() * 1_000_000)
        row = LeafRow(number, stream, 1, b"RunStarted", state, stream, recorded_us, None)
        check.at(row)
    return check.remarks()


def test_a_signed_time_of_another_zone_is_written_in_utc() -> None:
    assert remarks("2026-11-22T13:59:00+02:00") == []
    (remark,) = remarks("2026-11-22T14:01:00+02:00")
    assert "began at 2026-11-22 12:01Z" in remark
    assert "recorded at 2026-11-21 12:00Z" in remark


def test_times_that_cannot_be_compared_are_no_remark() -> None:
    assert remarks("2020-01-01T00:00:00", "0001-01-01T00:00:00+05:00", "yesterday") == []


def test_many_runs_are_counted_and_not_kept() -> None:
    found = remarks(*["2020-01-01T00:00:00Z"] * 12)
    assert len(found) == 11
    assert found[-1] == "2 more runs with such times"
