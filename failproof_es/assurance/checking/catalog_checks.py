"""Checks the run numbers: they stand in a table beside the events, which no leaf covers."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import orjson

from failproof_es.store.ledger import Connection, LeafRow


class RunListCheck:
    """Compares the list of runs with what each run's first event says.

    A run that is taken off the list is not shown any more, though its events are there.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._before = self._read_run_list()
        self._started: dict[UUID, object] = {}

    def at(self, row: LeafRow) -> None:
        """Look at the next row of the log."""
        if row.topic == b"RunStarted" and row.version == 1:
            try:
                number = orjson.loads(row.state)["run_number"]
            except (ValueError, KeyError, TypeError):
                number = None
            self._started[UUID(bytes=row.stream_id)] = number

    def differences(self, *, whole: bool) -> Iterator[tuple[UUID, str]]:
        """Runs whose number is not what it was. `whole`: every event of the log was seen."""
        # A run that began meanwhile is in the rows, or in the list, or in both: so what must
        # be in the rows was listed before them, and what must be listed is looked up now.
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
