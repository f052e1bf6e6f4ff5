"""`OpenedRun`: a recorded run as typed results, data frames, charts and events.

All of it comes from the read side, the same as in `show`, `results` and `report`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import cached_property
from html import escape
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from failproof_es.assurance.signing.opened_store import open_store
from failproof_es.catalogue.result import RecordedResult
from failproof_es.catalogue.run import RunDocument
from failproof_es.catalogue.run_document import run_document
from failproof_es.core.history_errors import ImpossibleHistory
from failproof_es.core.summary import RunSummary
from failproof_es.gate_words import describe_gate
from failproof_es.reading.as_of import read_as_of
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.reading.remarks import remarks_on
from failproof_es.reading.summary_rows import model_rows, suite_rows, total_row
from failproof_es.store.reading.reader import Connection, RecordedEvent, find, resolve_run
from failproof_es.store.store import Store
from failproof_es.support.extras import require
from failproof_es.support.untrusted_text import one_line

logger = logging.getLogger("failproof_es")

if TYPE_CHECKING:
    from failproof_es.library.charts import Charts
    from failproof_es.library.frames import FrameLibrary

_SUMMARY_COLUMNS = ("evaluations", "passed", "failed", "abandoned", "awaiting_review")


class GatesNotMet(AssertionError):
    """The error of `assert_gates`.

    A run is not complete, its record has errors, or a gate is not met.
    """


class OpenedRun:
    """A run as it was in the log when it was opened, and a connection to read more of it.

    A context manager: leaving the context closes the connection.
    """

    def __init__(self, store: Store, reference: str) -> None:
        with ExitStack() as opening:
            self._connection = opening.enter_context(store.connect())
            run_id = resolve_run(self._connection, reference)
            self.recorded = RecordedRun.read(self._connection, run_id)
            self.remarks = remarks_on(self.recorded)
            """Facts that its counts do not show: imported, a part, carried over."""
            self._closing = opening.pop_all()

    @classmethod
    def open(cls, reference: str, *, database_url: str | None = None) -> Self:
        """Open the run with this number or id, or `latest`.

        Without a `database_url`, the database is that of the environment, else the embedded server.
        Raises `InvalidInput` if there is no such run.
        """
        with ExitStack() as opening:
            run = cls(opening.enter_context(open_store(database_url, logger.warning)), reference)
            run._closing.push(opening.pop_all())
            return run

    # -- what it is --

    @property
    def id(self) -> UUID:
        """The run's id, a UUID; `number` is the short one for people."""
        return self.recorded.run_id

    @property
    def number(self) -> int:
        """The run's number."""
        return self.recorded.started.run_number

    @property
    def name(self) -> str:
        """The run's name, as its configuration has it."""
        return self.recorded.started.name

    @property
    def status(self) -> str:
        """`running`, `paused`, `completed`, `failed` or `given_up`."""
        return self.recorded.run.status

    @cached_property
    def document(self) -> RunDocument:
        """The facts of the run as a document, the one that `show --json` prints, read now."""
        return run_document(self.recorded, read_as_of(self._reading(), self.recorded.reader))

    @cached_property
    def summary(self) -> RunSummary:
        """Every count, sum and rate of the run. Raises `ValueError` after `close`."""
        self._reading()
        return self.recorded.summary

    @property
    def gates(self) -> Mapping[str, Mapping[str, Any]]:
        """Each gate's limit, measurement and whether it is met, by name; empty until completion."""
        return self.recorded.gates

    @property
    def warning(self) -> str | None:
        """Why the log is read instead of the faster projections; `None` if they are read."""
        return self.recorded.reader.warning

    # -- what happened --

    def results(self, *, after: int = 0, limit: int | None = None) -> Iterator[RecordedResult]:
        """The planned evaluations in plan order, finished or not, a part of them in memory.

        Begins after the plan's place `after`, counted from 1, and yields at most `limit`, or all.
        Raises `RunIsArchived` if the run's events are in an archive file, and `ImpossibleHistory`
        if the record of an evaluation contradicts itself.
        """
        self._reading()
        for planned in self.recorded.outcomes(after=after, limit=limit):
            if planned.outcome.impossible is not None:
                raise ImpossibleHistory(planned.outcome.impossible)
            yield RecordedResult.of(planned, self.recorded)

    def frame(self, library: FrameLibrary | None = None) -> Any:
        """All results as a data frame of pandas or polars; by default of the installed one.

        Raises `InvalidInput` if neither is installed, or `library` is not.
        """
        from failproof_es.library.frames import frame_of

        return frame_of(self.results(), library)

    @cached_property
    def charts(self) -> Charts:
        """The charts of the run's report. Raises `InvalidInput` without the extra `report`."""
        require("report", "a chart")
        from failproof_es.library.charts import charts_of

        return charts_of(self._reading(), self.id)

    def events(self) -> Iterator[RecordedEvent]:
        """Every event of the run in commit order; each one's `event()` is its typed form."""
        return find(self._reading(), run_id=self.id)

    def _reading(self) -> Connection:
        """The connection to the log. Raises `ValueError` if it was closed or lost."""
        if self._connection.closed:
            message = f"run {self.number} can't be read further: its connection is closed"
            raise ValueError(f"{message}; open it again by failproof_es.open({self.number})")
        return self._connection

    def assert_gates(self) -> None:
        """Raise `GatesNotMet` unless the run is complete, its record sound, and every gate met."""
        __tracebackhide__ = True  # of pytest: a failure points to the test, not here
        run, reasons = self.recorded.run, []
        if run.status != "completed":
            reasons.append(f"it is {run.status}" + (f": {run.reason}" if run.reason else ""))
        if run.validation is not None and not run.validation.passed:
            reasons.append("checking its record found errors")
        if self.recorded.awaits_closing:
            reasons.append(f"people decide its gates: `failproof-es review close {self.number}`")
        reasons += [
            f"gate {describe_gate(name, gate)}, NOT MET"
            for name, gate in self.gates.items()
            if not gate["met"]
        ]
        if reasons:
            look = f"`failproof-es show {self.number}` says more"
            raise GatesNotMet(
                one_line(f"run {self.number} {self.name}: {'; '.join(reasons)}; {look}")
            )

    # -- closing, showing --

    def close(self) -> None:
        """Close the connections. The embedded server keeps running."""
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{one_line(self._title())}>"

    def _title(self) -> str:
        remarks = f" ({'; '.join(self.remarks)})" if self.remarks else ""
        return f"run {self.number} {self.name}{remarks}: {self.status}"

    def _repr_html_(self) -> str:
        """The run as a table: a row for each model and suite. Every text is escaped."""
        several = len(self.summary.models) > 1
        totals = model_rows(self.summary) if several else [total_row(self.summary)]
        rows = [*suite_rows(self.summary), *totals]
        head = "".join(
            f"<th>{_text(n.replace('_', ' '))}</th>" for n in ("model", "suite", *_SUMMARY_COLUMNS)
        )
        body = "".join(
            "<tr>"
            + "".join(f"<td>{_text(row[name])}</td>" for name in ("model", "suite"))
            + "".join(f"<td>{row[name]:,}</td>" for name in _SUMMARY_COLUMNS)
            + "</tr>"
            for row in rows
        )
        caption = _text(self._title())
        return (
            f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>"
        )


def _text(value: object) -> str:
    return escape(one_line(value))
