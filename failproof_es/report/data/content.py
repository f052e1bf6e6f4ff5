"""The report's data model, in reading order. Every format shows it.

Nothing here is a bare percentage: a rate has its counts, its interval with the method, and its
number of clusters (`failproof_es.support.statistics`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from failproof_es.catalogue.audit_questions import AuditAnswer
from failproof_es.catalogue.run import RunDocument
from failproof_es.core.pairing import Unpaired
from failproof_es.engine.calibration.measuring import CorrectedDifference, CorrectedRate
from failproof_es.engine.reviews.disputed_items import DisputedItem
from failproof_es.events import JudgeErrors
from failproof_es.reading.given_reviews import GivenReview
from failproof_es.reading.judge_flips import ProbeFlips
from failproof_es.support.document import Document
from failproof_es.support.statistics import OpenInterval, Paired, Rate

Tone = Literal["good", "bad", "doubt", "plain"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict: missed gates and the result, and remarks on how far they hold."""

    tone: Tone
    sentence: str
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GateRow:
    """A limit of a gate, and the measurement; `measured` is `None` without one."""

    run_number: int
    name: str
    limit: Any
    measured: Any
    met: bool
    of: int | None = None
    """Number of items that the measurement is over."""
    interval: tuple[float, float] | None = None
    why: str | None = None
    """Why the gate is not met, if the numbers do not show it."""
    model: str | None = None
    """The gate's model; `None` if it is of the whole run, as in runs of older versions."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A defect that kept a case out of the plan, where the run was to go on without."""

    path: str
    line: int | None
    field: str | None
    why: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """A run's provenance: its questions and models, and the state of its record."""

    run: RunDocument
    """The run as `show --json` and the console have it."""
    audit: tuple[AuditAnswer, ...]
    """What an auditor asks of the run, with answers from the record."""
    models_answered: tuple[tuple[str, int], ...]
    """The model names that the answers gave, and how often."""
    skipped: tuple[Skipped, ...]
    gates_set: bool
    """Whether the configuration sets gates; they are judged when the run completes."""
    positions: tuple[int, int]
    """First and last position in the log."""
    events: int
    seal: str | None

    @property
    def integrity(self) -> bool | None:
        """Whether the validation at the run's end found nothing; `None` before that."""
        return None if self.run.validation is None else self.run.validation.passed


@dataclass(frozen=True, slots=True)
class Funnel:
    """Of one series: how many got how far, and what became of the others, by name.

    Whoever got as far as a stage got through those before, but for `judged`: some answers are
    scored without asking a judge.
    """

    series: str
    planned: int
    sent: int
    answered: int
    classified: int
    judged: int | None
    """Evaluations with a verdict of at least one judge; `None` where no judge is asked."""
    scored: int
    losses: tuple[tuple[str, int], ...]


Dimension = Literal["overall", "suite", "category", "severity", "tag"]


@dataclass(frozen=True, slots=True)
class GroupRate:
    """The pass rate of one series over a group of cases, errors and unscored ones left out."""

    dimension: Dimension
    name: str
    series: str
    rate: Rate
    unscored: int = 0
    """Evaluations of the group that ended without a score."""
    bounds: tuple[float, float] | None = None
    """Rates if all unscored ones had failed, and if all had passed; `None` without any."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A number between its quantiles: a mean or a quantile with its interval."""

    series: str
    name: str
    of: int
    value: float
    interval: OpenInterval | None
    unit: str
    clusters: int
    """Number of independent cases and families."""


@dataclass(frozen=True, slots=True)
class HeatCell:
    """Failures of one series where a category meets a severity."""

    series: str
    category: str
    severity: str
    failed: int
    total: int


@dataclass(frozen=True, slots=True)
class Refusals:
    """Over-refusal and under-refusal of one series."""

    series: str
    refused: int
    scored: int
    over: Rate
    """Rate of failing by refusing, over the cases that want no refusal."""
    under: Rate
    """Rate of failing by answering, over the cases that want a refusal."""


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors by kind. They are not failures."""

    series: str
    requests: tuple[tuple[str, int], ...]
    """Failed requests, most of them sent again."""
    retries: int
    lost: tuple[tuple[str, int], ...]
    """Evaluations that ended without a score."""


@dataclass(frozen=True, slots=True)
class Stability:
    """Stability of one series over the cases with all k repetitions scored."""

    series: str
    k: int
    any_of_k: Rate
    """Cases that passed at least once."""
    all_of_k: Rate
    """Cases that passed every time."""

    @property
    def changing(self) -> int:
        """Number of cases that passed in some repetitions and failed in others."""
        return self.any_of_k.passed - self.all_of_k.passed


@dataclass(frozen=True, slots=True)
class JudgeCoverage:
    """Number of evaluations that one judge was asked about, and of those it gave a verdict for."""

    run_number: int
    key: str
    asked: int
    verdicts: int


@dataclass(frozen=True, slots=True)
class ListAgreement:
    """The items of one list of the checklist that happened, as two raters saw it."""

    list: str
    """`must_do`, `must_not_do` or `pass_criteria`."""
    both: int
    """Number of items that happened according to both."""
    only_one: int
    only_other: int
    neither: int


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """The agreement of two judges, or of judges and people, beyond chance."""

    one: str
    other: str
    what: str
    pairs: int
    agreeing: int
    kappa: float | None
    interval: tuple[float, float] | None
    left_out: int
    """Items or evaluations on which at least one of the two gave no valid verdict."""
    lists: tuple[ListAgreement, ...] = ()
    """The items by list; empty for verdicts."""


class RaterDisagreement(DisputedItem):
    """An item or an evaluation on which two raters disagree, with their votes.

    The judges together are followed by the vote of each judge.
    """

    run_number: int
    one: str
    other: str
    what: str
    """`items` or `verdicts`."""


@dataclass(frozen=True, slots=True)
class JudgeCalibration:
    """How good the judges of one run are, on whose labels, how old those are, and what follows."""

    run_number: int
    labelled_run: int | None
    """The run whose evaluations people labelled; `None` if the judges were never calibrated."""
    made_at: datetime | None
    age_days: float | None
    labels: int
    labelled_by: tuple[str, ...]
    reliability: float | None
    """Krippendorff's alpha of the labels of several people."""
    stale: tuple[str, ...]
    """Reasons why the calibration does not hold for the run; empty if it does."""
    errors: tuple[JudgeErrors, ...]
    rates: tuple[CorrectedRate, ...]
    differences: tuple[CorrectedDifference, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a model or a judge; `None` where a price or a token count is unknown."""

    run_number: int
    key: str
    answers: int
    input_tokens: int | None
    """Sum over answers that report it; `None` if none does. `input_unknown` counts the others."""
    output_tokens: int | None
    cost_usd: float | None
    input_unknown: int = 0
    output_unknown: int = 0
    possibly_charged: int = 0
    """Requests without an answer that may have been charged: `cost_usd` lacks them."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """All latencies of a series, ascending, in milliseconds."""

    series: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SeriesPairing:
    """Number of paired and scored evaluations of two series, and why the others are not paired."""

    one: str
    other: str
    pairs: int
    unpaired: tuple[Unpaired, ...]
    incomparable: str | None
    """Why a difference of the two says nothing, so that there is no comparison of them."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two series on what both were asked.

    `adjusted_p` takes the questions of a family together: those over all cases, of every two
    series, are one; severities, categories and scores are the other.
    """

    one: str
    other: str
    what: str
    paired: Paired
    adjusted_p: float
    only_first: tuple[str, ...] = ()
    """Cases that only the first series passed, in order; empty except in the overall comparison."""
    only_second: tuple[str, ...] = ()
    adjusted_for: int = 1
    """Number of comparisons that the p value is adjusted for."""


@dataclass(frozen=True, slots=True)
class UnmetExpectation:
    """An expectation of a case beside the answer; both shortened."""

    expected: str
    got: str


class Failed(Document):
    """A failed evaluation, listed for reading."""

    run_id: UUID
    run_number: int
    evaluation_id: UUID
    prompt_id: UUID
    model_key: str
    series: str
    suite: str
    case: str
    category: str
    severity: str | None
    repetition: int
    class_: str | None
    fault: str
    """Why it failed, in words that other cases can share."""
    unmet: tuple[UnmetExpectation, ...]
    """At most five expectations that the answer does not meet."""
    reason: str
    reviews: tuple[GivenReview, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a report holds, except the transcripts of its failures."""

    made_at: datetime
    title: str
    verdict: Verdict
    gates: tuple[GateRow, ...]
    comparisons: tuple[Comparison, ...]
    pairings: tuple[SeriesPairing, ...]
    failures: tuple[Failed, ...]
    heat: tuple[HeatCell, ...]
    groups: tuple[GroupRate, ...]
    stability: tuple[Stability, ...]
    refusals: tuple[Refusals, ...]
    measures: tuple[Measure, ...]
    funnels: tuple[Funnel, ...]
    errors: tuple[Errors, ...]
    judged: tuple[JudgeCoverage, ...]
    agreement: tuple[JudgeAgreement, ...]
    disagreements: tuple[RaterDisagreement, ...]
    """At most 100 of each two raters."""
    calibrations: tuple[JudgeCalibration, ...]
    probed: tuple[ProbeFlips, ...]
    """Of runs of `judges probe`: how often each probe changed a verdict of each judge."""
    costs: tuple[Cost, ...]
    latencies: tuple[Distribution, ...]
    limitations: tuple[str, ...]
    asked: tuple[Provenance, ...]
    pooled: str | None = None
    """The runs that are counted together, in a sentence; `None` if each is counted by itself."""

    @property
    def series(self) -> tuple[str, ...]:
        """Names of the series (one model in one run each, or in all that are counted together).

        In the order of `funnels`.
        """
        return tuple(funnel.series for funnel in self.funnels)
