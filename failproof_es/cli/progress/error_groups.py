"""Groups and counts a run's errors by their message as they arrive."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from failproof_es.events import ErrorRecorded

MOST_GROUPS = 200
"""Maximum number of groups. Further messages form one more: a server may send ever new ones."""
OTHER_MESSAGES = "(other messages)"
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """Number of failed requests of a model or judge with the same message."""

    count: int
    model: str
    message: str
    """The first line of the message that is not blank, unchanged: not safe to print."""


@dataclass(slots=True)
class ErrorGroups:
    """Counts failed requests by model or judge and by the first line of their message."""

    _counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    _latest: tuple[str, str] | None = None
    is_waiting: bool = False
    """Whether the latest error is `deferred`: its server turned the request away, or is down."""

    def add(self, error: ErrorRecorded) -> None:
        """Count one failed request."""
        key = (error.judge or error.model_key, first_line(error))
        if key not in self._counts and len(self._counts) >= MOST_GROUPS:
            key = (key[0], OTHER_MESSAGES)
        self._counts[key] += 1
        self._latest, self.is_waiting = key, error.disposition == "deferred"

    def most_frequent(self, limit: int | None = None) -> list[ErrorCount]:
        """At most `limit` groups, or all: most frequent first, equally frequent ones by arrival."""
        # A copy: the display calls this from another thread.
        counts = list(self._counts.copy().items())
        counts.sort(key=lambda pair: -pair[1])
        return [ErrorCount(count, *key) for key, count in counts[:limit]]

    def present_first(self, limit: int) -> list[ErrorCount]:
        """At most `limit` groups: that of the latest error, then the most frequent others."""
        groups = self.most_frequent()
        groups.sort(key=lambda group: (group.model, group.message) != self._latest)
        return groups[:limit]

    @property
    def groups(self) -> int:
        """The number of different messages, at most `MOST_GROUPS` and one for each model."""
        return len(self._counts)


def first_line(error: ErrorRecorded) -> str:
    """An error in one line of at most 300 characters: its status or kind, and its message.

    Of the message, only the first line that is not blank. Not safe to print.
    """
    line = next((line.strip() for line in error.message.splitlines() if line.strip()), "")
    head = str(error.status) if error.status is not None else error.kind
    message = line if not line or line.startswith((head, f"HTTP {head}")) else f"{head}: {line}"
    return (message or head)[:_LONGEST]
