"""Checks the number of each run, and when it was recorded: no leaf covers either."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from uuid import UUID

import orjson

from failproof_es.assurance.checking.recorded_times import describe_times_apart
from failproof_es.store.ledger import Connection, LeafRow
from failproof_es.support.plurals import plural

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""From which `recorded_at_us` counts."""
_MOST_REMARKS = 10


class RunListCheck:
    """Compares the list of runs with the number in each run's first event.

    A run that is taken off the list is no longer shown, though its events are in the log. It also
    compares the time of recording of each run's first event with the signed one: later events
    alone can be moved on without a remark.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._before = self._read_run_list()
        self._started: dict[UUID, object] = {}
        self._times_apart: list[str] = []
        """Remarks on the first runs whose first event was recorded far from its signed time."""
        self._more_apart = 0
        """Number of further runs with such times."""

    def at(self, row: LeafRow) -> None:
        """Take in the next row of the log."""
        if row.topic == b"RunStarted" and row.version == 1:
            try:
                state = orjson.loads(row.state)
                number = state["run_number"]
            except (ValueError, KeyError, TypeError):
                state, number = None, None
            self._started[UUID(bytes=row.stream_id)] = number
            with suppress(ValueError, KeyError, TypeError, OverflowError):
                self._compare_times(row, number, datetime.fromisoformat(state["timestamp"]))

    def _compare_times(self, row: LeafRow, number: object, signed: datetime) -> None:
        recorded = _EPOCH + timedelta(microseconds=row.recorded_at_us)
        remark = describe_times_apart(number, signed, recorded, row.position)
        if remark is None:
            return
        if len(self._times_apart) < _MOST_REMARKS:
            self._times_apart.append(remark)
        else:
            self._more_apart += 1

    def differences(self, *, whole: bool) -> Iterator[tuple[UUID, str]]:
        """Ids of runs whose number in the list differs from that in their first event, and how.

        With `whole` (every row of the log was seen), a listed run without a first event, too.
        """
        # A run that began meanwhile may be only in the rows or only in the list. So the rows must
        # have the runs that were listed before them, and the list is read again for the runs of the
        # rows.
        run_numbers = self._read_run_list()
        for run_id, number in self._started.items():
            if run_numbers.get(run_id) != number:
                there = run_numbers.get(run_id, "not listed")
                yield run_id, f"run {run_id} was started as number {number} and now is {there}"
        if whole:
            for run_id in self._before.keys() - self._started.keys():
                yield (
                    run_id,
                    f"run {run_id} is listed as number {self._before[run_id]}: no such run",
                )

    def remarks(self) -> list[str]:
        """The runs whose first event was recorded far from its signed time."""
        more = self._more_apart
        return self._times_apart + ([f"{plural(more, 'more run')} with such times"] * (more > 0))

    def _read_run_list(self) -> dict[UUID, object]:
        rows = self._connection.execute("SELECT run_id, run_number FROM failproof.run_list")
        return dict(rows.fetchall())
