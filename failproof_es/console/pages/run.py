"""`/runs/{run}`: how one run is going, or how it went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any
from uuid import UUID

from failproof_es.assurance.protection_status import protection_status
from failproof_es.console.page import Asked, NotFound, Page
from failproof_es.console.paging import Query
from failproof_es.console.parts.run import (
    MOST_BY_PEOPLE,
    Counts,
    ErrorGroup,
    GateShown,
    Happening,
    LimitNow,
    Manifest,
    ModelProgress,
    RunFacts,
    RunPage,
    Spending,
    SuiteProgress,
    UnscoredReason,
    ValidationShown,
)
from failproof_es.console.shown import rate_of_model
from failproof_es.core.run import Run, describe_selection
from failproof_es.core.spend import ceiling_of
from failproof_es.core.summary import RunSummary
from failproof_es.engine.related_runs.attempts import attempts_of
from failproof_es.engine.workers.presence import list_holders, list_shares
from failproof_es.events import EVENTS, LimitChanged, ModelSnapshot, RunImported, RunStarted
from failproof_es.events.line import line_of
from failproof_es.gates import describe_gate
from failproof_es.reading.feeder import Feeder
from failproof_es.reading.people_figures import people_figures
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.reading.remarks import inherited_choice
from failproof_es.reading.standing import Standing
from failproof_es.reading.summary_rows import CLASSES
from failproof_es.reading.workers import workers_of
from failproof_es.store.reading.archives import require_attached
from failproof_es.store.reading.reader import Connection, find, read_event, resolve_run

_NEWEST = 20
"""The number of other attempts, and of overlapping runs, that are listed."""
MOST_MESSAGES = 100
"""How many different messages of failed attempts are read: the most frequent."""
_LIFE = (
    *(name for name, kind in EVENTS.items() if kind.run_status),
    RunImported.__name__, "SpendCeilingChanged", "RunValidated", "RunSealed",
)  # fmt: skip
"""What happened to the run, as its page tells it."""


def read_run(asked: Asked[Query]) -> RunPage:
    """The run that the path names: by its number, its id, or as `latest`."""
    connection, up_to = asked.connection, asked.standing.events_up_to
    run_id = resolve_run(connection, asked.path["run"])
    found = begun(connection, asked.feeder, asked.standing, run_id)
    recorded = RecordedRun(connection, found, asked.feeder)
    summary, run = asked.feeder.summary(found, messages=MOST_MESSAGES), recorded.run
    require_attached(connection, run_id)
    validation = run.validation
    limits = tuple(map(_limit, run.limits.values()))
    servers = {each.server for each in limits} | set(_servers(run.started))
    history = tuple(_history(connection, run_id, up_to))
    classes, one_model = summary.total.classes, len(summary.models) == 1
    people_left_out = bool(summary.total.awaiting) and summary.planned > MOST_BY_PEOPLE
    return RunPage(
        as_of=asked.standing,
        run=_facts(recorded, summary),
        counts=_counts(summary),
        passed=rate_of_model(summary, *summary.models) if one_model else None,
        models=tuple(model_progress(summary, each) for each in run.started.models),
        classes=(
            *(name for name in CLASSES if classes.get(name)),
            *sorted(name for name, n in classes.items() if n and name not in CLASSES),
        ),
        suites=tuple(suites_of(summary)),
        errors=tuple(errors_of(summary)),
        more_errors=summary.more_messages,
        unscored=tuple(unscored_of(summary)),
        gates=tuple(_gates(recorded.gates)),
        spending=spending_of(summary),
        latency_p50_ms=summary.latency_ms(50),
        latency_p95_ms=summary.latency_ms(95),
        limits=limits,
        shares=tuple(each for each in list_shares(connection) if each.server in servers),
        holders=tuple(list_holders(connection).get(str(run_id), ())),
        workers=tuple(workers_of(connection, run_id, up_to)),
        reviews={name: count for name, count in summary.reviews.items() if count},
        people=() if people_left_out else people_figures(recorded),
        people_left_out=people_left_out,
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
        shape=shape_of(summary),
    )


def begun(connection: Connection, feeder: Feeder, standing: Standing, run_id: UUID) -> Run:
    """The run. Raises `NotFound` where it began after what is counted so far."""
    first = read_event(connection, run_id, 1)
    if first is not None and first.position > standing.events_up_to:
        raise NotFound(
            f"The run began with event {first.position:,}. The projections, which pages are made "
            f"of, have read {standing.events_up_to:,} so far.",
            "Load the page again in a moment.",
        )
    return feeder.run(run_id)


def shape_of(summary: RunSummary) -> str:
    """Changes where a run's page gets other rows or columns; numbers alone leave it."""
    told = (
        summary.run.version,
        sorted(name for name, count in summary.total.classes.items() if count),
        len(summary.messages()) + summary.more_messages,
        [key for key, count in sorted(summary.counts.unscored.items()) if count],
        sorted(key[:2] for key in summary.counts.groups),
        [model for model in summary.models if summary.group(model=model).pass_rate is None],
        [key for key, group in summary.by_suite().items() if group.pass_rate is None],
        (summary.cost_usd is None, summary.latency_ms(50) is None),
    )
    return sha256(repr(told).encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _facts(recorded: RecordedRun, summary: RunSummary) -> RunFacts:
    run, started = recorded.run, recorded.started
    branch = started.branched_from
    return RunFacts(
        run_id=recorded.run_id,
        run_number=started.run_number,
        name=started.name,
        status=run.status,
        reason=run.reason,
        started_at=started.timestamp,
        ended_at=run.ended_at,
        who=started.who,
        where=started.where,
        code_version=started.code_version,
        dialect=started.dialect,
        configuration_digest=started.configuration_digest,
        branched_from=None
        if branch is None
        else recorded.feeder.run(branch.run_id).started.run_number,
        asked_again=None if branch is None else branch.again,
        reuse=branch is not None and branch.reuse,
        selection=describe_selection(started),
        imported=run.imported_from,
        not_mapped=tuple(
            f"{each.what} ({each.count:,}): {each.why}"
            for each in (() if run.imported is None else run.imported.unmapped)
        ),
        remarks=(*run.remarks, *_inherited(recorded, summary)),
        skipped_defects=run.skipped,
    )


def _inherited(recorded: RecordedRun, summary: RunSummary) -> Iterator[str]:
    carries = summary.asking().carried_over > 0
    choice = inherited_choice(recorded.connection, recorded.run, carries=carries)
    if choice is not None:
        yield choice


def _counts(summary: RunSummary, model: str | None = None) -> Counts:
    group, asking = summary.group(model=model), summary.asking(model)
    one_model = model is not None or len(summary.models) == 1
    return Counts(
        planned=summary.planned if model is None else summary.planned // len(summary.models),
        finished=group.finished,
        scored=group.scored,
        passed=group.passed if one_model else None,
        failed=group.failed if one_model else None,
        abandoned=group.missing,
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


def model_progress(summary: RunSummary, model: ModelSnapshot) -> ModelProgress:
    """How one model under test stands."""
    group = summary.group(model=model.key)
    spent = summary.counts.spending.get(model.key)
    known = model.key not in summary.unpriced
    return ModelProgress(
        model=model.key,
        provider=model.provider,
        version=model.version,
        counts=_counts(summary, model.key),
        passed=rate_of_model(summary, model.key),
        classes={name: count for name, count in group.classes.items() if count},
        cost_usd=float(spent.known_usd)
        if spent is not None and known
        else (0.0 if known else None),
    )


def suites_of(summary: RunSummary) -> Iterator[SuiteProgress]:
    """How each suite stands, of which a case is finished."""
    for (model, suite), group in summary.by_suite().items():
        if group.finished:
            yield SuiteProgress(
                model=model,
                suite=suite,
                cases=group.cases,
                finished=group.finished,
                abandoned=group.missing,
                passed=rate_of_model(summary, model, suite),
                accuracy=group.accuracy,
            )


def errors_of(summary: RunSummary) -> Iterator[ErrorGroup]:
    """Failed attempts by what they said, the most frequent first."""
    for key, count in summary.messages():
        yield ErrorGroup(asked=key.asked, kind=key.kind, message=key.message, attempts=count)


def unscored_of(summary: RunSummary) -> Iterator[UnscoredReason]:
    """Evaluations without a score by the reason, the most frequent first."""
    for key, count in sorted(summary.counts.unscored.items(), key=lambda each: -each[1]):
        if count:
            yield UnscoredReason(
                model=key.model_key,
                group=key.group,
                kind=key.kind,
                reason=key.reason,
                evaluations=count,
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
