"""Events of side streams: the ledger, operations on runs, people's reviews."""

from typing import Any, ClassVar, Literal, Self
from uuid import UUID

from pydantic import model_validator

from failproof_es.events.base import Event, Record, Stream

ReviewVerdict = Literal["pass", "fail", "unclear"]
ItemVerdict = Literal["met", "not_met", "happened", "did_not_happen"]
Severity = Literal["S0", "S1", "S2", "S3"]
FileKind = Literal["results", "checkpoint", "report", "export", "evidence", "review_sheet"]


class LedgerFinding(Record):
    """Something that `verify` found. `index` counts the tree's events from 0."""

    kind: str
    message: str
    index: int | None
    position: int | None


class LedgerRepaired(Event):
    """The log's tree was replaced by a new one, made of the log's rows; the old one is kept.

    `old_tree_size`, `old_checkpoint` (the newest, as signed) and the findings say how the old
    tree stood. The old key is `None` where nothing was signed, or it was lost; `handover` is the
    note in which it names the new key (`failproof_es.ledger.handover`). `forced`: somebody
    insisted, though the old tree was fine, or a new one would not heal the log.
    """

    stream: ClassVar[Stream] = "ledger"
    says: ClassVar[str] = "{reason}"

    reason: str
    who: str
    where: str
    old_origin: str
    old_key: str | None
    old_tree_size: int
    old_checkpoint: str | None
    new_origin: str
    new_key: str
    handover: str | None
    forced: bool
    findings: tuple[LedgerFinding, ...]
    more_findings: dict[str, int]
    """Number of findings of a kind beyond those named."""


class OperationEvent(Event):
    """Something was done about a run beside driving it (specification 001 § 8.2)."""

    stream: ClassVar[Stream] = "operations"
    audited: ClassVar[bool] = True

    about: UUID
    """The run. Its own stream may not have begun yet, or be sealed."""
    who: str
    where: str


class ConfigurationResolved(OperationEvent):
    """A configuration was read, defaults filled in; secrets stand in it by name only.

    `path` is its file; of a run that is branched, the run and the position that it is taken from.
    """

    says: ClassVar[str] = "{path}"

    path: str
    configuration: dict[str, Any]
    configuration_digest: str


class ValidationStarted(OperationEvent):
    """The validation that precedes a `start` has begun; nothing has been sent (§ 10.1)."""

    says: ClassVar[str] = ""


class ValidationPassed(OperationEvent):
    """The run may start. `estimate` has its numbers of evaluations and requests."""

    says: ClassVar[str] = "evaluations: {estimate[evaluations]}, requests: {estimate[requests]}"

    warnings: tuple[str, ...]
    remarks: tuple[str, ...]
    estimate: dict[str, Any]


class ValidationFailed(OperationEvent):
    """These problems stop the run: it is not started, or not resumed."""

    throws_away: ClassVar[bool] = True
    says: ClassVar[str] = "{problems}"

    problems: tuple[str, ...]


class FileWritten(OperationEvent):
    """A file was put where people look for it, whole."""

    says: ClassVar[str] = "{kind}: {path}"

    kind: FileKind
    path: str
    bytes: int
    sha256: str


class ImportedFile(Record):
    """A file of an import: one that was read, or one that is written."""

    path: str
    bytes: int
    sha256: str


class NotMapped(Record):
    """Something in a source that was not taken over. `line` counts from 1, or is a row."""

    path: str
    line: int | None
    field: str | None
    reason: str


class CasesImported(OperationEvent):
    """Cases of another tool were imported: recorded before the files are put in place.

    `about` is the import's id, made of its kind, its options and what was read. `sources` are
    all files that were read, `written` all that are written. `records` is how many records there
    were, `cases` how many cases are written. What was not mapped is counted in
    `not_mapped_count`; `not_mapped` has the first of it, `more_not_mapped` how many of a reason
    there were beyond. `package` is the importer's, where that is not ours.
    """

    says: ClassVar[str] = "{kind} {path}: cases: {cases}, not mapped: {not_mapped_count}"

    kind: str
    path: str
    options: dict[str, Any]
    sources: tuple[ImportedFile, ...]
    written: tuple[ImportedFile, ...]
    records: int
    cases: int
    not_mapped: tuple[NotMapped, ...]
    not_mapped_count: int
    more_not_mapped: dict[str, int]
    code_version: str
    package: str | None


class WorkerJoined(OperationEvent):
    """A worker began to drive shards of the run: its models are open there."""

    says: ClassVar[str] = "worker {worker}, process {process}"

    worker: UUID
    process: int
    code_version: str
    packages: dict[str, str]


class WorkerLeft(OperationEvent):
    """A worker drives the run no more. One that was killed, or lost its host, never says so.

    `evaluations` is how many it finished.
    """

    says: ClassVar[str] = "worker {worker}, evaluations: {evaluations}, {reason}"

    worker: UUID
    evaluations: int
    reason: str


FORBIDDEN = "must_not_do"
"""The kind of items of which a person says whether they happened."""
_OF_FORBIDDEN: frozenset[ItemVerdict] = frozenset({"happened", "did_not_happen"})


class ReviewedItem(Record):
    """A person's verdict on an item of the checklist. An item that was left out has no entry.

    Of an item of `must_not_do` it is `happened` or `did_not_happen`; of any other `met` or
    `not_met`.
    """

    item: str
    verdict: ItemVerdict

    @model_validator(mode="after")
    def _check_verdict(self) -> Self:
        """The two words of one kind of item mean nothing of the other kind."""
        forbidden = self.item.partition(".")[0] == FORBIDDEN
        if forbidden != (self.verdict in _OF_FORBIDDEN):
            raise ValueError(f"{self.verdict} is no verdict on {self.item}")
        return self


class RunArchived(OperationEvent):
    """The events of the run's evaluations are in a file, and leave the log.

    The file is the run's evidence, as of the checkpoint of `tree_size` events and `tree_root`
    (hexadecimal), and was read and verified before. `sha256` is of its bytes. What leaves the log
    are `events` in `streams`: all events that are filed under the run and not on its own stream,
    `topics` says how many of each. They stand between these positions, and leaf indexes.
    `rows_sha256` is over position, time of recording (microseconds since 2000) and leaf hash of
    each, in order: 8, 8 and 32 bytes, integers big-endian.
    """

    throws_away: ClassVar[bool] = True
    says: ClassVar[str] = "{file}, events: {events}"

    run_number: int
    file: str
    bytes: int
    sha256: str
    origin: str
    tree_size: int
    tree_root: str
    streams: int
    events: int
    topics: dict[str, int]
    first_position: int
    last_position: int
    first_index: int
    last_index: int
    rows_sha256: str


class RunAttached(OperationEvent):
    """The archived events of the run are in the log again, every row as it was.

    The other fields are those of the `RunArchived` that this undoes.
    """

    says: ClassVar[str] = "{file}, events: {events}"

    run_number: int
    file: str
    sha256: str
    events: int
    rows_sha256: str


class RunAnnotated(OperationEvent):
    """The name, the tags and the note under which people find the run; nothing else changes by it.

    All four fields hold from now on, whatever an earlier one says. `name` stands in place of the
    configured name; `None`: the configured one. Lists leave a `hidden` run out unless they are
    asked for it; it still counts as an attempt.
    """

    throws_away: ClassVar[bool] = True
    says: ClassVar[str] = "name: {name}, tags: {tags}, hidden: {hidden}, note: {note}"

    name: str | None
    tags: tuple[str, ...]
    note: str | None
    hidden: bool


class ReviewExported(OperationEvent):
    """A sheet was made for a reviewer to fill in, pre-filled with their verdicts so far.

    `sheet` is its id, a digest of the run and of all other fields. The sheet has the reviews up
    to `position`; `blind` says that it does not show the engine's verdicts.
    """

    says: ClassVar[str] = "{sheet} for {reviewer}, blind: {blind}"

    sheet: str
    reviewer: str
    position: int
    blind: bool


class ReviewClosed(OperationEvent):
    """The gates on the rates of a run were judged by the verdicts of people.

    The reviews up to `position` count. `reviews` has the evaluations that were left to people by
    the status of their reviews, `overruled` those that the engine had scored otherwise, by
    what people say instead. `incomplete`: what nobody had reviewed counts as not passed. A
    later one replaces none: the last one counts.
    """

    says: ClassVar[str] = "as of position {position}, gates: {gates}"

    position: int
    incomplete: bool
    reviews: dict[str, int]
    overruled: dict[str, int]
    gates: dict[str, Any]


class Reviewed(OperationEvent):
    """A person's verdict on a finished evaluation (specification 002).

    Nothing replaces it: of one reviewer the last one counts, the others stay. `blind` says
    whether the engine's own verdict was hidden before, as far as the record knows: `None` where
    it came in a sheet that no export made. `file_sha256` (hexadecimal) is that of the spreadsheet
    it came in, `None` where it was given at a terminal; `sheet` is the id in that spreadsheet.
    """

    stream: ClassVar[Stream] = "review"
    says: ClassVar[str] = "{reviewer} says {verdict}: {notes}"

    evaluation_id: UUID
    reviewer: str
    items: tuple[ReviewedItem, ...]
    verdict: ReviewVerdict
    severity: Severity | None
    tags: tuple[str, ...]
    notes: str
    blind: bool | None
    file_sha256: str | None
    sheet: str | None
