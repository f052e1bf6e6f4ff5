"""Starts and resumes runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Protocol
from uuid import UUID, uuid4

from failproof_es.configuration.loading import LoadedConfiguration, configuration_from_resolved
from failproof_es.configuration.recorded import repetitions_of
from failproof_es.configuration.schema import Configuration
from failproof_es.core.case import run_id as run_id_of
from failproof_es.core.run import chunked
from failproof_es.dialects.protocol import Dialect
from failproof_es.dialects.scorers import scorers_of
from failproof_es.engine.drive.interpreter import OnText
from failproof_es.engine.drive.passes import DrivePass
from failproof_es.engine.drive.pending import OnCarriedOver, OnContinued
from failproof_es.engine.drive.run_stream import Observe
from failproof_es.engine.drive.targets import Targets
from failproof_es.engine.drive_outcome import Outcome
from failproof_es.engine.driver import Driver
from failproof_es.engine.history import read_run
from failproof_es.engine.identity import (
    code_version,
    current_host,
    current_user,
    process_label,
)
from failproof_es.engine.imports.refusing import require_asked_here
from failproof_es.engine.limits.spend_limiter import require_room
from failproof_es.engine.planned_run import own_targets, plan_facts, plan_run
from failproof_es.engine.planning.planner import Plan
from failproof_es.engine.preflight.destinations import announce
from failproof_es.engine.preflight.record import (
    Say,
    Step,
    open_models,
    record_refusal,
)
from failproof_es.engine.preflight.spend_checks import require_priced
from failproof_es.engine.registration import (
    registration_of,
    registration_with_reuse,
    require_run_left,
)
from failproof_es.engine.related_runs.baseline_gates import require_baseline
from failproof_es.engine.required_plugins import other_versions, require_plugins
from failproof_es.engine.usable_dialect import usable_dialect
from failproof_es.events import (
    CaseSkipped,
    CasesPlanned,
    ModelPrices,
    ModelSnapshot,
    PlanRegistered,
    PricesRecorded,
    RunStarted,
)
from failproof_es.models.catalog.prices import PriceBook
from failproof_es.models.trust.permissions import OWN, Permissions, granted_for
from failproof_es.models.trust.remembered import remembered_permissions
from failproof_es.problems import InvalidInput, Problem
from failproof_es.store.reading.archives import require_attached
from failproof_es.store.reading.reader import Connection, find
from failproof_es.store.store import Store, run_exists
from failproof_es.store.writing.event_header import Draft, EventHeader, to_events
from failproof_es.store.writing.lease import HeldLease, Lease


class AlsoBegin(Protocol):
    """A function that is called with a new run, in the transaction that records it."""

    def __call__(
        self, connection: Connection, run_id: UUID, cases: int, configuration: Configuration
    ) -> None:
        """Add to the transaction through `connection`.

        `cases` is the number of planned cases. If the call raises, no run is recorded.
        """


async def start(
    loaded: LoadedConfiguration,
    store: Store,
    *,
    observe: Observe,
    stop: asyncio.Event,
    say: Say,
    on_text: OnText | None = None,
    on_carried_over: OnCarriedOver | None = None,
    step: Step = nullcontext,
    permissions: Permissions = OWN,
    registered: PlanRegistered | None = None,
) -> Outcome:
    """Plan a new run and drive it to its end, or until `stop` is set.

    `observe` gets every event once it is durable; `say` gets remarks for people; `on_text` gets the
    text of streamed answers as it arrives; `on_carried_over` gets each reused evaluation; `step` is
    entered around each long step before the first request; `permissions` say where secrets may go;
    `registered` is the plan that the run follows.
    Raises `InvalidInput` before anything is sent if a check fails or the run's id is taken; later
    as `Driver.drive` does.
    """
    configuration = loaded.configuration
    targets = own_targets(loaded, permissions)
    try:
        run_id = _run_id(configuration)
        with Lease(store.url, run_id, process_label()) as lease:
            await asyncio.to_thread(lease.acquire)  # before its checks are recorded
            await asyncio.to_thread(_require_new, store, run_id)
            dialect, plan = await plan_run(loaded, store, run_id, targets, say, step)
            await open_models(store, run_id, targets)
            with step("recording the plan"):
                started = await asyncio.to_thread(
                    _begin, store, run_id, loaded, dialect, targets, plan, registered
                )
            observe(started)
            del plan
            driver = Driver(
                store, lease, configuration, targets,
                observe=observe, on_text=on_text, on_carried_over=on_carried_over, stop=stop,
            )  # fmt: skip
            return await driver.drive(resumed=False)
    finally:
        await targets.close()


async def create(
    loaded: LoadedConfiguration,
    store: Store,
    *,
    say: Say,
    also: AlsoBegin | None = None,
    permissions: Permissions = OWN,
    registered: PlanRegistered | None = None,
) -> RunStarted:
    """Record a new run with its whole plan, for `resume` or for workers to drive; return its first
    event. Nothing is sent. `also` runs in the transaction that records the run; `registered` is the
    plan that the run follows. Raises `InvalidInput` as `start` does."""
    targets = own_targets(loaded, permissions)
    try:
        run_id = _run_id(loaded.configuration)
        await asyncio.to_thread(_require_new, store, run_id)
        dialect, plan = await plan_run(loaded, store, run_id, targets, say)
        return await asyncio.to_thread(
            _begin, store, run_id, loaded, dialect, targets, plan, registered, also
        )
    finally:
        await targets.close()


async def resume(
    run_id: UUID,
    store: Store,
    *,
    observe: Observe,
    stop: asyncio.Event,
    say: Say,
    on_text: OnText | None = None,
    on_carried_over: OnCarriedOver | None = None,
    on_continued: OnContinued | None = None,
    passes: Sequence[DrivePass] | None = None,
    leased: Callable[[HeldLease], object] = lambda lease: None,
    max_spend_usd: Decimal | None = None,
    permissions: Permissions | None = None,
) -> Outcome:
    """Resume a run. A sealed run is not changed; a run that ended without a seal is sealed.

    `passes` default to those of its configuration. `leased` is called in a thread with the run's
    lease, before anything is recorded; `on_carried_over` with each evaluation that a branch carries
    over from now on; `on_continued` with each begun evaluation that is continued. `max_spend_usd`
    replaces the spend ceiling. `permissions` say where secrets may go and which classes run,
    because anybody who can write to the log may have planned the run; by default they are what this
    user has permitted.

    Raises `RunBusy` while another process drives the run, `InvalidInput` when its models cannot be
    reached, when it stands at its spend ceiling, or when a spend ceiling cannot be kept.
    """
    with store.lend() as connection:
        require_attached(connection, run_id)
        run = read_run(connection, run_id)
    require_asked_here(run)
    if run.ended and run.sealed:
        say(f"run {run.started.run_number} has ended: {run.status}; nothing was sent")
        return Outcome.of(run, interrupted=False)
    repetitions_of(run.started)  # raises if they do not fit the plan
    require_plugins(run.started)
    configuration = configuration_from_resolved(run.started.configuration)
    scorers_of(run.started.configuration)  # raises if a scorer is broken by now
    for line in other_versions(run.started):
        say(f"remark: {line}")
    if not run.ended:
        require_room(run, max_spend_usd)
    if max_spend_usd is not None:
        require_priced(configuration, run.started, run.prices or {})
    if permissions is None:
        permissions = remembered_permissions()
    # A run that has ended sends nothing, so it needs no permissions.
    targets = Targets(configuration, granted_for(configuration) if run.ended else permissions)
    try:
        with Lease(store.url, run_id, process_label()) as lease:
            await asyncio.to_thread(lease.acquire)
            await asyncio.to_thread(leased, lease)
            shared = await asyncio.to_thread(_take_from_workers, store, run_id)
            if not run.ended:
                announce(configuration, say)
                await require_models(run_id, store, targets, run.started.dialect, say)
                await open_models(store, run_id, targets)
            driver = Driver(
                store, lease, configuration, targets,
                observe=observe, on_text=on_text, on_carried_over=on_carried_over,
                on_continued=on_continued, stop=stop, passes=passes, max_spend_usd=max_spend_usd,
            )  # fmt: skip
            return await driver.drive(resumed=shared or _driven_before(run.started, lease))
    finally:
        await targets.close()


def _take_from_workers(store: Store, run_id: UUID) -> bool:
    """Close the run for workers, so that this process can drive all of it.

    Returns whether a worker has driven a shard of it.
    """
    with store.lend() as connection:
        connection.execute("SELECT failproof.close_shards(%s)", (run_id,))
        row = connection.execute(
            "SELECT EXISTS (SELECT FROM failproof.lease_list WHERE run_id = %s AND shard >= 0)",
            (run_id,),
        ).fetchone()
    return row == (True,)


async def require_models(
    run_id: UUID, store: Store, targets: Targets, dialect: str, say: Say
) -> None:
    """Check whether the run's models can be reached and its dialect can be used.

    If not, records that and raises `InvalidInput`. `say` gets the remarks of the checks.
    """
    try:
        usable_dialect(dialect)
        remarks = await targets.check()
    except InvalidInput as error:
        await record_refusal(store, run_id, targets, error)
        raise
    for remark in remarks:
        say(remark)


def _driven_before(started: RunStarted, lease: Lease) -> bool:
    """Whether the run was driven before, or begun by another user, host or version.

    A run that `create` recorded is not resumed when it is driven for the first time.
    """
    return lease.epoch > 1 or (started.who, started.where, started.code_version) != (
        current_user(), current_host(), code_version(),
    )  # fmt: skip


def _run_id(configuration: Configuration) -> UUID:
    """The id of the run, and of its stream: derived from the id in the configuration, or a new
    one."""
    text_id = configuration.test_run.id
    return uuid4() if text_id is None else run_id_of(text_id)


def _require_new(store: Store, run_id: UUID) -> None:
    """Raise `InvalidInput` if a run has this id, before new checks are recorded under the id."""
    with store.lend() as connection:
        if any(find(connection, stream_id=run_id, limit=1)):
            raise run_exists(run_id)


def _begin(
    store: Store,
    run_id: UUID,
    loaded: LoadedConfiguration,
    dialect: Dialect,
    targets: Targets,
    plan: Plan,
    registered: PlanRegistered | None,
    also: AlsoBegin | None = None,
) -> RunStarted:
    """Record the run with its number, its whole plan and its prices, in one transaction.

    `registered` is the plan that it follows. `also` runs in the transaction, too. Returns the first
    event. Raises `InvalidInput` if a run has this id, if a run that it refers to was archived
    meanwhile, or if all registered runs have begun.
    """
    configuration = loaded.configuration
    facts = plan_facts(loaded, dialect, targets, plan)
    models: tuple[ModelSnapshot, ...] = (*facts["models"], *facts["judges"])
    prices = prices_of(facts["configuration"], models)
    draft = RunStarted(
        originator_id=run_id,
        originator_version=1,
        run_id=run_id,
        timestamp=datetime.now(UTC),
        run_number=0,
        attempt=0,
        seeds={
            m.key: seed for m in facts["models"] if (seed := m.parameters.get("seed")) is not None
        },
        who=current_user(),
        where=current_host(),
        branched_from=plan.reuse,
        **facts,
    )
    if registered is not None:
        if plan.reuse is not None:
            raise registration_with_reuse()
        followed = registration_of(registered, draft, plan.planned_cases.set_digest())
        draft = draft.model_copy(update={"registration": followed})
    planned = to_events(_plan_events(EventHeader.of_run(run_id), plan, prices), {run_id: 1})

    def in_the_same_transaction(connection: Connection) -> None:
        # Nobody else appends until this commits: archiving a baseline later sees this run.
        require_baseline(connection, configuration.gates, run_id)
        if plan.reuse is not None:
            require_attached(connection, plan.reuse.run_id)
        if registered is not None:
            require_run_left(connection, registered, run_id)
        if also is not None:
            also(connection, run_id, plan.cases, configuration)

    return store.begin_run(
        draft, planned, plan.planned_cases.questions_asked, in_the_same_transaction
    )


def _plan_events(
    header: EventHeader, plan: Plan, prices: tuple[ModelPrices, ...]
) -> Iterator[Draft]:
    """The run's events after its first: the plan, the skipped cases and the prices."""
    questions = chunked(plan.planned_cases.questions())
    for chunk, digests in enumerate(chunked(plan.planned_cases.digests())):
        yield Draft(CasesPlanned, header, chunk=chunk, digests=digests, questions=next(questions))
    for defect in plan.skipped:
        yield Draft(
            CaseSkipped,
            header,
            path=str(defect.path),
            line=defect.line,
            field=defect.field,
            why=str(Problem(defect.code, defect.message, remedy=defect.remedy)),
        )
    yield Draft(PricesRecorded, header, models=prices)


def prices_of(
    configuration: dict[str, Any], models: Sequence[ModelSnapshot]
) -> tuple[ModelPrices, ...]:
    """The prices of the models and judges for a run that begins now, in the same order.

    `configuration` is the resolved one: it may set prices. A model without a known price has no
    rates.
    """
    book, now = PriceBook.of(configuration), datetime.now(UTC)
    return tuple(book.prices(model, now) for model in models)
