"""What an importer is, what it is given, and what it gives back.

An importer maps: it is given `Source`, which reads files within bounds, and yields `ImportedCase`s.
It opens no file itself and writes none. To add one, name it in the entry points
`failproof_es.importers` of a package: an object with the members of `Importer`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from failproof_es.core.case import Turn

if TYPE_CHECKING:
    from failproof_es.importers.source import Source

MOST_LISTED = 200
"""So many things that were not mapped are listed one by one; of the rest, how many of a reason."""
MOST_REASONS = 100
_LONGEST_REASON = 300
_LONGEST_FIELD = 200
OTHER_REASONS = "other reasons"

CheckKind = Literal["contains", "equals", "begins", "ends", "regex"]


class Check(NamedTuple):
    """What an answer has to be: one of `texts` (of a negated one: none of them)."""

    kind: CheckKind
    texts: tuple[str, ...]
    negated: bool = False
    ignore_case: bool = False


class Place(NamedTuple):
    """Where something stands in the source. `line` counts from 1, or is a row's number."""

    path: str
    line: int | None = None
    field: str | None = None

    def __str__(self) -> str:
        at = self.path if self.line is None else f"{self.path}:{self.line}"
        return at if self.field is None else f"{at}: {self.field}"


class UnmappedPlace(NamedTuple):
    """Something in the source that has no counterpart here, and why."""

    place: Place
    reason: str


@dataclass(slots=True)
class NotMappedList:
    """What was not mapped: some of it one by one, and all of it counted."""

    count: int = 0
    entries: list[UnmappedPlace] = field(default_factory=list)
    more: Counter[str] = field(default_factory=Counter)
    """How many of a reason there are beyond those listed."""

    def add(self, place: Place, reason: str) -> None:
        """Note it. Reasons are few: a text of the source does not belong into one."""
        self.count += 1
        short_reason = reason[:_LONGEST_REASON]
        if len(self.entries) < MOST_LISTED:
            field_name = None if place.field is None else place.field[:_LONGEST_FIELD]
            self.entries.append(UnmappedPlace(place._replace(field=field_name), short_reason))
        else:
            is_countable = short_reason in self.more or len(self.more) < MOST_REASONS
            self.more[short_reason if is_countable else OTHER_REASONS] += 1


@dataclass(frozen=True, slots=True)
class ImportedCase:
    """A case in the importer's words. The last turn is the prompt.

    `checks` are decided by program: all must hold. `criteria` and `refused` are for judges or
    people: what an answer must meet, and what it must not do. A case may have both kinds.
    """

    case_id: str
    turns: tuple[Turn, ...]
    place: Place
    checks: tuple[Check, ...] = ()
    criteria: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    suite: str | None = None
    """The suite that it counts in; `None` for the import's own name."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a source is to be read, as the command line says."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """Which column, or dotted path in one, holds what: `{"prompt": "question"}`."""
    match: str | None = None
    """How an answer is compared with the expected one; `None` for the kind's own way."""
    split: str | None = None
    """The split of a data set that is read."""


@dataclass(slots=True)
class Findings:
    """What an importer found beside cases."""

    not_mapped: NotMappedList = field(default_factory=NotMappedList)
    models: list[dict[str, Any]] = field(default_factory=list)
    """Entries of `models:` of a configuration."""
    remarks: list[str] = field(default_factory=list)
    read: int = 0
    """Records of the source: rows, samples, tests."""

    def note(self, place: Place, reason: str) -> None:
        """See `NotMappedList.add`."""
        self.not_mapped.add(place, reason)


class Importer(Protocol):
    """One kind of source."""

    name: str
    """The KIND of `failproof-es import KIND PATH`."""
    says: str
    """What it reads, in a sentence."""
    takes: frozenset[str]
    """Which of `columns`, `match` and `split` it reads."""

    def cases(self, source: Source, options: Options, findings: Findings) -> Iterator[ImportedCase]:
        """Yield the cases, in the order of the source; what does not map goes to `findings`.

        Raises `InvalidInput` where the source cannot be read.
        """
