"""`/runs/{run}`: how one run is going, or how it went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from failproof_es.assurance.protection_status import ProtectionStatus, protection_status
from failproof_es.configuration.recorded import repetitions_of
from failproof_es.console.page import Asked, NotFound, Page, PageModel, Shown
from failproof_es.console.paging import Query
from failproof_es.console.shown import RateShown, rate_of_group, rate_shown
from failproof_es.core.run import Run
from failproof_es.core.spend import ceiling_of
from failproof_es.core.summary import RunSummary
from failproof_es.engine.related_runs.attempts import Attempts, attempts_of
from failproof_es.engine.workers.presence import KnownShare, list_holders, list_shares
from failproof_es.events import Finding, LimitChanged, ModelSnapshot, RunStarted, SuiteSnapshot
from failproof_es.events.line import line_of
from failproof_es.gates import describe_gate
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.reading.summary_rows import CLASSES
from failproof_es.reading.workers import RunWorker, workers_of
from failproof_es.store.reading.reader import Connection, find, read_event, resolve_run

_NEWEST = 20
"""The number of other attempts, and of overlapping runs, that are listed."""
_LIFE = (
    "RunStarted", "RunPaused", "RunResumed", "SpendCeilingChanged", "RunCompleted", "RunFailed",
    "RunValidated", "RunSealed",
)  # fmt: skip
"""What happened to the run, as its page tells it."""


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
    """The number of the run that it was branched from."""
    skipped_defects: int


class Counts(Shown):
    """How the planned evaluations stand, and what was sent for them."""

    planned: int
    finished: int
    scored: int
    passed: int
    failed: int
    abandoned: int
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


class LostGroup(Shown):
    """Evaluations that ended because no usable answer came, for one reason."""

    model: str
    kind: str
    reason: str
    evaluations: int


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
    passed: RateShown
    models: tuple[ModelProgress, ...]
    classes: tuple[str, ...]
    """Those that occur, in the order of tables."""
    suites: tuple[SuiteProgress, ...]
    errors: tuple[ErrorGroup, ...]
    """The most frequent first."""
    lost: tuple[LostGroup, ...]
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
    history: tuple[Happening, ...]
    attempts: Attempts
    validation: ValidationShown | None
    protection: ProtectionStatus
    contradictions: int
    """Evaluations whose record cannot be true or be read."""
    manifest: Manifest


def read_run(asked: Asked[Query]) -> RunPage:
    """The run that the path names: by its number, its id, or as `latest`."""
    connection, up_to = asked.connection, asked.standing.events_up_to
    run_id = resolve_run(connection, asked.path["run"])
    recorded = RecordedRun(connection, begun_run(asked, run_id), asked.feeder)
    summary, run = recorded.summary, recorded.run
    validation = run.validation
    limits = tuple(map(_limit, run.limits.values()))
    servers = {each.server for each in limits} | set(_servers(run.started))
    history = tuple(_history(connection, run_id, up_to))
    classes = summary.total.classes
    return RunPage(
        as_of=asked.standing,
        run=_facts(recorded, history),
        counts=_counts(summary),
        passed=_passed(summary),
        models=tuple(_model(summary, each) for each in run.started.models),
        classes=(
            *(name for name in CLASSES if classes.get(name)),
            *sorted(name for name, n in classes.items() if n and name not in CLASSES),
        ),
        suites=tuple(_suites(summary)),
        errors=tuple(
            ErrorGroup(asked=key.asked, kind=key.kind, message=key.message, attempts=count)
            for key, count in summary.messages()
        ),
        lost=tuple(
            LostGroup(model=key.model_key, kind=key.kind, reason=key.reason, evaluations=count)
            for key, count in sorted(summary.counts.lost.items(), key=lambda each: -each[1])
            if count
        ),
        gates=tuple(_gates(run.gates or {})),
        spending=spending_of(summary),
        latency_p50_ms=summary.latency_ms(50),
        latency_p95_ms=summary.latency_ms(95),
        limits=limits,
        shares=tuple(each for each in list_shares(connection) if each.server in servers),
        holders=tuple(list_holders(connection).get(str(run_id), ())),
        workers=tuple(workers_of(connection, run_id, up_to)),
        reviews={name: count for name, count in summary.reviews.items() if count},
        history=history,
        attempts=attempts_of(connection, run_id, _NEWEST),
        validation=validation
        and ValidationShown(
            passed=validation.passed,
            checked=validation.checked,
            findings=validation.findings,
            more=validation.more,
        ),
        protection=protection_status(connection, sealed=run.sealed),
        contradictions=summary.counts.impossible,
        manifest=_manifest(run),
    )


def begun_run(asked: Asked[Any], run_id: UUID) -> Run:
    """The run. Raises `NotFound` where it began after what is counted so far."""
    first = read_event(asked.connection, run_id, 1)
    if first is not None and first.position > asked.standing.events_up_to:
        raise NotFound(
            f"The run began with event {first.position:,}. The projections, which pages are made "
            f"of, have read {asked.standing.events_up_to:,} so far.",
            "Load the page again in a moment.",
        )
    return asked.feeder.run(run_id)


def _facts(recorded: RecordedRun, history: tuple[Happening, ...]) -> RunFacts:
    run, started = recorded.run, recorded.started
    ends = [each.at for each in history if each.topic in ("RunCompleted", "RunFailed")]
    branch = started.branched_from
    return RunFacts(
        run_id=recorded.run_id,
        run_number=started.run_number,
        name=started.name,
        status=run.status,
        reason=run.reason,
        started_at=started.timestamp,
        ended_at=ends[-1] if ends else None,
        who=started.who,
        where=started.where,
        code_version=started.code_version,
        dialect=started.dialect,
        configuration_digest=started.configuration_digest,
        branched_from=None
        if branch is None
        else recorded.feeder.run(branch.run_id).started.run_number,
        skipped_defects=run.skipped,
    )


def _counts(summary: RunSummary, model: str | None = None) -> Counts:
    group, asking = summary.group(model=model), summary.asking(model)
    return Counts(
        planned=summary.planned if model is None else summary.planned // len(summary.models),
        finished=group.finished,
        scored=group.scored,
        passed=group.passed,
        failed=group.failed,
        abandoned=group.abandoned,
        lost=summary.lost(model),
        awaiting_review=group.awaiting,
        carried_over=asking.carried_over,
        in_flight=asking.in_flight,
        requests=asking.requests,
        answers=asking.answers,
        retries=asking.retries,
        failed_attempts=asking.errors,
        lost_attempts=asking.lost_attempts,
    )


def _passed(summary: RunSummary) -> RateShown:
    """All models together. What several say of one case is not independent of each other."""
    total, several = summary.total, len(summary.models)
    if several == 1:
        return rate_of_group(total, repetitions_of(summary.run.started))
    return rate_shown(total.passed, total.failed, -(-total.cases // several))


def _model(summary: RunSummary, model: ModelSnapshot) -> ModelProgress:
    group = summary.group(model=model.key)
    spent = summary.counts.spending.get(model.key)
    known = model.key not in summary.unpriced
    return ModelProgress(
        model=model.key,
        provider=model.provider,
        version=model.version,
        counts=_counts(summary, model.key),
        passed=rate_of_group(group, repetitions_of(summary.run.started)),
        classes={name: count for name, count in group.classes.items() if count},
        cost_usd=float(spent.known_usd)
        if spent is not None and known
        else (0.0 if known else None),
    )


def _suites(summary: RunSummary) -> Iterator[SuiteProgress]:
    repetitions = repetitions_of(summary.run.started)
    for (model, suite), group in summary.by_suite().items():
        if group.finished:
            yield SuiteProgress(
                model=model,
                suite=suite,
                cases=group.cases,
                finished=group.finished,
                abandoned=group.abandoned,
                passed=rate_shown(
                    group.passed, group.failed, None if repetitions == 1 else group.cases
                ),
                accuracy=group.accuracy,
            )


def _gates(gates: Mapping[str, Any]) -> Iterator[GateShown]:
    for name, gate in gates.items():
        yield GateShown(name=name, says=describe_gate(name, gate), met=gate["met"])


def _limit(change: LimitChanged) -> LimitNow:
    return LimitNow(
        server=change.server,
        models=change.models,
        limit_before=change.limit_before,
        limit=change.limit_after,
        reason=change.reason,
        held_until=change.held_until,
        at=change.timestamp,
    )


def _servers(started: RunStarted) -> Iterator[str]:
    for model in (*started.models, *started.judges):
        if isinstance(url := model.settings.get("base_url"), str):
            yield url


def _history(connection: Connection, run_id: UUID, up_to: int) -> Iterator[Happening]:
    for row in find(connection, stream_id=run_id, topics=_LIFE, up_to=up_to):
        yield Happening(
            position=row.position,
            topic=row.topic,
            at=row.recorded_at,
            says=line_of(row.topic, row.upcast_payload()),
        )


def spending_of(summary: RunSummary) -> Spending:
    """What the run cost, and of what that is not known."""
    spent, ceiling = summary.spent, ceiling_of(summary.run)
    return Spending(
        cost_usd=None if summary.cost_usd is None else float(summary.cost_usd),
        known_usd=float(spent.known_usd),
        unpriced_answers=spent.unpriced,
        unpriced=summary.unpriced,
        max_spend_usd=None if ceiling is None else float(ceiling),
        input_tokens=spent.input.known,
        output_tokens=spent.output.known,
    )


def _manifest(run: Run) -> Manifest:
    started = run.started
    return Manifest(
        models=started.models,
        judges=started.judges,
        suites=started.suites,
        seeds=started.seeds,
        packages=started.packages,
        price_sources={
            key: each.source for key, each in (run.prices or {}).items() if each.source is not None
        },
        configuration=started.configuration,
    )


PAGE = Page(
    name="run",
    path="/runs/{run}",
    says="How a run is going, or how it went.",
    query=Query,
    model=RunPage,
    read=read_run,
)
