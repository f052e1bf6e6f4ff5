"""Events of side streams: the ledger, operations on runs, people's reviews."""

from typing import Annotated, Any, ClassVar, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from failproof_es.events.base import Event, Record, Stream

ReviewVerdict = Literal["pass", "fail", "unclear"]
ItemVerdict = Literal["met", "not_met", "happened", "did_not_happen"]
Severity = Literal["S0", "S1", "S2", "S3"]
FileKind = Literal["results", "checkpoint", "report", "export", "evidence", "review_sheet"]


class LedgerFinding(Record):
    """A finding of `verify`. `index` counts the tree's events from 0."""

    kind: str
    message: str
    index: int | None
    position: int | None


class LedgerRepaired(Event):
    """The log's tree was replaced by a new one, made of the log's rows; the old one is kept.

    `old_tree_size`, `old_checkpoint` (the newest, as signed) and the findings describe the old
    tree. The old key is `None` if nothing was signed or the key was lost; `handover` is its note
    that names the new key (`failproof_es.ledger.handover`). `forced`: the repair was forced,
    although the old tree was intact or a new one would not repair the log.
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
    """An act or a finding on a run, other than driving it (specification 001 § 8.2)."""

    stream: ClassVar[Stream] = "operations"
    audited: ClassVar[bool] = True

    about: UUID
    """The run, whose own stream may not have begun yet, or may be sealed."""
    who: str
    where: str


class ConfigurationResolved(OperationEvent):
    """A configuration was read, defaults filled in; secrets stand in it by name only.

    `path` is its file; for a branched run, the source run and position.
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
    """A file is in its final place, complete."""

    says: ClassVar[str] = "{kind}: {path}"

    kind: FileKind
    path: str
    bytes: int
    sha256: str


class ImportedFile(Record):
    """A file of an import, read or written."""

    path: str
    bytes: int
    sha256: str


class NotMapped(Record):
    """A part of a source that was not imported. `line` is a line or a row, from 1."""

    path: str
    line: int | None
    field: str | None
    reason: str


class CasesImported(OperationEvent):
    """Cases of another tool were imported: recorded before the files are put in place.

    `about` is the import's id, made of its kind, its options and what was read. `sources` are the
    files read, `written` the files to write. `records` is the number of records, `cases` the number
    of cases written, `not_mapped_count` the number of unmapped parts; `not_mapped` has the first of
    these parts, `more_not_mapped` the number of further ones by reason. `package` is the package of
    an importer that does not ship with this program.
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
    """A worker has stopped driving the run. A killed worker leaves no such event.

    `evaluations` is the number that it finished.
    """

    says: ClassVar[str] = "worker {worker}, evaluations: {evaluations}, {reason}"

    worker: UUID
    evaluations: int
    reason: str


FORBIDDEN = "must_not_do"
"""The kind of items on which a person's verdict is whether they happened."""


def item_verdicts(item: str) -> tuple[ItemVerdict, ItemVerdict]:
    """The words that a review records if the item with this key happened, and if it did not."""
    is_forbidden = item.partition(".")[0] == FORBIDDEN
    return ("happened", "did_not_happen") if is_forbidden else ("met", "not_met")


class ReviewedItem(Record):
    """A person's verdict on an item of the checklist. An item that was left out has no entry.

    Of an item of `must_not_do` it is `happened` or `did_not_happen`; of any other `met` or
    `not_met`.
    """

    item: str
    verdict: ItemVerdict

    @model_validator(mode="after")
    def _check_verdict(self) -> Self:
        """The two words for one kind of item are invalid for the other kind."""
        if self.verdict not in item_verdicts(self.item):
            raise ValueError(f"{self.verdict} is no verdict on {self.item}")
        return self


class RunArchived(OperationEvent):
    """The events of the run's evaluations are in a file, and leave the log.

    The file is the run's evidence, as of the checkpoint of `tree_size` events and `tree_root`
    (hexadecimal), and was read and verified before. `sha256` is the file's digest. `events` in
    `streams` leave the log: all events of the run outside its own stream, counted by topic in
    `topics`. The positions and the leaf indexes bound them. `rows_sha256` is over position, time of
    recording (microseconds since 2000) and leaf hash of each, in order: 8, 8 and 32 bytes, integers
    big-endian.
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

    The other fields are copied from the `RunArchived` event that this event undoes.
    """

    says: ClassVar[str] = "{file}, events: {events}"

    run_number: int
    file: str
    sha256: str
    events: int
    rows_sha256: str


class RunAnnotated(OperationEvent):
    """The name, the tags and the note by which people find the run; its results do not change.

    The event replaces all four fields of an earlier one. `name` replaces the configured name,
    unless it is `None`. Lists leave a `hidden` run out by default; the run still counts as an
    attempt.
    """

    throws_away: ClassVar[bool] = True
    says: ClassVar[str] = "name: {name}, tags: {tags}, hidden: {hidden}, note: {note}"

    name: str | None
    tags: tuple[str, ...]
    note: str | None
    hidden: bool


class ReviewExported(OperationEvent):
    """A sheet was made for a reviewer to fill in, pre-filled with their verdicts so far.

    `sheet` is its id, a digest of the run and of all other fields. The sheet has the reviews up to
    `position`; `blind`: it does not show the engine's verdicts. `queue` is the queue whose
    evaluations it has, if any.
    """

    says: ClassVar[str] = "{sheet} for {reviewer}, blind: {blind}"

    sheet: str
    reviewer: str
    position: int
    blind: bool
    queue: str | None


class ReviewClosed(OperationEvent):
    """People's verdicts decided the gates on the rates of a run.

    The reviews up to `position` count. `reviews` counts the evaluations left to people, by status
    of review; `overruled` counts the evaluations on which people contradict the engine's score, by
    people's verdict. `incomplete`: unreviewed evaluations count as not passed. If a run has several
    such events, the last one counts.
    """

    says: ClassVar[str] = "as of position {position}, gates: {gates}"

    position: int
    incomplete: bool
    reviews: dict[str, int]
    overruled: dict[str, int]
    gates: dict[str, Any]


class DrawnStratum(Record):
    """A stratum of a queue: evaluations that the judges passed, or failed."""

    passed: bool
    evaluations: int
    drawn: int


class QueueCreated(OperationEvent):
    """Evaluations of the run were chosen for people to label.

    `queue` is a name that no other queue of the run has. `evaluations` has the evaluations in the
    order to label; they had ended by `position` and fit `chosen_by`, options of the command. With a
    `seed` they were drawn at random; with `strata` they were drawn among the judged evaluations, by
    the judges' verdict, and measure the judges (`JudgeCalibrated`). Each evaluation gets labels of
    `labels_each` of the `reviewers`. Where these differ, one of the `adjudicators`, who has not
    labelled it, decides. An empty list allows everybody. `blind`: labels count if the engine's
    verdict was hidden from the reviewer. `policy` is the text by which people decide.
    """

    says: ClassVar[str] = "{queue}, labels each: {labels_each}, {chosen_by}"

    queue: str
    position: int
    chosen_by: str
    seed: int | None
    strata: tuple[DrawnStratum, ...]
    evaluations: Annotated[tuple[UUID, ...], Field(min_length=1)]
    labels_each: Annotated[int, Field(ge=1)]
    reviewers: tuple[str, ...]
    adjudicators: tuple[str, ...]
    blind: bool
    policy: str


class QueueClosed(OperationEvent):
    """The queue gives out no more evaluations.

    `statuses` counts its evaluations by status, from the reviews up to `position`, `labelled_by`
    the labels and decisions of each person.
    """

    says: ClassVar[str] = "{queue}, as of position {position}, {statuses}"

    queue: str
    position: int
    statuses: dict[str, int]
    labelled_by: dict[str, int]


class Measured(Record):
    """A measured share or coefficient and its 95 % interval."""

    value: float
    low: float
    high: float


class JudgeErrors(Record):
    """The errors of the judges together (`judges`) or of one judge on one kind of verdict.

    `what` is `verdict`, for whole evaluations, or a kind of items, such as `must_do`. A true
    positive is an evaluation that people and the judge passed, or an item that happened by both.
    `verdicts` counts the verdicts of the judge, `labels` those that have a label as well. `kappa`
    is Cohen's. A figure that the labels do not determine is `None`.
    """

    by: str
    what: str
    verdicts: int
    labels: int
    true_positive_rate: Measured | None
    false_positive_rate: Measured | None
    kappa: Measured | None


class CalibratedJudge(Record):
    """A judge, and the names under which its model answered."""

    key: str
    provider: str
    model: str
    version: str | None
    answered: tuple[str, ...]


class JudgeCalibrated(OperationEvent):
    """The judges of a run were compared with people's labels of a random sample.

    The labels up to `position` are those of `queue`, a random sample; `labelled_by` counts them by
    reviewer. `undecided` evaluations of the queue have labels that are unclear or contradict each
    other, `unlabelled` ones lack a label. The digests (SHA-256, hexadecimal) are of the judges with
    their parameters and rule, of the prompts with the versions of the graders, and of the cases
    with their rubrics. `gates` are the run's gates on its judges.
    """

    says: ClassVar[str] = "as of position {position}, labels: {labels}, gates: {gates}"

    queue: str
    position: int
    judges: tuple[CalibratedJudge, ...]
    judges_sha256: str
    prompts_sha256: str
    rubric_sha256: str
    policy: str
    labels: int
    undecided: int
    unlabelled: int
    labelled_by: dict[str, int]
    reliability: float | None
    """Krippendorff's alpha of the labels: 1 is agreement, 0 is chance. `None` without units that
    two people labelled."""
    errors: Annotated[tuple[JudgeErrors, ...], Field(min_length=1)]
    """Those of the judges together on whole evaluations come first."""
    gates: dict[str, Any]


class Reviewed(OperationEvent):
    """A person's verdict on a finished evaluation (specification 002).

    If a reviewer has several verdicts, all stay on record and the last one counts. `blind`: whether
    the engine's own verdict was hidden from the reviewer; `None`, unknown, for a sheet that no
    export made. `file_sha256` (hexadecimal) is the digest of the imported spreadsheet, `None` for a
    verdict given at a terminal or in a browser; `sheet` is the id in that spreadsheet. `queue` is
    the queue that gave the evaluation to the reviewer; a verdict that `adjudicates` decides between
    the other reviewers.
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
    queue: str | None
    seconds: float | None
    """Seconds from the time when the queue gave the evaluation to the reviewer to the verdict;
    `None` if unknown."""
    adjudicates: bool
