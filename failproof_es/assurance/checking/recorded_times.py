"""Compares the time at which a run's first event was recorded with its signed time.

The database's clock gives `recorded_at`, which no leaf covers. The event's timestamp is signed.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from uuid import UUID

from failproof_es.store.errors import UnreadableEvent
from failproof_es.store.reading.reader import Connection, read_event

APART = timedelta(days=1)
"""The most time by which the database's clock may differ from that of a run's first host.

Nothing bounds it: hosts have clocks of their own. A larger difference is remarked, no finding.
"""


def describe_times_apart(
    number: object, signed: datetime, recorded: datetime, position: int
) -> str | None:
    """The remark on a run whose first event was recorded more than `APART` from its signed time.

    `None` for any other. Raises `TypeError` for a time without a zone, and `OverflowError`.
    """
    if abs(recorded - signed) <= APART:
        return None
    signed, recorded = signed.astimezone(UTC), recorded.astimezone(UTC)
    return (
        f"run {number} began at {signed:%Y-%m-%d %H:%M}Z by its signed time, and was recorded at "
        f"{recorded:%Y-%m-%d %H:%M}Z (position {position}): a host's clock was wrong, or "
        "recorded_at was changed"
    )


def times_apart(connection: Connection, run_id: UUID) -> str | None:
    """`describe_times_apart` of a run in the log; `None` too if its first event cannot be read."""
    with suppress(UnreadableEvent, ValueError, KeyError, TypeError, OverflowError):
        if (row := read_event(connection, run_id, 1)) is not None:
            state = row.payload()
            signed = datetime.fromisoformat(state["timestamp"])
            number = state["run_number"]
            return describe_times_apart(number, signed, row.recorded_at, row.position)
    return None
