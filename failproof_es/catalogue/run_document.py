"""Makes the document of a run: its summary, and facts that the summary lacks."""

from __future__ import annotations

from collections.abc import Iterator

from failproof_es.assurance.checking.recorded_times import times_apart
from failproof_es.assurance.protection_status import protection_status
from failproof_es.catalogue.pass_rate import build_model_pass_rate
from failproof_es.catalogue.run import (
    Annotation,
    AskedAgain,
    BranchedFrom,
    Closing,
    Happening,
    Imported,
    LimitNow,
    RunDocument,
    ValidationShown,
)
from failproof_es.catalogue.run_numbers import (
    NO_ACCURACY,
    accuracy_of,
    counts_of,
    errors_of,
    in_order,
    model_progress,
    spending_of,
    suites_of,
    unscored_of,
)
from failproof_es.configuration.recorded import repetitions_of
from failproof_es.core.people import REVIEW_STATUSES
from failproof_es.core.run import Run, describe_branch
from failproof_es.engine.annotations import annotations_of
from failproof_es.engine.related_runs.attempts import attempts_of
from failproof_es.engine.related_runs.retried_evaluations import retried_evaluations
from failproof_es.engine.reviews.closings import closings_of
from failproof_es.engine.workers.presence import list_holders, list_shares, undriven_runs
from failproof_es.events import (
    EVENTS,
    CaseSkipped,
    CasesPlanned,
    LimitChanged,
    PricesRecorded,
    RunStarted,
    topics,
)
from failproof_es.events.line import line_of
from failproof_es.reading.as_of import AsOf
from failproof_es.reading.people_figures import people_figures
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.reading.remarks import measured_judges, remarks_on
from failproof_es.reading.summary_rows import unscored_row
from failproof_es.reading.workers import workers_of
from failproof_es.store.reading.reader import find

NEWEST = 20
"""The number of other attempts, and of overlapping runs, that are listed."""
_DETAILS = (CasesPlanned, CaseSkipped, PricesRecorded, LimitChanged)
_LIFE = tuple(topic for topic in topics("run") if EVENTS[topic] not in _DETAILS)
"""Topics of the events in a run's life."""


def run_document(
    recorded: RecordedRun,
    as_of: AsOf,
    *,
    most_read: int | None = None,
    newest: int | None = NEWEST,
    intervals: bool = True,
) -> RunDocument:
    """The document of a run; `as_of` says up to which event of the log it was read.

    `by_people` and `asked_again`, which read each evaluation, are left out if more than `most_read`
    are planned (`None`: never), `jury` if its judges have more verdicts than that. At most `newest`
    other attempts and as many overlapping runs are listed (`None`: all). Without `intervals`, rates
    have no interval. Raises `RunIsArchived` if the run's evaluations are in an archive file.
    """
    connection, run, summary = recorded.connection, recorded.run, recorded.summary
    run_id, up_to = recorded.run_id, as_of.events_up_to
    alone = next(iter(summary.models)) if len(summary.models) == 1 else None
    unread = most_read is not None and summary.planned > most_read
    judges = len(run.started.judges)
    jury_unread = most_read is not None and summary.planned * judges > most_read
    limits = tuple(map(_limit, run.limits.values()))
    servers = {limit.server for limit in limits} | set(_servers(run.started))
    started, by_result = run.started, recorded.chosen_by_result
    people = summary.total.awaiting and not unread
    running = [run_id] if run.status == "running" and recorded.up_to is None else []
    return RunDocument(
        as_of=as_of,
        run_id=run_id,
        run_number=started.run_number,
        name=started.name,
        annotation=_annotation(recorded, up_to),
        status=run.status,
        reason=run.reason,
        started_at=started.timestamp,
        ended_at=run.ended_at,
        who=started.who,
        where=started.where,
        code_version=started.code_version,
        packages=started.packages,
        dialect=started.dialect,
        configuration_digest=started.configuration_digest,
        models=started.models,
        judges=started.judges,
        suites=started.suites,
        seeds=started.seeds,
        repetitions=repetitions_of(started),
        planned_cases=started.planned_cases,
        selection=started.selection,
        branched_from=_branched_from(recorded, unread=unread),
        registration=started.registration,
        chosen_by_result=None if by_result is None else by_result.reason,
        imported=_imported(run),
        remarks=remarks_on(recorded),
        judges_measured=measured_judges(recorded),
        times_apart=times_apart(connection, run_id),
        skipped_defects=run.skipped,
        counts=counts_of(summary),
        passed=None if alone is None else build_model_pass_rate(summary, alone, interval=intervals),
        accuracy=NO_ACCURACY if alone is None else accuracy_of(summary, alone),
        classes=None if alone is None else in_order(summary.total.classes),
        unscored=unscored_row(summary),
        unscored_reasons=tuple(unscored_of(summary)),
        by_model=tuple(
            model_progress(summary, model, intervals=intervals) for model in started.models
        ),
        by_suite=tuple(suites_of(summary, intervals=intervals)),
        errors=tuple(errors_of(summary)),
        more_errors=summary.more_messages,
        gates=recorded.gates,
        closings=tuple(_closings(recorded, up_to)),
        spending=spending_of(summary),
        price_sources={
            key: price.source
            for key, price in (run.prices or {}).items()
            if price.source is not None
        },
        latency_p50_ms=summary.latency_ms(50),
        latency_p95_ms=summary.latency_ms(95),
        reviews={name: summary.reviews.get(name, 0) for name in ("awaiting", *REVIEW_STATUSES)},
        by_people=people_figures(recorded) if people else (),
        jury=tuple(recorded.jury.figures(summary)) if judges > 1 and not jury_unread else (),
        evaluations_unread=unread,
        validation=_validation(run),
        protection=protection_status(connection, sealed=run.sealed),
        contradictions=summary.counts.impossible,
        attempts=attempts_of(connection, run_id, newest),
        limits=limits,
        shares=tuple(share for share in list_shares(connection) if share.server in servers),
        holders=tuple(list_holders(connection).get(str(run_id), ())),
        undriven=undriven_runs(connection, running).get(run_id),
        workers=tuple(workers_of(connection, run_id, up_to)),
        history=tuple(_history(recorded, up_to)),
        configuration=started.configuration,
    )


def _annotation(recorded: RecordedRun, up_to: int) -> Annotation | None:
    annotation = annotations_of(recorded.connection, [recorded.run_id], up_to).get(recorded.run_id)
    if annotation is None:
        return None
    return Annotation(
        name=annotation.name,
        tags=annotation.tags,
        note=annotation.note,
        hidden=annotation.hidden,
        who=annotation.who,
        at=annotation.timestamp,
    )


def _branched_from(recorded: RecordedRun, *, unread: bool) -> BranchedFrom | None:
    branch = recorded.started.branched_from
    if branch is None:
        return None
    number = recorded.reader.run(branch.run_id).started.run_number
    return BranchedFrom(
        says=describe_branch(branch, number),
        run_id=branch.run_id,
        run_number=number,
        position=branch.position,
        settings=branch.settings,
        reuse=branch.reuse,
        again=branch.again,
        asked_again=() if unread else tuple(_asked_again(recorded)),
    )


def _asked_again(recorded: RecordedRun) -> Iterator[AskedAgain]:
    for evaluation in retried_evaluations(recorded.connection, recorded.run):
        yield AskedAgain(
            suite=evaluation.case.suite_id,
            case=evaluation.case.case_id,
            model=evaluation.key.model_key,
            repetition=evaluation.key.repetition,
            ended_as=evaluation.kind,
            reason=evaluation.reason,
        )


def _imported(run: Run) -> Imported | None:
    imported, says = run.imported, run.imported_from
    if imported is None or says is None:
        return None
    return Imported(
        says=says,
        kind=imported.kind,
        tool=imported.tool,
        tool_version=imported.tool_version,
        source_sha256=imported.source_sha256,
        files=imported.files,
        began_at=imported.began_at,
        ended_at=imported.ended_at,
        answers=imported.answers,
        absent=imported.absent,
        unmapped=imported.unmapped,
        claims=imported.claims,
    )


def _closings(recorded: RecordedRun, up_to: int) -> Iterator[Closing]:
    for event in closings_of(recorded.connection, recorded.run_id, up_to=up_to):
        yield Closing(
            at=event.timestamp,
            who=event.who,
            where=event.where,
            position=event.position,
            incomplete=event.incomplete,
            reviews=event.reviews,
            overruled=event.overruled,
            gates=event.gates,
        )


def _validation(run: Run) -> ValidationShown | None:
    validation = run.validation
    if validation is None:
        return None
    return ValidationShown(
        passed=validation.passed,
        checked=validation.checked,
        findings=validation.findings,
        more=validation.more,
        cost_usd=validation.cost_usd,
    )


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


def _history(recorded: RecordedRun, up_to: int) -> Iterator[Happening]:
    for row in find(recorded.connection, stream_id=recorded.run_id, topics=_LIFE, up_to=up_to):
        yield Happening(
            position=row.position,
            topic=row.topic,
            at=row.recorded_at,
            says=line_of(row.topic, row.upcast_payload()),
        )
