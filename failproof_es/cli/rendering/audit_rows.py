"""The rows of the audit table: the person, the case, and the details in words."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from failproof_es.engine.history import UNREADABLE, stored_case
from failproof_es.events import RunStarted
from failproof_es.events.line import line_of
from failproof_es.store.reading.reader import Connection, read_event, read_streams
from failproof_es.support.untrusted_text import one_line, shortened
from projections.audit_trail import AuditRecord

_WIDTH = 100
INCOMPLETE = "incomplete"
"""The detail of a `RunStarted` that says in words what the run did not ask or end."""


class AuditRows:
    """Converts records of the audit trail into rows of a table.

    Case ids are looked up in the log, each once.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._cases: dict[str, str] = {}
        self._numbers: dict[str | None, int | None] = {None: None}

    def document(self, record: AuditRecord) -> dict[str, Any]:
        """The record as JSON, with the number of its run, its case and model; `None` without."""
        return {
            **record.document(),
            "run_number": self._run_number(record.test_run_id),
            **self._case_and_model(record.details),
        }

    def row(self, record: AuditRecord) -> dict[str, Any]:
        """The record as a row: position, run, time, event, who, case, model and says."""
        details = record.details
        who = f"{details['who']}@{details['where']}" if "who" in details else None
        is_start = record.event == RunStarted.__name__  # ReviewClosed has a field of this name
        incomplete = details.get(INCOMPLETE) if is_start else None
        moment = datetime.fromisoformat(record.timestamp).astimezone(UTC)
        return {
            "position": record.position,
            "run": self._run_number(record.test_run_id) or record.test_run_id,
            "time": moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3],
            "event": record.event,
            "who": who,
            **self._case_and_model(details),
            "says": says(record.event, details) if incomplete is None else _shorten(incomplete),
        }

    def _run_number(self, run: str | None) -> int | None:
        """The number of the run with this id; `None` if it was never begun or is unreadable."""
        if run is not None and run not in self._numbers:
            number = self._first_payload(run).get("run_number")
            self._numbers[run] = number if isinstance(number, int) else None
        return self._numbers[run]

    def _case_and_model(self, details: Mapping[str, Any]) -> dict[str, Any]:
        """`case` and `model` of the evaluation that the record is about, or of the record."""
        evaluation_id = details.get("evaluation_id")
        asked = details if evaluation_id is None else self._first_payload(evaluation_id)
        return {"case": self._case(asked.get("prompt_id")), "model": asked.get("model_key")}

    def _first_payload(self, stream: str) -> Mapping[str, Any]:
        """The payload of the first event of a run or evaluation; empty if it is unreadable."""
        with suppress(*UNREADABLE):  # it must not end the trail
            if (row := read_event(self._connection, UUID(stream), 1)) is not None:
                return row.upcast_payload()
        return {}

    def _case(self, prompt: str | None) -> str | None:
        if prompt is None:
            return None
        if prompt not in self._cases:
            streams = read_streams(self._connection, [UUID(prompt)])
            self._cases[prompt] = prompt  # an unreadable case must not end the trail
            with suppress(*UNREADABLE):
                self._cases[prompt] = stored_case(streams, UUID(prompt)).case_id
        return self._cases[prompt]


def says(event: str, details: Mapping[str, Any]) -> str:
    """The most important detail of an event, in one line that is safe to show; may be empty.

    `event` is the topic, `details` the record's.
    """
    return _shorten(line_of(event, details))


def _shorten(text: str) -> str:
    return shortened(one_line(text), _WIDTH)
