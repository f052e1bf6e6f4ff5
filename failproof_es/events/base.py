"""The base class of all events, and how events refer to each other.

Modules of events have annotations that are objects, not texts: pydantic compiles texts anew for
each subclass, a third of the time that all of them take to import.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

Stream = Literal[
    "prompt", "collection", "ledger", "access", "operations", "review", "run", "evaluation"
]
"""The kinds of streams. `docs/architecture.md` says how each one's id is made."""


RunStatus = Literal["running", "paused", "completed", "failed", "given_up"]

ENDED: tuple[RunStatus, ...] = ("completed", "failed", "given_up")
"""States of a run that asks nothing any more."""

DRIVEN: tuple[RunStatus, ...] = ("running", "paused")
"""States of a run that may still ask something."""

LONG = frozenset({"body", "body_encoding", "headers", "stack_trace", "parameters"})
"""Fields that can be very long: the audit trail leaves them to the log."""


class Record(BaseModel):
    """A frozen value inside an event."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Event(Record):
    """The base of every event: its stream, its version there, its run, its time (UTC).

    The class declares the event's roles, so that no other module keeps a list of topics.
    """

    schema_version: ClassVar[int] = 1
    stream: ClassVar[Stream]
    """The kind of the event's stream."""
    ends_stream: ClassVar[bool] = False
    """Whether the event is the last one of its stream."""
    audited: ClassVar[bool] = False
    """Whether the event belongs in the audit trail of a run (specification 001 § 8.2)."""
    audited_as: ClassVar[str | None] = None
    """The event's name in the audit trail, where that is not its topic."""
    not_in_trail: ClassVar[frozenset[str]] = frozenset()
    """Fields that the trail leaves to the log, because they are long."""
    throws_away: ClassVar[bool] = False
    """Whether the event leaves something without a result that was begun or planned."""
    tells_progress: ClassVar[bool] = False
    """Whether the event tells the progress of a run."""
    says: ClassVar[str]
    """One line about the event: a format over its fields (`failproof_es.events.line`)."""

    originator_id: UUID
    originator_version: int
    run_id: UUID | None
    timestamp: datetime

    @classmethod
    def audit_name(cls) -> str | None:
        """The event's name in the audit trail; `None` where the trail leaves it out."""
        return (cls.audited_as or cls.__name__) if cls.audited else None

    @classmethod
    def is_audited(cls, payload: Mapping[str, Any]) -> bool:
        """Whether this event belongs in the trail, by its payload in the present schema."""
        return cls.audited


class RunEvent(Event):
    """An event of a run's own stream: its place there, and the run's state after it.

    `failproof_es.core.run` checks streams by these declarations, and gates, views and evidence read
    the run's status from them. An event comes either with the plan of the run, in the order of
    `plan_place`, or at any time while the run's state is in `comes_while`.
    """

    stream: ClassVar[Stream] = "run"
    plan_place: ClassVar[int | None] = None
    """Place of the event among those appended with the run's first event; `None`: it comes later.
    """
    comes_while: ClassVar[tuple[RunStatus, ...]] = ()
    """States of a run in which the event may come."""
    comes_once: ClassVar[bool] = False
    """Whether the event occurs at most once in its stream."""
    run_status: ClassVar[RunStatus | None] = None
    """State of a run after the event, where the event decides it."""
