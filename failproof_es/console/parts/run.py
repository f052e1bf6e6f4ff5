"""What the page of a run shows."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from failproof_es.assurance.protection_status import ProtectionStatus
from failproof_es.console.page import PageModel, Shown
from failproof_es.console.shown import RateShown
from failproof_es.core.unscored import WORDS, UnscoredGroup
from failproof_es.engine.related_runs.attempts import Attempts
from failproof_es.engine.workers.presence import KnownShare
from failproof_es.events import Again, Finding, ModelSnapshot, SuiteSnapshot
from failproof_es.reading.people_figures import PeopleFigure
from failproof_es.reading.workers import RunWorker
from failproof_es.report.data.wording import usd

MOST_APART = 3
"""Of so many models the first numbers of the page tell each one's rate; of more that of all."""


MOST_BY_PEOPLE = 5_000
"""Evaluations of a run up to which its page has figures by people: it reads each of them."""
MOST_LIVE_SUITES = 200
"""Rows of suites that are kept current while one looks. A page with more says that they are not."""


class RunFacts(Shown):
    """Who asked what, when and with which version."""

    run_id: UUID
    run_number: int
    name: str
    status: str
    reason: str | None
    started_at: datetime
    ended_at: datetime | None
    who: str
    where: str
    code_version: str
    dialect: str
    configuration_digest: str
    branched_from: int | None
    """The number of the run that it was branched from, or whose answers it reuses."""
    asked_again: Again | None
    """Which evaluations of that run it asks again, where it was asked for."""
    reuse: bool
    """It reuses that run's answers where the requests are the same; its plan is its own."""
    selection: str | None
    """Of how many cases and models it asked which part; nothing where it asked all."""
    imported: str | None
    """Which tool recorded it, in words; null of a run that asked here."""
    not_mapped: tuple[str, ...]
    """What of the source of an imported run has no place here, and why."""
    remarks: tuple[str, ...]
    """What has to stand beside its numbers."""
    skipped_defects: int


class Counts(Shown):
    """How the planned evaluations stand, and what was sent for them."""

    planned: int
    finished: int
    scored: int
    passed: int | None
    """Of one model; `None` of several together, as `failed`."""
    failed: int | None
    abandoned: int
    """Those without a score, but for those that await review; `lost` is a part of them."""
    lost: int
    awaiting_review: int
    carried_over: int
    in_flight: int
    requests: int
    answers: int
    retries: int
    failed_attempts: int
    lost_attempts: int


class ModelProgress(Shown):
    """One model under test."""

    model: str
    provider: str
    version: str | None
    counts: Counts
    passed: RateShown
    classes: dict[str, int]
    cost_usd: float | None
    """Of its answers and its judges'; `None` where one is not known."""


class SuiteProgress(Shown):
    """One suite, as one model stands in it."""

    model: str
    suite: str
    cases: int
    finished: int
    abandoned: int
    passed: RateShown
    accuracy: float | None


class ErrorGroup(Shown):
    """Failed attempts that said the same."""

    asked: str
    """The model or judge that was asked."""
    kind: str
    message: str
    attempts: int


class UnscoredReason(Shown):
    """Evaluations that ended without a score, for one reason."""

    model: str
    group: UnscoredGroup
    kind: str
    reason: str
    evaluations: int

    @property
    def words(self) -> str:
        """The group in words."""
        return WORDS[self.group]


class LimitNow(Shown):
    """The last change of a server's limit."""

    server: str
    models: tuple[str, ...]
    limit_before: int
    limit: int
    reason: str
    held_until: datetime | None
    at: datetime


class GateShown(Shown):
    """A gate: its limit, what was measured, whether it is met."""

    name: str
    says: str
    met: bool


class Happening(Shown):
    """An event of the run's own stream."""

    position: int
    topic: str
    at: datetime
    says: str


class ValidationShown(Shown):
    """What checking the ended run found."""

    passed: bool
    checked: dict[str, int]
    findings: tuple[Finding, ...]
    more: dict[str, int]


class Spending(Shown):
    """What the run cost, as far as that is known."""

    cost_usd: float | None
    """`None` where one answer's cost is not known."""
    known_usd: float
    unpriced_answers: int
    unpriced: tuple[str, ...]
    """The models and judges that lack a price, or have an answer of unknown cost."""
    max_spend_usd: float | None
    input_tokens: int | None
    output_tokens: int | None


class Manifest(Shown):
    """What is needed to repeat the run."""

    models: tuple[ModelSnapshot, ...]
    judges: tuple[ModelSnapshot, ...]
    suites: tuple[SuiteSnapshot, ...]
    seeds: dict[str, int]
    packages: dict[str, str]
    price_sources: dict[str, str]
    configuration: dict[str, Any]


class RunPage(PageModel):
    """Everything that is known of how a run stands."""

    run: RunFacts
    counts: Counts
    passed: RateShown | None
    """Of the model that the run asks; `None` where it asks several: no rate adds them up."""
    models: tuple[ModelProgress, ...]
    classes: tuple[str, ...]
    """Those that occur, in the order of tables."""
    suites: tuple[SuiteProgress, ...]
    errors: tuple[ErrorGroup, ...]
    """The most frequent first."""
    more_errors: int
    """Other messages, less frequent than these."""
    unscored: tuple[UnscoredReason, ...]
    gates: tuple[GateShown, ...]
    spending: Spending
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    limits: tuple[LimitNow, ...]
    shares: tuple[KnownShare, ...]
    """Who has which share of a provider key's limits now, of the servers of this run."""
    holders: tuple[str, ...]
    """Who drives it now."""
    workers: tuple[RunWorker, ...]
    reviews: dict[str, int]
    people: tuple[PeopleFigure, ...]
    """What people decided of what was left to them, by model, severity, category and tag."""
    people_left_out: bool
    """Whether these figures are left out, because the run has more than `MOST_BY_PEOPLE`."""
    history: tuple[Happening, ...]
    attempts: Attempts
    validation: ValidationShown | None
    protection: ProtectionStatus
    contradictions: int
    """Evaluations whose record cannot be true or be read."""
    manifest: Manifest
    shape: str
    """Changes where the page gets other rows or columns; numbers alone leave it."""

    @property
    def cost_note(self) -> str:
        """What of the cost is known, where not all of it is."""
        return cost_note(self.spending)

    @property
    def suites_live(self) -> bool:
        """Whether the rows of suites are kept current."""
        return len(self.suites) <= MOST_LIVE_SUITES

    @property
    def rates_apart(self) -> bool:
        """Whether the first numbers tell each model's rate."""
        return len(self.models) <= MOST_APART


def cost_note(spending: Spending) -> str:
    """What of the cost is known, where not all of it is."""
    if spending.cost_usd is not None:
        return ""
    known = f"{usd(spending.known_usd)} known" if spending.known_usd else ""
    missing = f"unpriced: {spending.unpriced_answers:,}" if spending.unpriced_answers else ""
    return ", ".join(filter(None, (known, missing)))
