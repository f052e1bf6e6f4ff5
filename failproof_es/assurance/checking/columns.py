"""Checks the columns of a row that its leaf does not cover."""

from __future__ import annotations

from uuid import UUID

import orjson

from failproof_es.assurance.checking.findings import (
    CLOCK,
    ROW_MISLABELLED,
    Verification,
    VerificationFinding,
)
from failproof_es.store import ledger
from failproof_es.store.ledger import LeafRow

CLOCK_TOLERANCE_US = 1_000_000
"""Microseconds that the database's clock may go back between two events."""
_HEAD_BYTES = 200
"""Bytes of a state in which its run is looked for: it begins with schema version and run."""
AT_NO_TIME = (ledger.INFINITELY_LATE, ledger.INFINITELY_EARLY)
"""Times that no clock gives: PostgreSQL's infinities."""


class RunMarks:
    """Compares the run in an event's state with the row's run id."""

    def __init__(self) -> None:
        self._marks: dict[bytes | None, bytes] = {None: b'"run_id":null'}

    def name(self, row: LeafRow) -> bool:
        """Whether the row's state names its run."""
        mark = self._marks.get(row.run_id)
        if mark is None:
            assert row.run_id is not None
            mark = self._marks[row.run_id] = b'"run_id":"%b"' % str(UUID(bytes=row.run_id)).encode()
        return row.state.find(mark, 0, _HEAD_BYTES) >= 0


class Columns:
    """Checks a row's run id and time of recording, which no leaf covers."""

    def __init__(self, result: Verification, last_us: int) -> None:
        self._result = result
        self.last_us = last_us
        """The latest time of recording so far, in microseconds."""
        self._marks = RunMarks()

    def at(self, row: LeafRow, index: int) -> None:
        """Check the next row."""
        if row.trouble is not None:
            return
        if not self._marks.name(row):
            self._result.add(finding(ROW_MISLABELLED, row, _how_mislabelled(row), index))
        if row.recorded_at_us in AT_NO_TIME:
            message = "recorded_at is infinite: no clock gives such a time"
            self._result.add(finding(CLOCK, row, message, index))
            return
        if row.recorded_at_us < self.last_us - CLOCK_TOLERANCE_US:
            seconds = (self.last_us - row.recorded_at_us) / 1e6
            message = (
                f"recorded {seconds:,.0f} s before an event before it: the clock was moved, or "
                "recorded_at was changed"
            )
            self._result.add(finding(CLOCK, row, message, index))
        self.last_us = max(self.last_us, row.recorded_at_us)


def _how_mislabelled(row: LeafRow) -> str:
    try:
        orjson.loads(row.state)
    except ValueError:
        return "its state is not JSON, and names no run"
    return "the row is filed under another run than its event names"


def finding(kind: str, row: LeafRow, message: str, index: int) -> VerificationFinding:
    """A finding about a row."""
    stream_id = UUID(bytes=row.stream_id)
    return VerificationFinding(
        kind, message, index, row.position, stream_id, row.version, row.shown_topic()
    )
