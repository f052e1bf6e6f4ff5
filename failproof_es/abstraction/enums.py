"""The enums of specification 003 § 2."""

from enum import Enum


class TaskStatus(Enum):
    """Status of one model's answer to one task."""

    NEW = "NEW"
    PENDING_JUDGEMENT = "PENDING_JUDGEMENT"
    JUDGEMENT_COMPLETED = "JUDGEMENT_COMPLETED"
    FAILED = "FAILED"


class BenchmarkEvent(Enum):
    """The events that a subscriber can receive."""

    STARTED = "started"
    PROGRESS_CHANGED = "progress_changed"
    STREAMING_RESULT = "streaming_result"
    ERROR = "error"
    COMPLETED = "completed"
