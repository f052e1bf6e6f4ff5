"""The errors of the store: callers need not know its database driver."""

from __future__ import annotations

from uuid import UUID

from eventsourcing.persistence import IntegrityError

from failproof_es.problems import InvalidInput


class DatabaseAway(InvalidInput):
    """The database could not be reached: the URL is wrong, or its server is down for now."""


class JournalError(Exception):
    """An append did not happen."""


class StreamConflict(JournalError, IntegrityError):
    """Another writer was first: the stream already has an event at one of these versions.

    Nothing of the append was recorded. `expected_version` is the stream's last version as the
    writer knew it, 0 for a new stream; `actual_version` is the one in the log.
    """

    def __init__(self, stream_id: UUID, expected_version: int, actual_version: int) -> None:
        self.stream_id = stream_id
        self.expected_version = expected_version
        self.actual_version = actual_version
        super().__init__(
            f"stream {stream_id} is at version {actual_version}, and this append was made to "
            f"follow version {expected_version}"
        )


class LateStatement(JournalError):
    """A statement arrived after a newer one of the same holder, and changed nothing."""


class ReadOnlyLog(Exception):
    """Nothing was recorded: this database user, or (`whole`) the database itself, may only read."""

    def __init__(self, message: str, *, whole: bool = False) -> None:
        self.whole = whole
        super().__init__(message)


class UnreadableEvent(Exception):
    """A row that the engine did not write: a field that every event has is missing."""


class UnreadableState(UnreadableEvent):
    """A row whose state this version cannot read: an unknown topic, a newer schema
    version, or bytes that are not such a payload."""
