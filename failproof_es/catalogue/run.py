"""`RunDocument`: what is known of one run, as every surface shows it.

`show --json` and `/runs/N.json` are this object, `OpenedRun.document` returns it, and the report's
provenance has it. The pieces are in one vocabulary: `requests` are what was sent, `attempt` is a
run's place among those of its experiment, a `class` is what an answer was classified as.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from failproof_es.assurance.protection_status import ProtectionStatus
from failproof_es.catalogue.pass_rate import PassRate
from failproof_es.core.selection import describe_recorded_part
from failproof_es.core.unscored import WORDS, UnscoredGroup
from failproof_es.engine.related_runs.attempts import Attempts
from failproof_es.engine.workers.presence import ShareRecord, Undriven
from failproof_es.events import (
    Again,
    Finding,
    ModelSnapshot,
    Registration,
    Selection,
    SourceFile,
    SuiteSnapshot,
    Unmapped,
)
from failproof_es.reading.as_of import AsOf
from failproof_es.reading.jury import JudgeFigure
from failproof_es.reading.people_figures import PeopleFigure
from failproof_es.reading.workers import RunWorker
from failproof_es.support.document import Document


class EvaluationCounts(Document):
    """Numbers of evaluations by state, and of the requests sent for them."""

    planned: int
    finished: int
    scored: int
    passed: int | None
    """Number of passed evaluations of one model; `None`, as `failed`, for several models."""
    failed: int | None
    abandoned: int
    """Evaluations without a score, except those that await review; includes `lost`."""
    lost: int
    """Evaluations without a usable answer of the model."""
    awaiting_review: int
    carried_over: int
    in_flight: int
    requests: int
    """Requests that were sent, judges' included. Those of carried-over evaluations are of the run
    that sent them; so are the next four."""
    answers: int
    retries: int
    """Requests that repeated a failed or orphaned one."""
    failed_requests: int
    """Requests without a usable reply."""
    orphaned_requests: int
    """Requests without a recorded outcome."""


class Accuracy(Document):
    """Mean scores of one model, and their bounds: had everything unscored got 0, and had it got 1.

    `None` without scores, and for several models together.
    """

    by_case: float | None
    by_case_bounds: tuple[float, float] | None
    mean_of_suites: float | None
    mean_of_suites_bounds: tuple[float, float] | None


class ModelProgress(Document):
    """One model under test."""

    model: str
    provider: str
    version: str | None
    counts: EvaluationCounts
    passed: PassRate
    accuracy: Accuracy
    classes: dict[str, int]
    """Answers by class, those that occur."""
    unscored: dict[UnscoredGroup, int]
    """Evaluations that ended without a score, by the group of their reason."""
    cost_usd: float | None
    """Cost of its own answers, without its judges'; `None` if the cost of one is unknown."""
    possibly_charged: int
    """Requests to it without an answer that may have been charged: `cost_usd` lacks them."""


class SuiteProgress(Document):
    """One suite, as one model stands in it."""

    model: str
    suite: str
    cases: int
    finished: int
    scored: int
    abandoned: int
    awaiting_review: int
    passed: PassRate
    accuracy: float | None
    accuracy_bounds: tuple[float, float] | None
    classes: dict[str, int]


class ErrorGroup(Document):
    """Failed requests that got the same error."""

    asked: str
    """The model or judge that was asked."""
    kind: str
    message: str
    requests: int


class UnscoredReason(Document):
    """Evaluations that ended without a score, for one reason."""

    model: str
    group: UnscoredGroup
    kind: str
    reason: str
    evaluations: int

    @property
    def words(self) -> str:
        """The meaning of `group` in words, for example `cut off at max_tokens`."""
        return WORDS[self.group]


class LimitNow(Document):
    """The last change of a server's limit."""

    server: str
    models: tuple[str, ...]
    limit_before: int
    limit: int
    reason: str
    held_until: datetime | None
    at: datetime


class Happening(Document):
    """An event of the run's own stream."""

    position: int
    topic: str
    at: datetime
    says: str


class ValidationShown(Document):
    """The findings of checking the ended run."""

    passed: bool
    checked: dict[str, int]
    findings: tuple[Finding, ...]
    more: dict[str, int]
    """Findings of a kind beyond those named."""
    cost_usd: dict[str, str | None]
    """Cost by model and judge, counted again."""


class Closing(Document):
    """The gates on rates, judged by the verdicts of people."""

    at: datetime
    who: str
    where: str
    position: int
    """The reviews up to this position count."""
    incomplete: bool
    """Whether results that nobody reviewed count as not passed."""
    reviews: dict[str, int]
    overruled: dict[str, int]
    gates: dict[str, Any]


class Spending(Document):
    """The known costs of the run."""

    cost_usd: float | None
    """`None` where one answer's cost is not known."""
    known_usd: float
    possibly_charged: int
    """Requests without an answer that may have been charged: timed out, broken off, orphaned, in
    flight. If there are any, the run cost at least `known_usd`."""
    most_usd: float | None
    """The most that all answers and these requests may cost; `None` where nothing bounds one."""
    unpriced_answers: int
    unpriced: tuple[str, ...]
    """The models and judges that lack a price, or have an answer of unknown cost."""
    max_spend_usd: float | None
    of_ceiling: str | None
    """The spent share of the spend ceiling, in words; `None` without a ceiling."""
    input_tokens: int | None
    output_tokens: int | None
    input_tokens_unknown: int
    """Answers that did not report their input tokens."""
    output_tokens_unknown: int


class AskedAgain(Document):
    """An evaluation that is asked again, and how it had ended before."""

    suite: str
    case: str
    model: str
    repetition: int
    ended_as: str
    """Kind of that end."""
    reason: str


class BranchedFrom(Document):
    """The run that this one was branched from, or whose answers it reuses."""

    says: str
    """The same in words."""
    run_id: UUID
    run_number: int
    position: int
    """Position of the log up to which that run counts."""
    settings: dict[str, Any]
    """Settings that the branch changed, by their path: how to reach its models."""
    reuse: bool
    """The run reuses that run's answers to the same requests; its plan is its own."""
    again: Again | None
    """Which evaluations of that run are asked again; `None`: only unfinished ones."""
    asked_again: tuple[AskedAgain, ...]


class Imported(Document):
    """The records of another tool that the run was made of."""

    says: str
    kind: str
    tool: str
    tool_version: str | None
    source_sha256: str
    files: tuple[SourceFile, ...]
    began_at: str | None
    """The start of the run, as the source records it."""
    ended_at: str | None
    answers: int
    absent: int
    """Planned evaluations that the source holds no answer for."""
    unmapped: tuple[Unmapped, ...]
    """Parts of the source that are not imported, and why."""
    claims: dict[str, Any]
    """Results that the source states; nothing here is computed from them."""


class Annotation(Document):
    """The annotations of the run, and the last person who changed them."""

    name: str | None
    """The name that they gave it; `None`: they call it by its configured one."""
    tags: tuple[str, ...]
    note: str | None
    hidden: bool
    """Whether lists leave the run out. It counts as an attempt."""
    who: str
    at: datetime


class RunDocument(Document):
    """All known facts of a run. An unknown or inapplicable fact is null."""

    as_of: AsOf
    """Up to which event it was read. The console reads one snapshot; elsewhere events that a run
    records meanwhile may be counted, too."""
    run_id: UUID
    run_number: int
    name: str
    annotation: Annotation | None
    status: str
    reason: str | None
    """Why it is in this status, where there is more to say."""
    started_at: datetime
    ended_at: datetime | None
    who: str
    where: str
    code_version: str
    packages: dict[str, str]
    """Installed plug-ins that it used, with their versions."""
    dialect: str
    configuration_digest: str
    models: tuple[ModelSnapshot, ...]
    judges: tuple[ModelSnapshot, ...]
    suites: tuple[SuiteSnapshot, ...]
    seeds: dict[str, int]
    repetitions: int
    planned_cases: int
    selection: Selection | None
    """The asked part of its configuration's cases and models; `None` if it asked all of them."""
    branched_from: BranchedFrom | None
    registration: Registration | None
    """The plan that was registered before the run and that it follows."""
    chosen_by_result: str | None
    """Why no rate of this run is a measurement: results chose what it asked, or what a run asked
    that it carries answers over from."""
    imported: Imported | None
    """`None` of a run that asked here."""
    remarks: tuple[str, ...]
    """Remarks to show with the numbers of the run."""
    judges_measured: str | None
    """When its judges were measured, on how many labels, and how well they agreed with people;
    `None` if no calibration of the run is on record."""
    times_apart: str | None
    """The remark of `failproof-es verify` on the time at which its first event was recorded, if
    that is more than a day from its signed time."""
    skipped_defects: int
    """Defects that kept cases out of the plan: `failproof-es audit` lists them."""
    counts: EvaluationCounts
    passed: PassRate | None
    """Pass rate of the only model; `None` for several models, whose rates are not combined."""
    accuracy: Accuracy
    classes: dict[str, int] | None
    """Counts of the classes of the only model; `None` for several models."""
    unscored: dict[UnscoredGroup, int]
    unscored_reasons: tuple[UnscoredReason, ...]
    """The most frequent first."""
    by_model: tuple[ModelProgress, ...]
    by_suite: tuple[SuiteProgress, ...]
    """Suites of which a case is finished, by model."""
    errors: tuple[ErrorGroup, ...]
    """The most frequent first."""
    more_errors: int
    """Other errors, less frequent than these."""
    gates: dict[str, Any]
    """Gates by name, with limit, measurement and whether each is met."""
    closings: tuple[Closing, ...]
    spending: Spending
    price_sources: dict[str, str]
    """The recorded price data, by model and judge."""
    latency_p50_ms: float | None
    """Median time of an answer of all models under test, each turn of a conversation by itself."""
    latency_p95_ms: float | None
    """The 95th percentile of these times."""
    reviews: dict[str, int]
    """Evaluations that were left to people, by the status of their reviews."""
    by_people: tuple[PeopleFigure, ...]
    """The verdicts of people on these evaluations, by model, severity, category and tag."""
    jury: tuple[JudgeFigure, ...]
    """What each of several judges adds; empty with fewer than two, and where their verdicts are too
    many for this surface. `failproof-es show` has it."""
    evaluations_unread: bool
    """Whether `by_people` and `asked_again` are left out: they read each evaluation, and there are
    too many for this surface. `failproof-es show` has them."""
    validation: ValidationShown | None
    """`None` until the run has ended."""
    protection: ProtectionStatus
    contradictions: int
    """Evaluations whose record cannot be true or be read."""
    attempts: Attempts
    limits: tuple[LimitNow, ...]
    shares: tuple[ShareRecord, ...]
    """The workers' shares of provider keys' limits now, for the servers of this run."""
    holders: tuple[str, ...]
    """The processes that drive the run now, in words."""
    undriven: Undriven | None
    """Since when nobody drives it, though it is running; else `None`."""
    workers: tuple[RunWorker, ...]
    """The processes that drove it together; none where one process drove it alone."""
    history: tuple[Happening, ...]
    configuration: dict[str, Any]
    """The whole configuration as recorded, defaults filled in."""

    @property
    def part(self) -> str | None:
        """The selected part in words: `100 of 1,432 cases: sample of 100, seed 7`.

        `None` if the run asked all cases and models of its configuration.
        """
        return describe_recorded_part(
            self.selection,
            self.configuration,
            self.planned_cases,
            len(self.models),
            self.suites,
        )

    @property
    def people_judge(self) -> bool:
        """Whether people decide the gates on rates (`gates.by`)."""
        return (self.configuration.get("gates") or {}).get("by") == "people"
