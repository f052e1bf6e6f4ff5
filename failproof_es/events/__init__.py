"""The event types: everything that can happen, as immutable events.

An event is written before anything is derived from it. Its topic is the class name below, forever:
topics are resolved through `EVENTS`, never by importing what a database row names.
A change of a released event's fields raises its `schema_version` and adds an upcaster
to `failproof_es.store.mapper`; `tests/golden/` holds one file for each version released.

`base.Event` says what the class of an event declares: its stream, its line, its place in the
audit trail. A new event is imported here and put into `EVENTS`. `docs/architecture.md`, "Walks",
has every step.
"""

from __future__ import annotations

from failproof_es.events.base import (
    ENDED,
    Event,
    Record,
    RunEvent,
    RunStatus,
    Stream,
)
from failproof_es.events.evaluations import (
    VOIDS_ANSWER,
    AttemptOrphaned,
    CarriedOver,
    Classified,
    Continuation,
    Disposition,
    Encoding,
    ErrorRecorded,
    EvaluationAbandoned,
    EvaluationEvent,
    Judged,
    Purpose,
    Redaction,
    RequestSent,
    ResponseReceived,
    Scored,
    ToolCall,
    Withheld,
)
from failproof_es.events.imported import (
    AnswerImported,
    ImportedError,
    ImportedReply,
    RunImported,
    SourceFile,
    Unmapped,
)
from failproof_es.events.prompts import (
    PromptsImported,
    PromptStored,
)
from failproof_es.events.runs import (
    Again,
    Branch,
    CaseSkipped,
    CasesPlanned,
    Counts,
    Experiment,
    Finding,
    LimitChanged,
    ModelPrices,
    ModelSnapshot,
    PricesRecorded,
    RunCompleted,
    RunFailed,
    RunGivenUp,
    RunPaused,
    RunResumed,
    RunSealed,
    RunStarted,
    RunValidated,
    Selection,
    SpendCeilingChanged,
    SuiteSnapshot,
    TokenPrices,
    Usage,
)
from failproof_es.events.side_streams import (
    CasesImported,
    ConfigurationResolved,
    FileKind,
    FileWritten,
    ImportedFile,
    ItemVerdict,
    LedgerFinding,
    LedgerRepaired,
    NotMapped,
    OperationEvent,
    ReviewClosed,
    Reviewed,
    ReviewedItem,
    ReviewExported,
    ReviewVerdict,
    RunAnnotated,
    RunArchived,
    RunAttached,
    Severity,
    ValidationFailed,
    ValidationPassed,
    ValidationStarted,
    WorkerJoined,
    WorkerLeft,
)

__all__ = [
    "AUDITED",
    "ENDED",
    "EVENTS",
    "RUN_ENDINGS",
    "RUN_STATUS",
    "VOIDS_ANSWER",
    "Again",
    "AnswerImported",
    "AttemptOrphaned",
    "Branch",
    "CarriedOver",
    "CaseSkipped",
    "CasesImported",
    "CasesPlanned",
    "Classified",
    "ConfigurationResolved",
    "Continuation",
    "Counts",
    "Disposition",
    "Encoding",
    "ErrorRecorded",
    "EvaluationAbandoned",
    "EvaluationEvent",
    "Event",
    "Experiment",
    "FileKind",
    "FileWritten",
    "Finding",
    "ImportedError",
    "ImportedFile",
    "ImportedReply",
    "ItemVerdict",
    "Judged",
    "LedgerFinding",
    "LedgerRepaired",
    "LimitChanged",
    "ModelPrices",
    "ModelSnapshot",
    "NotMapped",
    "OperationEvent",
    "PricesRecorded",
    "PromptStored",
    "PromptsImported",
    "Purpose",
    "Record",
    "Redaction",
    "RequestSent",
    "ResponseReceived",
    "ReviewClosed",
    "ReviewExported",
    "ReviewVerdict",
    "Reviewed",
    "ReviewedItem",
    "RunAnnotated",
    "RunArchived",
    "RunAttached",
    "RunCompleted",
    "RunEvent",
    "RunFailed",
    "RunGivenUp",
    "RunImported",
    "RunPaused",
    "RunResumed",
    "RunSealed",
    "RunStarted",
    "RunStatus",
    "RunValidated",
    "Scored",
    "Selection",
    "Severity",
    "SourceFile",
    "SpendCeilingChanged",
    "Stream",
    "SuiteSnapshot",
    "TokenPrices",
    "ToolCall",
    "Unmapped",
    "Usage",
    "ValidationFailed",
    "ValidationPassed",
    "ValidationStarted",
    "Withheld",
    "WorkerJoined",
    "WorkerLeft",
    "topics",
]

EVENTS: dict[str, type[Event]] = {
    kind.__name__: kind
    for kind in (
        PromptStored,
        PromptsImported,
        LedgerRepaired,
        ConfigurationResolved,
        ValidationStarted,
        ValidationPassed,
        ValidationFailed,
        FileWritten,
        CasesImported,
        WorkerJoined,
        WorkerLeft,
        RunAnnotated,
        RunArchived,
        RunAttached,
        Reviewed,
        ReviewExported,
        ReviewClosed,
        RunStarted,
        CasesPlanned,
        CaseSkipped,
        PricesRecorded,
        RunImported,
        RunPaused,
        RunResumed,
        RunCompleted,
        RunFailed,
        RunGivenUp,
        RunSealed,
        RunValidated,
        LimitChanged,
        SpendCeilingChanged,
        CarriedOver,
        AnswerImported,
        RequestSent,
        ResponseReceived,
        ErrorRecorded,
        AttemptOrphaned,
        Classified,
        Judged,
        Scored,
        EvaluationAbandoned,
    )
}
"""Every event class by its topic. A topic is never renamed and never reused."""

AUDITED: dict[str, type[Event]] = {
    name: kind for kind in EVENTS.values() if (name := kind.audit_name()) is not None
}
"""Every event class of the audit trail, by the event's name in the trail."""

RUN_STATUS: dict[str, RunStatus] = {
    topic: kind.run_status
    for topic, kind in EVENTS.items()
    if issubclass(kind, RunEvent) and kind.run_status is not None
}
"""The state of a run after each event that decides it, by topic."""

RUN_ENDINGS = tuple(topic for topic, status in RUN_STATUS.items() if status in ENDED)
"""The topics of the events after which a run asks nothing any more."""


def topics(stream: Stream, *, ends: bool | None = None) -> tuple[str, ...]:
    """The topics of such streams' events; `ends` selects last events, or the others."""
    return tuple(
        topic
        for topic, kind in EVENTS.items()
        if kind.stream == stream and ends in (None, kind.ends_stream)
    )
