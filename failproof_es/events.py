"""The vocabulary: everything that can happen, as immutable events.

An event is written before its consequence. Its topic is the class name below, for ever:
topics are resolved through `EVENTS`, never by importing what a database row names.
A change of a released event's fields raises its `schema_version` and adds an upcaster
to `failproof_es.store.mapper`; `tests/golden/` holds one file for each version released.
"""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, ClassVar, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from failproof_es.case import Case

Purpose = Literal["target", "judge"]
Encoding = Literal["utf-8", "base64"]
Disposition = Literal["transient", "deferred", "final", "halting"]
ReviewVerdict = Literal["pass", "fail", "unclear"]
ItemVerdict = Literal["met", "not_met"]
Severity = Literal["S0", "S1", "S2", "S3"]
FileKind = Literal["results", "checkpoint", "report", "export", "evidence", "review_sheet"]


class Record(BaseModel):
    """A frozen value inside an event."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Event(Record):
    """What every event carries: its stream, its version there, its run, its time (UTC)."""

    schema_version: ClassVar[int] = 1

    originator_id: UUID
    originator_version: int
    run_id: UUID | None
    timestamp: datetime


# -- prompt streams ----------------------------------------------------------------------


class PromptStored(Event):
    """The complete case as loaded. Never truncated, never altered (specification 001 § 5.2)."""

    digest: str
    case: Case


# -- collection streams --------------------------------------------------------------------


class PromptsImported(Event):
    """Stored prompts belong to a collection now, in this order (specification 001 § 4.1)."""

    collection: str
    dialect: str
    path: str
    sha256: str
    digests: tuple[str, ...]
    who: str
    where: str


# -- the ledger's stream -----------------------------------------------------------------------


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
    """How many findings of a kind there were beyond those named."""


# -- operations streams ----------------------------------------------------------------------


class OperationEvent(Event):
    """Something was done about a run beside driving it (specification 001 § 8.2)."""

    about: UUID
    """The run. Its own stream may not have begun yet, or be sealed."""
    who: str
    where: str


class ConfigurationResolved(OperationEvent):
    """A configuration was read, defaults filled in; secrets stand in it by name only.

    `path` is its file; of a run that is branched, the run and the position that it is taken from.
    """

    path: str
    configuration: dict[str, Any]
    configuration_digest: str


class ValidationStarted(OperationEvent):
    """What `start` needs is being looked at; nothing has been sent (§ 10.1)."""


class ValidationPassed(OperationEvent):
    """Nothing stands against the run. `estimate` is what it would ask, counted by nobody else."""

    warnings: tuple[str, ...]
    remarks: tuple[str, ...]
    estimate: dict[str, Any]


class ValidationFailed(OperationEvent):
    """These problems stand against the run: it is not begun, or not taken up again."""

    problems: tuple[str, ...]


class FileWritten(OperationEvent):
    """A file was put where people look for it, whole."""

    schema_version: ClassVar[int] = 2

    kind: FileKind
    path: str
    bytes: int
    sha256: str


# -- review streams: one for each evaluation that people looked at -------------------------


class ReviewedItem(Record):
    """A person's verdict on an item of the checklist: whether what the case wants of it holds.

    `must_not_do.1` is `met` where it did not happen. An item that was left out has no entry.
    """

    item: str
    verdict: ItemVerdict


class Reviewed(OperationEvent):
    """A person's verdict on a finished evaluation (specification 002).

    Nothing replaces it: of one reviewer the last one counts, the others stay. `blind` says
    that the engine's own verdict was not shown before; `file_sha256` (hexadecimal) is that of
    the spreadsheet it came in, `None` where it was given at a terminal.
    """

    evaluation_id: UUID
    reviewer: str
    items: tuple[ReviewedItem, ...]
    verdict: ReviewVerdict
    severity: Severity | None
    tags: tuple[str, ...]
    notes: str
    blind: bool
    file_sha256: str | None


# -- run streams: lifecycle only ---------------------------------------------------------


class ModelSnapshot(Record):
    """A model's configuration as it was when the run began; secrets by name only."""

    key: str
    provider: str
    model: str
    version: str | None = None
    parameters: dict[str, Any] = {}
    settings: dict[str, Any] = {}


class SuiteSnapshot(Record):
    """A case file as it was read: its path, the SHA-256 of its bytes, how many cases it gave."""

    path: str
    sha256: str
    dialect: str
    cases: int


class Counts(Record):
    """How a run's planned evaluations stand. `finished` = scored + abandoned."""

    planned: int
    finished: int
    scored: int
    abandoned: int


class Branch(Record):
    """The run that another was branched from, up to which position, and why.

    What was finished by then is carried over (specification 001 § 9), except what is asked
    `again`: `abandoned` are the evaluations that had ended without a score. `settings` are
    those of the configuration that the branch changed, by their path: how to reach its models.
    """

    run_id: UUID
    position: int
    again: Literal["abandoned"] | None = None
    settings: dict[str, Any] = {}


class Experiment(Record):
    """What a run asked, so that attempts of the same can be told (`failproof_es.experiment`).

    `questions` is the digest of what is sent alone. `overlapping` counts the runs before it
    that are no attempts of the same and share a model and much of the cases.
    """

    digest: str
    questions: str
    overlapping: int = 0


class RunStarted(Event):
    """A run exists: all that is needed to repeat it, and who began it where.

    `attempt` counts the runs of this experiment from 1, whatever became of them. Where
    `experiment` is `None` (older versions), it counts those of the configuration's digest.
    """

    schema_version: ClassVar[int] = 4

    name: str
    run_number: int
    attempt: int | None
    experiment: Experiment | None = None
    configuration: dict[str, Any]
    configuration_digest: str
    models: tuple[ModelSnapshot, ...]
    judges: tuple[ModelSnapshot, ...] = ()
    suites: tuple[SuiteSnapshot, ...]
    dialect: str
    seeds: dict[str, int] = {}
    planned_cases: int
    planned_evaluations: int
    code_version: str
    packages: dict[str, str]
    who: str
    where: str
    branched_from: Branch | None = None


class Rate(Record):
    """What tokens cost: US dollars per million, `None` where that is not known.

    It holds for answers on `since` (a day, UTC) and after, from `daily_from` until before
    `daily_until` of each day (UTC), of requests with more than `over_input_tokens`. What is
    `None` of these four is no condition.
    """

    since: date | None = None
    daily_from: time | None = None
    daily_until: time | None = None
    over_input_tokens: int | None = None
    input: Decimal | None = None
    """Tokens that were read, but for those of the next three."""
    cached_input: Decimal | None = None
    cache_write: Decimal | None = None
    """Tokens that were written to a cache, but for those of the next one."""
    cache_write_1h: Decimal | None = None
    """Tokens that were written to a cache that keeps them for an hour."""
    output: Decimal | None = None
    request: Decimal = Decimal(0)
    """US dollars for the request itself, however many tokens it has."""


class ModelPrices(Record):
    """The prices of one model or judge. Of the rates that hold for an answer the last counts.

    `source` is the price data and its version or day, `listed_as` its entry. No rates, and no
    source: the price is not known.
    """

    model_key: str
    source: str | None = None
    listed_as: str | None = None
    rates: tuple[Rate, ...] = ()


class PricesRecorded(Event):
    """The prices of all models and judges of the run, appended together with the plan.

    What an answer of this run cost follows from them and from nothing else
    (`failproof_es.costs`, and in SQL `failproof.cost_usd`).
    """

    models: tuple[ModelPrices, ...]


class CasesPlanned(Event):
    """The next chunk of the run's ordered case digests, appended together with `RunStarted`.

    `questions` says what is sent of each (`experiment.question_digest`); older versions did not.
    """

    schema_version: ClassVar[int] = 2

    chunk: int
    digests: tuple[str, ...]
    questions: tuple[str, ...] = ()


class CaseSkipped(Event):
    """A defect that kept a case out of the plan, where the configuration says to go on without.

    One for each defect, appended together with the plan: `path` and `line` (from 1) say where,
    `field` in what, `why` what is wrong and what to do about it.
    """

    path: str
    line: int | None
    field: str | None
    why: str


class RunPaused(Event):
    """The run stopped before its end and can be resumed."""

    reason: str
    counts: Counts


class RunResumed(Event):
    """A process took the run up again."""

    who: str
    where: str
    code_version: str


class RunCompleted(Event):
    """Every planned evaluation is finished."""

    counts: Counts
    gates: dict[str, Any] = {}


class RunFailed(Event):
    """The run came to an end without a result that could be used."""

    reason: str
    counts: Counts


class RunSealed(Event):
    """The run has ended and this is all of it: how many streams and events, and their seal.

    `root` (hexadecimal) is that of `failproof_es.ledger.seal` over the run's own stream up to
    the event before this one, and over every evaluation.
    """

    streams: int
    events: int
    root: str


class LimitChanged(Event):
    """How many requests may go to a server at once, or from when, is not what it was.

    `rate_limited` (too many requests: a 429 or 529) and `retry_after` (another answer that says
    when to come back) hold back or slow down all that the server serves; `released` and
    `recovered` undo it.
    """

    server: str
    models: tuple[str, ...]
    limit_before: int
    limit_after: int
    reason: Literal["rate_limited", "retry_after", "released", "recovered"]
    retry_after_s: float | None
    held_until: datetime | None


class Usage(Record):
    """Tokens as the provider counted them; `None` where it did not say."""

    input_tokens: int | None = None
    """All that was read, from a cache or into one, too."""
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    """Those of `input_tokens` that came from a cache."""
    cache_write_tokens: int | None = None
    """Those of `input_tokens` that were written to a cache."""
    cache_write_1h_tokens: int | None = None
    """Those of `cache_write_tokens` that are kept for an hour; the rest for a shorter time."""


class Finding(Record):
    """Something that checking a run came upon. `integrity`: the record is not what it must be."""

    kind: str
    integrity: bool
    message: str
    evaluation_id: UUID | None = None


class RunValidated(Event):
    """What checking the ended run found (specification 001 § 10.2).

    `checked` counts what was looked at, `more` the findings of a kind beyond those named.
    `usage` is counted anew by model and judge; `cost_usd` is a decimal number, `None` where a
    price or a token count is unknown.
    """

    schema_version: ClassVar[int] = 3

    passed: bool
    checked: dict[str, int] = {}
    findings: tuple[Finding, ...]
    more: dict[str, int] = {}
    usage: dict[str, Usage] = {}
    cost_usd: dict[str, str | None] = {}


# -- evaluation streams ------------------------------------------------------------------


class EvaluationEvent(Event):
    """Every event of an evaluation says which one it is: run x case x model x repetition."""

    prompt_id: UUID
    model_key: str
    repetition: int


class CarriedOver(EvaluationEvent):
    """The run was branched from one that had finished this evaluation; nothing follows.

    What happened is told by the `source_events` events of the stream `source_evaluation_id`,
    never by another `CarriedOver`. `source_sha256` (hexadecimal) is over their leaf hashes,
    in version order, as in a run's seal.
    """

    source_run_id: UUID
    source_evaluation_id: UUID
    source_events: int
    source_sha256: str


class RequestSent(EvaluationEvent):
    """Committed before the socket opens: what is about to be asked, in full.

    `judge` is the key of the judge that is asked, `None` for the model under test. `tools`
    are the names of the tools that the request offers.
    """

    schema_version: ClassVar[int] = 2

    purpose: Purpose
    judge: str | None = None
    turn: int
    attempt: int
    model: str
    parameters: dict[str, Any]
    tools: tuple[str, ...] = ()
    endpoint: str
    body: str
    body_sha256: str


class Redaction(Record):
    """In which field how many echoes of a variable's secret value were replaced by its name."""

    field: str
    variable: str
    count: int


class Withheld(Record):
    """Not all of a reply's body is recorded. How long it was, and its SHA-256 (hexadecimal).

    `long`: `body` holds its beginning. `secret`: a key stands in it, and `body` says whose.
    `unsearchable`: it is no text in which the run's keys can be looked for, and `body` says so.
    """

    why: Literal["long", "secret", "unsearchable"]
    length: int
    sha256: str


class ToolCall(Record):
    """A call that a model wants made. `arguments` is the JSON text that the model wrote."""

    id: str | None
    name: str
    arguments: str


class ResponseReceived(EvaluationEvent):
    """The complete raw response as received, and what was read from it.

    `failproof_es.body` writes and reads the body.
    """

    schema_version: ClassVar[int] = 4

    purpose: Purpose
    judge: str | None = None
    turn: int
    attempt: int
    status: int | None
    headers: dict[str, str]
    body: str
    body_encoding: Encoding = "utf-8"
    withheld: Withheld | None = None
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    refusal: str | None = None
    finish_reason: str | None = None
    model: str | None = None
    provider_request_id: str | None = None
    usage: Usage = Usage()
    latency_ms: float
    first_token_ms: float | None = None
    redactions: tuple[Redaction, ...] = ()


class ErrorRecorded(EvaluationEvent):
    """An attempt failed. `transient` is tried again within `retry_attempts`, `deferred` (the
    server turned the request away for now) however often, `final` is not, and `halting`
    (a wrong key, an unknown model) stops the run, which can be resumed.

    Of a body, a message or a stack trace that is long, the beginning is recorded, and that
    it is the beginning."""

    schema_version: ClassVar[int] = 4

    purpose: Purpose
    judge: str | None = None
    turn: int
    attempt: int
    kind: str
    message: str
    disposition: Disposition
    stack_trace: str
    status: int | None = None
    headers: dict[str, str] = {}
    body: str | None = None
    body_encoding: Encoding = "utf-8"
    withheld: Withheld | None = None
    retry_after_s: float | None = None
    latency_ms: float | None = None
    redactions: tuple[Redaction, ...] = ()


VOIDS_ANSWER = "model_mismatch"
"""The kind of error that follows an answer to the same request, and voids it: another model
gave it. Any other error is what came in place of an answer."""


ONLY_JUDGE = "judge"
"""The key of the one judge that a run could have, where older versions named none. What was read
from its reply was no event of its own then."""


class AttemptLost(EvaluationEvent):
    """A request was sent and no outcome is on record: the process died in between."""

    schema_version: ClassVar[int] = 2

    purpose: Purpose
    judge: str | None = None
    turn: int
    attempt: int
    reason: str


class Classified(EvaluationEvent):
    """The deterministic class of the reply (specification 000 § 2)."""

    primary: str
    details: dict[str, Any]
    classifier: str
    classifier_version: str


class Judged(EvaluationEvent):
    """What was read from a judge's reply, or why nothing could be: a verdict or a problem.

    `final` says that this judge is not asked about this evaluation any more.
    """

    judge: str
    verdict: dict[str, Any] | None
    problem: str | None
    final: bool
    grader: str
    grader_version: str


class Scored(EvaluationEvent):
    """The evaluation's scores, and whether it passed; nothing follows.

    `passed` is what its dialect says, `None` where it says neither: whoever counts passes counts
    this. `graders` holds the version of each installed scorer by the name of the score it added.
    """

    schema_version: ClassVar[int] = 2

    scores: dict[str, float]
    passed: bool | None
    graders: dict[str, str] = {}
    reason: str
    scorer: str
    scorer_version: str


class EvaluationAbandoned(EvaluationEvent):
    """The evaluation ends without a score; nothing follows."""

    kind: str
    reason: str


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
        Reviewed,
        RunStarted,
        CasesPlanned,
        CaseSkipped,
        PricesRecorded,
        RunPaused,
        RunResumed,
        RunCompleted,
        RunFailed,
        RunSealed,
        RunValidated,
        LimitChanged,
        CarriedOver,
        RequestSent,
        ResponseReceived,
        ErrorRecorded,
        AttemptLost,
        Classified,
        Judged,
        Scored,
        EvaluationAbandoned,
    )
}
"""Every event by its topic. A topic is never renamed and never reused."""
