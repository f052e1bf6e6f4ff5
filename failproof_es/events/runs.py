"""Events of a run's own stream: its life cycle, nothing about single evaluations."""

from datetime import date, datetime, time
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

from pydantic import AfterValidator

from failproof_es.events.base import DRIVEN, ENDED, Record, RunEvent, RunStatus


class ModelSnapshot(Record):
    """A model's configuration as it was when the run began; secrets by name only."""

    key: str
    provider: str
    model: str
    version: str | None = None
    parameters: dict[str, Any] = {}
    settings: dict[str, Any] = {}


class SuiteSnapshot(Record):
    """A case file as it was read: its path, the SHA-256 of its bytes, its number of cases.

    `cases` is the number of its `of_cases` valid cases after filters and selection; `None`: not
    counted.
    """

    path: str
    sha256: str
    dialect: str
    cases: int
    of_cases: int | None = None


class Counts(Record):
    """Numbers of a run's planned evaluations. `finished` = scored + abandoned."""

    planned: int
    finished: int
    scored: int
    abandoned: int


Again = Literal["abandoned", "errors", "failed"]


class Branch(Record):
    """The source run of a branched run, the position up to which it counts, and the reason.

    Evaluations finished by then are carried over (specification 001 § 9), except the kind that is
    asked `again`: `abandoned` (ended without a score), `errors` (abandoned ones that do not await
    people), or `failed` (scored without a pass). `settings` are the changed settings by their path,
    which say how to reach the models.

    With `reuse` the run has a plan and a configuration of its own. A scored evaluation is carried
    over if each of its requests would be sent again byte for byte.
    """

    run_id: UUID
    position: int
    again: Again | None = None
    settings: dict[str, Any] = {}
    reuse: bool = False


class Experiment(Record):
    """The experiment of a run, which its attempts share (`failproof_es.core.experiment`).

    `questions` is the digest of the sent parts alone. `overlapping` counts earlier runs of other
    experiments that share a model and many cases.
    """

    digest: str
    questions: str
    overlapping: int = 0


class Selection(Record):
    """The selected part of a configuration's cases and models.

    `of_cases` and `of_models` are the numbers before the selection. `only` and `exclude` are
    patterns, `limit` is a number of first cases, `sample` a number of cases drawn with `seed`.
    `models` are the patterns that chose models; empty if all are asked.
    """

    of_cases: int
    of_models: int
    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    limit: int | None = None
    sample: int | None = None
    seed: int | None = None
    models: tuple[str, ...] = ()


class Registration(Record):
    """The registered plan that a run follows, its event's time, and the runs that may follow it.

    `changed` has the parts in which the run's plan differs
    (`failproof_es.core.registration.changed_parts`).
    """

    registration_id: UUID
    registered_at: datetime
    runs: int
    changed: tuple[str, ...]


class RunStarted(RunEvent):
    """A run exists: everything needed to repeat it, and the user and host that began it.

    `attempt` counts the runs of this experiment from 1, whatever their result. `selection` is
    `None` if the run asks everything, `registration` if it follows no registered plan.
    """

    plan_place: ClassVar[int | None] = 0
    run_status: ClassVar[RunStatus | None] = "running"
    audited: ClassVar[bool] = True
    tells_progress: ClassVar[bool] = True
    says: ClassVar[str] = "run {run_number} {name}, evaluations: {planned_evaluations}"

    name: str
    run_number: int
    attempt: int
    experiment: Experiment
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
    selection: Selection | None = None
    registration: Registration | None = None


_MOST_PLACES = 50
"""The most digits of a price before its point, and after it."""


def _payable(price: Decimal) -> Decimal:
    """Sums of such prices are exact (`exact_numbers.UNROUNDED`). Raises `ValueError` for a price
    with more digits."""
    _, digits, exponent = price.as_tuple()
    if not isinstance(exponent, int) or not (
        exponent >= -_MOST_PLACES and len(digits) + exponent <= _MOST_PLACES
    ):
        raise ValueError(f"must have at most {_MOST_PLACES} digits before its point and after it")
    return price


Price = Annotated[Decimal, AfterValidator(_payable)]
"""An amount in US dollars."""


class TokenPrices(Record):
    """The price of tokens: US dollars per million, `None` where unknown.

    It holds from the day `since` (UTC), each day from `daily_from` until before `daily_until`
    (UTC), for requests with more than `over_input_tokens`. A condition that is `None` does not
    restrict.
    """

    since: date | None = None
    daily_from: time | None = None
    daily_until: time | None = None
    over_input_tokens: int | None = None
    input: Price | None = None
    """Tokens that were read, without the tokens of the next three fields."""
    cached_input: Price | None = None
    cache_write: Price | None = None
    """Tokens that were written to a cache, without the tokens of the next field."""
    cache_write_1h: Price | None = None
    """Tokens that were written to a cache that keeps them for an hour."""
    output: Price | None = None
    request: Price = Decimal(0)
    """US dollars for the request itself, independent of its tokens."""


class ModelPrices(Record):
    """The prices of one model or judge. If several rates hold for an answer, the last one counts.

    `source` is the price data and its version or day, `listed_as` its entry. Without rates and
    source, the price is unknown.
    """

    model_key: str
    source: str | None = None
    listed_as: str | None = None
    rates: tuple[TokenPrices, ...] = ()


class PricesRecorded(RunEvent):
    """The prices of all models and judges of the run, appended together with the plan.

    The cost of every answer of this run follows from these prices alone (`failproof_es.core.costs`,
    and in SQL `failproof.cost_usd`).
    """

    plan_place: ClassVar[int | None] = 3
    comes_once: ClassVar[bool] = True
    audited: ClassVar[bool] = True
    tells_progress: ClassVar[bool] = True
    says: ClassVar[str] = "{priced}"

    models: tuple[ModelPrices, ...]


class CasesPlanned(RunEvent):
    """The next chunk of the run's ordered case digests, appended together with `RunStarted`.

    `questions` has the `experiment.question_digest` of each case.
    """

    plan_place: ClassVar[int | None] = 1
    says: ClassVar[str] = "chunk {chunk}"

    chunk: int
    digests: tuple[str, ...]
    questions: tuple[str, ...]


class CaseSkipped(RunEvent):
    """A defect that kept a case out of the plan of a run that started without the case.

    One event for each defect, appended together with the plan: `path`, `line` (from 1) and `field`
    are its place; `why` is the message, with the remedy and the problem's code in brackets.
    """

    plan_place: ClassVar[int | None] = 2
    audited: ClassVar[bool] = True
    throws_away: ClassVar[bool] = True
    says: ClassVar[str] = "{place}: {why}"

    path: str
    line: int | None
    field: str | None
    why: str


class RunPaused(RunEvent):
    """The run stopped before its end and can be resumed."""

    comes_while: ClassVar[tuple[RunStatus, ...]] = ("running",)
    run_status: ClassVar[RunStatus | None] = "paused"
    audited: ClassVar[bool] = True
    tells_progress: ClassVar[bool] = True
    says: ClassVar[str] = "{reason}"

    reason: str
    counts: Counts
    at_ceiling: bool = False
    """Whether the next request exceeds the spend ceiling, so that only a higher one resumes the
    run. Not recorded before version 2."""


class RunResumed(RunEvent):
    """A process resumed the run."""

    comes_while: ClassVar[tuple[RunStatus, ...]] = DRIVEN
    run_status: ClassVar[RunStatus | None] = "running"
    audited: ClassVar[bool] = True
    tells_progress: ClassVar[bool] = True
    says: ClassVar[str] = ""

    who: str
    where: str
    code_version: str
    packages: dict[str, str] = {}
    """Versions of Python and of packages, as in `RunStarted`; empty where they were not recorded,
    as it was not before version 2."""


class RunCompleted(RunEvent):
    """Every planned evaluation is finished."""

    comes_while: ClassVar[tuple[RunStatus, ...]] = ("running",)
    run_status: ClassVar[RunStatus | None] = "completed"
    audited: ClassVar[bool] = True
    tells_progress: ClassVar[bool] = True
    says: ClassVar[str] = "scored: {counts[scored]}, without a score: {counts[abandoned]}"

    counts: Counts
    gates: dict[str, Any] = {}


class RunFailed(RunEvent):
    """The run ended without a usable result."""

    comes_while: ClassVar[tuple[RunStatus, ...]] = ("running",)
    run_status: ClassVar[RunStatus | None] = "failed"
    audited: ClassVar[bool] = True
    tells_progress: ClassVar[bool] = True
    throws_away: ClassVar[bool] = True
    says: ClassVar[str] = "{reason}; {counted}"

    reason: str
    counts: Counts


class RunGivenUp(RunEvent):
    """Somebody gave up the paused run: its unfinished part will never be asked."""

    comes_while: ClassVar[tuple[RunStatus, ...]] = ("paused",)
    run_status: ClassVar[RunStatus | None] = "given_up"
    audited: ClassVar[bool] = True
    throws_away: ClassVar[bool] = True
    says: ClassVar[str] = "{reason}; {counted}"

    reason: str
    counts: Counts
    who: str
    where: str


CountedEvent = RunPaused | RunCompleted | RunFailed | RunGivenUp
"""The events that hold the run's counts."""


class RunSealed(RunEvent):
    """The run has ended, and its record is complete: numbers of streams and events, and the seal.

    `root` (hexadecimal) is the root of `failproof_es.ledger.seal` over the run's own stream before
    this event, and over every evaluation.
    """

    comes_while: ClassVar[tuple[RunStatus, ...]] = ENDED
    ends_stream: ClassVar[bool] = True
    audited: ClassVar[bool] = True
    tells_progress: ClassVar[bool] = True
    says: ClassVar[str] = "streams: {streams}, events: {events}"

    streams: int
    events: int
    root: str


class LimitChanged(RunEvent):
    """A change in how many requests may go to a server at once, or from when.

    `rate_limited` (too many requests: 429, 498 or 529) and `retry_after` (another answer that says
    when to come back) hold back or slow down all requests to the server; `released` and `recovered`
    undo this.
    """

    comes_while: ClassVar[tuple[RunStatus, ...]] = ("running",)
    audited: ClassVar[bool] = True
    tells_progress: ClassVar[bool] = True
    says: ClassVar[str] = "{reason}: {limit_before} to {limit_after} at {server}"

    server: str
    models: tuple[str, ...]
    limit_before: int
    limit_after: int
    reason: Literal["rate_limited", "retry_after", "released", "recovered"]
    retry_after_s: float | None
    held_until: datetime | None


class SpendCeilingChanged(RunEvent):
    """Somebody gave the run another spend ceiling, its highest total cost in US dollars.

    The first ceiling is `execution.max_spend_usd` of the configuration.
    """

    comes_while: ClassVar[tuple[RunStatus, ...]] = ("running",)
    audited: ClassVar[bool] = True
    tells_progress: ClassVar[bool] = True
    says: ClassVar[str] = "{max_spend_usd} US dollars"

    max_spend_usd: Price
    who: str
    where: str


class Usage(Record):
    """Tokens as the provider counted them; `None` if the provider gave no count."""

    input_tokens: int | None = None
    """All tokens that were read, including tokens from and into a cache."""
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    """Input tokens that came from a cache, a part of `input_tokens`."""
    cache_write_tokens: int | None = None
    """Input tokens that were written to a cache, a part of `input_tokens`."""
    cache_write_1h_tokens: int | None = None
    """The part of `cache_write_tokens` that is kept for an hour; the rest for a shorter time."""
    reasoning_tokens: int | None = None
    """The part of `output_tokens` that were thoughts, for an answer; not summed for a run."""


class Finding(Record):
    """A finding of checking a run. `integrity`: the record is damaged."""

    kind: str
    integrity: bool
    message: str
    evaluation_id: UUID | None = None


class RunValidated(RunEvent):
    """The findings of checking the ended run (specification 001 § 10.2).

    `checked` counts the checked things, `more` further findings of a kind, which are not listed.
    `usage` is counted again by model and judge; `cost_usd` is a decimal number, `None` where a
    price or a token count is unknown.
    """

    comes_while: ClassVar[tuple[RunStatus, ...]] = ENDED
    comes_once: ClassVar[bool] = True
    audited: ClassVar[bool] = True
    tells_progress: ClassVar[bool] = True
    says: ClassVar[str] = "passed: {passed}"

    passed: bool
    checked: dict[str, int] = {}
    findings: tuple[Finding, ...]
    more: dict[str, int] = {}
    usage: dict[str, Usage] = {}
    cost_usd: dict[str, str | None] = {}
