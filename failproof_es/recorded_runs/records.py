"""What a reader of another tool's records gives: pure values, the same whatever the tool.

A reader is a function from a path to a `ForeignRun`. It raises `InvalidInput` where the source
cannot be read; what stands in it and has no place here goes to `Remainder`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from failproof_es.core.case import Case
from failproof_es.events import ImportedError, ImportedReply, SourceFile, Unmapped, Usage
from failproof_es.support.untrusted_text import shortened

NOT_IN_SOURCE = "not_in_source"
"""The kind of error of a planned evaluation that the source has no answer for."""
MOST_KINDS = 500
"""So many kinds of what does not map are told one by one."""
LONGEST = 300
"""So many characters of each are told."""
NO_PLACE = "an imported answer has no place for it"
"""Why a field of a source is not kept, where there is no other reason."""
SOURCE_ERROR = "source_error"
"""The kind of error of an answer that the source itself calls an error."""


@dataclass(slots=True)
class Remainder:
    """What of a source has no place here, by what it is and why; with the place of the first."""

    _unmapped: dict[tuple[str, str], Unmapped] = field(default_factory=dict)

    def add(self, what: str, why: str, where: str, count: int = 1) -> None:
        """Something more that does not map, `count` times. Beyond `MOST_KINDS` kinds it is only
        counted."""
        what, why, where = shortened(what, LONGEST), shortened(why, LONGEST), where[:LONGEST]
        if len(self._unmapped) >= MOST_KINDS and (what, why) not in self._unmapped:
            what, why = "other parts", f"more than {MOST_KINDS} kinds do not map"
        previous = self._unmapped.get((what, why))
        if previous is None:
            self._unmapped[what, why] = Unmapped(what=what, why=why, first=where, count=count)
        else:
            self._unmapped[what, why] = previous.model_copy(
                update={"count": previous.count + count}
            )

    def all(self) -> tuple[Unmapped, ...]:
        """All of it, in the order in which it was found first."""
        return tuple(self._unmapped.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAnswer:
    """One answer of one model to one case, as the source holds it.

    Several answers of a model to the same case become repetitions, from 1, as they come.
    """

    case: Case
    model: str
    place: str
    sample_sha256: str
    replies: tuple[ImportedReply, ...] = ()
    messages: tuple[dict[str, Any], ...] = ()
    answered_by: str | None = None
    usage: Usage = field(default_factory=Usage)
    latency_ms: float | None = None
    asked_at: str | None = None
    source_scores: Mapping[str, Any] = field(default_factory=dict)
    source_metadata: Mapping[str, Any] = field(default_factory=dict)
    source_passed: bool | None = None
    source_cost_usd: str | None = None
    error: ImportedError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignRun:
    """A run of another tool. `answers` can be read once; `remainder` is complete after that."""

    kind: str
    tool: str
    tool_version: str | None
    name: str
    files: tuple[SourceFile, ...]
    paths: tuple[Path, ...]
    """Where `files` are, in the same order."""
    source_sha256: str
    answers: Iterator[RecordedAnswer]
    remainder: Remainder
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What each model was asked with, by its name, as far as the source says."""
    began_at: str | None = None
    ended_at: str | None = None
    claims: Mapping[str, Any] = field(default_factory=dict)
    """Results that the source states of the whole run. They are its own."""
