"""The audit trail in words, for the table: who did it, about which case, what there is to say."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from failproof_es.cli.sanitise import one_line, shortened
from failproof_es.engine.recorded import UNREADABLE, stored_case
from failproof_es.store.reader import Connection, read_event, read_streams

_WIDTH = 100
_SAYS = {
    "ConfigurationResolved": "{path}",
    "ValidationPassed": "evaluations: {estimate[evaluations]}, requests: {estimate[requests]}",
    "ValidationFailed": "{problems}",
    "RunStarted": "run {run_number} {name}, evaluations: {planned_evaluations}",
    "CaseSkipped": "{place}: {why}",
    "PricesRecorded": "{priced}",
    "RunPaused": "{reason}",
    "LimitChanged": "{reason}: {limit_before} to {limit_after} at {server}",
    "RunCompleted": "scored: {counts[scored]}, abandoned: {counts[abandoned]}",
    "RunFailed": "{reason}",
    "RunValidated": "passed: {passed}",
    "RunSealed": "streams: {streams}, events: {events}",
    "FileWritten": "{kind}: {path}",
    "ErrorRecorded": "{kind}: {message}",
    "RetrySent": "attempt {attempt}",
    "AttemptLost": "{reason}",
    "EvaluationAbandoned": "{kind}: {reason}",
    "Reviewed": "{reviewer} says {verdict}: {notes}",
    "Judged": "{judge} says {verdict} {problem}",
}
"""What the table says of an event: fields of its details. The JSON has all of them."""
_PLACE = ("path", "line", "field")
"""Where a defect stands, as far as it is known: `place`, in one."""


class AuditRows:
    """Records of the trail as rows of a table; case ids are looked up in the log."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._cases: dict[str, str] = {}

    def row(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """The record in the columns position, time, event, who, case, model and says."""
        details = record["details"]
        of = self._evaluation(details["evaluation_id"]) if "evaluation_id" in details else details
        who = f"{details['who']}@{details['where']}" if "who" in details else None
        moment = datetime.fromisoformat(record["timestamp"]).astimezone(UTC)
        return {
            "position": details["position"],
            "time": moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3],
            "event": record["event"],
            "who": who,
            "case": self._case(of.get("prompt_id")),
            "model": of.get("model_key"),
            "says": says(record["event"], details),
        }

    def _evaluation(self, evaluation_id: str) -> Mapping[str, Any]:
        row = read_event(self._connection, UUID(evaluation_id), 1)
        return {} if row is None else row.upcast_payload()

    def _case(self, prompt: str | None) -> str | None:
        if prompt is None:
            return None
        if prompt not in self._cases:
            streams = read_streams(self._connection, [UUID(prompt)])
            self._cases[prompt] = prompt  # the trail goes on, whatever a case looks like
            with suppress(*UNREADABLE):
                self._cases[prompt] = stored_case(streams, UUID(prompt)).case_id
        return self._cases[prompt]


class _Fields(dict[str, Any]):
    """What is not there says nothing."""

    def __missing__(self, _: str) -> str:
        return ""


def says(event: str, details: Mapping[str, Any]) -> str:
    """The most telling of an event, in one line that is safe to show; empty where it is nothing."""
    fields = _Fields({name: _told(value) for name, value in details.items()})
    fields["place"] = ":".join(str(fields[name]) for name in _PLACE if fields[name])
    if event == "PricesRecorded":
        fields["priced"] = "; ".join(
            f"{each['model_key']} by {each['source'] or 'nobody'}" for each in details["models"]
        )
    text = _SAYS.get(event, "").format_map(fields)
    return shortened(one_line(" ".join(text.split()).rstrip(":")), _WIDTH)


def _told(value: Any) -> Any:
    match value:
        case None:
            return ""
        case dict():
            return _Fields(value)
        case bool():
            return "yes" if value else "no"
        case list():
            return "; ".join(map(str, value))
        case _:
            return value
