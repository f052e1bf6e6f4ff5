"""The result of a reader of another tool's records: plain values, independent of the tool.

A reader is a function from a path to a `ForeignRun`. It raises `InvalidInput` if the source cannot
be read, and lists the parts of the source that are not imported in a `Remainder`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from failproof_es.core.case import Case
from failproof_es.events import ImportedError, ImportedReply, SourceFile, Unmapped, Usage
from failproof_es.support.untrusted_text import HALF_CHARACTER, shortened

NOT_IN_SOURCE = "not_in_source"
"""The kind of error of a planned evaluation without an answer in the source."""
MOST_KINDS = 500
"""The most kinds of unmapped parts that are listed."""
LONGEST = 300
"""The most characters of each text in the list."""
NO_PLACE = "an imported answer has no place for it"
"""The default reason why a field of a source is not imported."""
SOURCE_ERROR = "source_error"
"""The kind of error of an answer that is an error in the source."""


def without_surrogates(text: str) -> str:
    """The text with U+FFFD for each lone surrogate, which UTF-8 cannot encode."""
    return HALF_CHARACTER.sub("\ufffd", text)


@dataclass(slots=True)
class Remainder:
    """Collects the parts of a source that are not imported.

    By kind and reason, with the first place and their number.
    """

    _unmapped: dict[tuple[str, str], Unmapped] = field(default_factory=dict)

    def add(self, what: str, why: str, where: str, count: int = 1) -> None:
        """Add `count` parts of the kind `what` that are not imported for the reason `why`.

        `where` is the first place. Beyond `MOST_KINDS` kinds only the number of parts is kept.
        """
        what, why, where = map(without_surrogates, (what, why, where))
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
        """All kinds of unmapped parts, in the order of their first places."""
        return tuple(self._unmapped.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAnswer:
    """One answer of one model to one case, as recorded in the source.

    Several answers of a model to the same case become repetitions, numbered from 1 in order.
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
    """The paths of `files`, in the same order."""
    source_sha256: str
    answers: Iterator[RecordedAnswer]
    remainder: Remainder
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The parameters of each model, by its name, as far as the source states them."""
    began_at: str | None = None
    ended_at: str | None = None
    claims: Mapping[str, Any] = field(default_factory=dict)
    """The source's own results of the whole run."""
