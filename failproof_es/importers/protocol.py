"""The interface of importers: `Importer`, its options and its results.

An importer maps records to cases: it gets a `Source`, which reads files within bounds, and yields
`ImportedCase`s. It opens and writes no files itself. To add an importer, register an object with
the members of `Importer` in a package's entry points `failproof_es.importers`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from failproof_es.core.case import Turn
from failproof_es.problems import Problem

if TYPE_CHECKING:
    from failproof_es.importers.source import Source

MOST_LISTED = 200
"""The most unmapped places that are listed; the rest is only counted by reason."""
MOST_REASONS = 100
_LONGEST_REASON = 300
_LONGEST_FIELD = 200
_LONGEST_SUBJECT = 100
_MOST_PROBLEMS = 20
OTHER_REASONS = "other reasons"

CheckKind = Literal["contains", "equals", "begins", "ends", "regex", "json"]


class Check(NamedTuple):
    """A condition on an answer: it contains, equals, begins with, ... one of `texts`.

    `negated`: none of them. `json`: the whole answer is JSON; without texts.
    """

    kind: CheckKind
    texts: tuple[str, ...]
    negated: bool = False
    ignore_case: bool = False


_KINDS = {"begins": "starts_with", "ends": "ends_with"}
"""The kinds of checks that have another name in the dialect `checks`."""


def as_reply_checks(checks: Iterable[Check]) -> list[dict[str, Any]]:
    """The checks in the form of the dialect `checks`."""
    return [
        {
            "kind": _KINDS.get(check.kind, check.kind),
            **({"values": list(check.texts)} if check.texts else {}),
            **({"ignore_case": True} if check.ignore_case else {}),
            **({"negate": True} if check.negated else {}),
        }
        for check in checks
    ]


class Place(NamedTuple):
    """A place in the source. `line` is the line or the row, counted from 1, `None` if unknown."""

    path: str
    line: int | None = None
    field: str | None = None

    def __str__(self) -> str:
        at = self.path if self.line is None else f"{self.path}:{self.line}"
        return at if self.field is None else f"{at}: {self.field}"


class UnmappedPlace(NamedTuple):
    """A part of the source that has no counterpart here, and the reason."""

    place: Place
    reason: str


@dataclass(slots=True)
class NotMappedList:
    """The unmapped places: the first ones listed, and all of them counted."""

    count: int = 0
    entries: list[UnmappedPlace] = field(default_factory=list)
    more: Counter[str] = field(default_factory=Counter)
    """The number of further places, which are not listed, by reason."""

    def add(self, place: Place, reason: str, subject: str | None = None) -> None:
        """Add an unmapped place. Reasons are counted, so they must not hold texts of the source.

        `subject` is the file, variable or value of the source that the reason is about. Beyond 200
        places only the number of each reason is kept.
        """
        self.count += 1
        short_reason = reason[:_LONGEST_REASON]
        if len(self.entries) < MOST_LISTED:
            field_name = None if place.field is None else place.field[:_LONGEST_FIELD]
            listed_reason = short_reason
            if subject is not None:
                listed_reason = f"{subject[:_LONGEST_SUBJECT]}: {short_reason}"[:_LONGEST_REASON]
            self.entries.append(UnmappedPlace(place._replace(field=field_name), listed_reason))
        else:
            is_countable = short_reason in self.more or len(self.more) < MOST_REASONS
            self.more[short_reason if is_countable else OTHER_REASONS] += 1

    def problems(self) -> list[Problem]:
        """The first 20 entries as problems, for a source of which nothing is left."""
        return [
            Problem(
                "not-mapped",
                entry.reason,
                Path(entry.place.path),
                entry.place.line,
                entry.place.field,
            )
            for entry in self.entries[:_MOST_PROBLEMS]
        ]


@dataclass(frozen=True, slots=True)
class ImportedCase:
    """A case before it is written in a dialect. The last turn is the prompt.

    A program decides `checks`, which must all hold, and `refusal`. Judges or people decide
    `criteria`, which an answer must meet, and `refused`, which it must not do. A case may have both
    kinds.
    """

    case_id: str
    turns: tuple[Turn, ...]
    place: Place
    checks: tuple[Check, ...] = ()
    criteria: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    suite: str | None = None
    """The case's suite; `None` for the name of the import."""
    severity: str | None = None
    """`S0` to `S3`; `None` if the source has none."""
    refusal: bool | None = None
    """Whether the answer must refuse, or must not; a program decides it. `None`: neither."""
    is_stated_in_checks: bool = False
    """Whether the dialect `checks` states it, even if one expected text or pattern would do: then
    the cases of one source are in fewer suites."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options for reading a source, from the command line."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """The column, or dotted path in one, of each role: `{"prompt": "question"}`."""
    match: str | None = None
    """The comparison of an answer with the expected one; `None` for the importer's default."""
    split: str | None = None
    """The split of a data set to read."""


@dataclass(slots=True)
class Findings:
    """The results of an importer besides cases."""

    not_mapped: NotMappedList = field(default_factory=NotMappedList)
    models: list[dict[str, Any]] = field(default_factory=list)
    """Entries for `models:` of a configuration.

    An entry asks the address that the source asks, with the key that the source sends there. A
    model whose address cannot be told is left out (`leave_out_model`).
    """
    judge: dict[str, Any] | None = None
    """An entry for `judges:`, suggested in a comment; `None` if the source names no judge."""
    prompts: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """Templates by name for `matrix.prompts:` of a configuration."""
    has_left_out_models: bool = False
    """Whether models of the source become no entry."""
    remarks: list[str] = field(default_factory=list)
    read: int = 0
    """The number of records in the source: rows, samples, tests."""
    name: str | None = None
    """The name that the source gives itself, known before its first case; `None` without one."""

    def note(self, place: Place, reason: str, subject: str | None = None) -> None:
        """Note a part of the source that has no counterpart here.

        Reasons are counted, so they must not hold texts of the source: `subject` does, which is
        the file, variable or value that the reason is about.
        """
        self.not_mapped.add(place, reason, subject)

    def leave_out_model(self, place: Place, reason: str) -> None:
        """Note that a model of the source, or each of them, becomes no entry of `models:`."""
        self.has_left_out_models = True
        self.note(place, reason)


class Importer(Protocol):
    """The interface of an importer, which reads one kind of source."""

    name: str
    """The KIND of `failproof-es import KIND PATH`."""
    says: str
    """The files that it reads, in one sentence."""
    takes: frozenset[str]
    """The options that it supports: `columns`, `match`, `split`."""

    def cases(self, source: Source, options: Options, findings: Findings) -> Iterator[ImportedCase]:
        """Yield the cases in the order of the source; note unmapped parts in `findings`.

        Raises `InvalidInput` if the source cannot be read.
        """
