"""`audit_trail`: what happened, when, in which run, and why (specification 001 § 8.2).

The life of runs, operations on them, verdicts of people and programs on their evaluations, and
everything that did not go as planned: retries, errors, limits, orphaned requests, abandoned
evaluations. Events that went as planned are only in the log itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

import orjson

from failproof_es.core.case import operations_id
from failproof_es.events import AUDITED, EVENTS, Reviewed
from projections.protocol import Cursor, Fact, Relation, sql_file

_COMMON = frozenset({"run_id", "about", "timestamp"})


class AuditTrail:
    """One row for each event that an auditor would ask about first."""

    name: LiteralString = "audit_trail"
    version: int = 6
    relations: tuple[Relation, ...] = (Relation("TABLE", "audit_trail"),)
    topics: frozenset[str] = frozenset(kind.__name__ for kind in AUDITED.values())
    in_shares = True

    def __init__(self) -> None:
        self._append = sql_file("audit_trail_append")

    def ddl(self) -> LiteralString:
        """The SQL that creates the table: the file `audit_trail.sql`."""
        return sql_file("audit_trail")

    def apply(self, cursor: Cursor, facts: Sequence[Fact]) -> None:
        """Append a row for each event of the batch that belongs in the audit trail."""
        records = [record for fact in facts if (record := audit_record(fact)) is not None]
        if records:
            rows = [
                record._replace(details=orjson.dumps(record.details).decode()) for record in records
            ]
            cursor.execute(self._append, [list(column) for column in zip(*rows, strict=True)])

    keeps_own_stream = True

    def forget_run(self, cursor: Cursor, run_id: UUID) -> None:
        """Remove the rows of the run's evaluations; those of the run and of operations stay."""
        cursor.execute(
            sql_file("audit_trail_forget"),
            {
                "run": run_id,
                "elsewhere": [str(run_id), str(operations_id(run_id))],
                "reviewed": Reviewed.__name__,
            },
        )


class AuditRecord(NamedTuple):
    """The record of specification 001 § 8.2, with the position of its event in the log."""

    position: int
    event: str
    timestamp: str
    test_run_id: str | None
    details: Any

    def document(self) -> dict[str, Any]:
        """The record as JSON: the position is the first of its details.

        A field of the event itself that has the same name is `own_position`.
        """
        own = {
            "own_position" if name == "position" else name: value
            for name, value in self.details.items()
        }
        return {
            "event": self.event,
            "timestamp": self.timestamp,
            "test_run_id": self.test_run_id,
            "details": {"position": self.position, **own},
        }


def log_record(fact: Fact) -> AuditRecord:
    """The record of any event, with all fields of its payload that have no column of their own.

    It is a row of the view `failproof.audit_log`.
    """
    payload = fact.payload
    details = {key: value for key, value in payload.items() if key not in _COMMON}
    details["stream_id"] = fact.stream_id
    run_id = fact.run_id or payload.get("about")
    return AuditRecord(fact.position, fact.topic, payload["timestamp"], run_id, details)


def audit_record(fact: Fact) -> AuditRecord | None:
    """The row of the audit trail for an event; `None` if the event does not belong there."""
    kind = EVENTS[fact.topic]
    event = kind.audit_name()
    if event is None or not kind.is_audited(
        fact.payload if fact.event is None else vars(fact.event)
    ):
        return None
    payload = fact.payload
    left_out = _COMMON | kind.not_in_trail
    details = {key: value for key, value in payload.items() if key not in left_out}
    details["stream_id"] = fact.stream_id
    run_id = fact.run_id or payload.get("about")
    return AuditRecord(fact.position, event, payload["timestamp"], run_id, details)
