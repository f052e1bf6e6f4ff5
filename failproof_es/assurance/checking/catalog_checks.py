"""Checks the run numbers, which are in a table that no leaf covers."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import orjson

from failproof_es.store.ledger import Connection, LeafRow


class RunListCheck:
    """Compares the list of runs with the number in each run's first event.

    A run that is taken off the list is no longer shown, though its events are in the log.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._before = self._read_run_list()
        self._started: dict[UUID, object] = {}

    def at(self, row: LeafRow) -> None:
        """Take in the next row of the log."""
        if row.topic == b"RunStarted" and row.version == 1:
            try:
                number = orjson.loads(row.state)["run_number"]
            except (ValueError, KeyError, TypeError):
                number = None
            self._started[UUID(bytes=row.stream_id)] = number

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

    def _read_run_list(self) -> dict[UUID, object]:
        rows = self._connection.execute("SELECT run_id, run_number FROM failproof.run_list")
        return dict(rows.fetchall())
