"""Branches a run: starts a new run from any position of a source run (specification 001 § 9).

The new run has the source run's plan and configuration; only the connections of its models may
change. Evaluations that were finished at that position are carried over by reference to their
events (`carried_over`), unless they are asked again. All others are evaluated again, even if they
had begun. Nothing is written to the source run.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from failproof_es.configuration.connections import override_connections
from failproof_es.configuration.loading import configuration_from_resolved, digest_of
from failproof_es.configuration.recorded import repetitions_of
from failproof_es.configuration.schema import Configuration, Model
from failproof_es.core.case import prompt_id
from failproof_es.core.run import Run
from failproof_es.dialects.scorers import scorers_of
from failproof_es.engine.drive.interpreter import OnText
from failproof_es.engine.drive.pending import OnCarriedOver
from failproof_es.engine.drive.run_stream import Observe
from failproof_es.engine.drive.targets import Targets
from failproof_es.engine.drive_outcome import Outcome
from failproof_es.engine.driver import Driver
from failproof_es.engine.history import planned_windows, read_chunk, read_run
from failproof_es.engine.identity import (
    code_version,
    current_host,
    current_user,
    package_versions,
    process_label,
)
from failproof_es.engine.imports.refusing import require_asked_here
from failproof_es.engine.lifecycle import AlsoBegin, prices_of
from failproof_es.engine.planning.asked_cases import PlannedCases
from failproof_es.engine.planning.prompt_collections import read_cases
from failproof_es.engine.preflight.checks import all_of, require_gates
from failproof_es.engine.preflight.destinations import announce, unencrypted
from failproof_es.engine.preflight.estimates import Estimates, require_bounded_costs
from failproof_es.engine.preflight.record import (
    PreflightResult,
    ResolvedConfiguration,
    Say,
    open_models,
    recorded_preflight,
)
from failproof_es.engine.related_runs.baseline_gates import require_baseline
from failproof_es.engine.related_runs.carried_over import carries_over, endings
from failproof_es.engine.related_runs.retried_evaluations import (
    count_again,
    describe_again,
    its_again,
)
from failproof_es.engine.required_plugins import require_plugins
from failproof_es.engine.usable_dialect import usable_dialect
from failproof_es.events import (
    Again,
    Branch,
    CaseSkipped,
    CasesPlanned,
    ModelPrices,
    ModelSnapshot,
    PricesRecorded,
    RunStarted,
)
from failproof_es.models.trust.permissions import Permissions, with_own_servers
from failproof_es.models.trust.remembered import remembered_permissions
from failproof_es.problems import InvalidInput, Problem
from failproof_es.store.reading.archives import require_attached
from failproof_es.store.reading.reader import Connection, find
from failproof_es.store.store import Store
from failproof_es.store.writing.event_header import Draft, EventHeader, to_events
from failproof_es.store.writing.lease import Lease


async def branch(
    run_id: UUID,
    position: int | None,
    store: Store,
    *,
    again: Again | None = None,
    settings: Sequence[str] = (),
    observe: Observe,
    stop: asyncio.Event,
    say: Say,
    on_text: OnText | None = None,
    on_carried_over: OnCarriedOver | None = None,
    permissions: Permissions | None = None,
) -> Outcome:
    """Begin a run from the state of a source run at `position`, and drive it.

    The source run may be running, paused or over; `None` means its present state. `again` chooses
    the finished evaluations to ask again (`None`: none), `settings` (`path=value`) change how the
    models are reached, `permissions` say where secrets may go. Raises `InvalidInput` when the
    position lies outside the source run, when there is nothing to ask again, when a setting changes
    what is asked, or when a check of the new run fails, which is recorded. Otherwise raises as
    `start` does.
    """
    checked = _checked_branch(run_id, position, store, again, settings, say, permissions)
    async with checked as new:
        with Lease(store.url, new.run_id, process_label()) as lease:
            await asyncio.to_thread(lease.acquire)
            await open_models(store, new.run_id, new.targets)
            started = await new.record(store)
            observe(started)
            say(new.description(started))
            driver = Driver(
                store, lease, new.configuration, new.targets,
                observe=observe, on_text=on_text, on_carried_over=on_carried_over, stop=stop,
            )  # fmt: skip
            return await driver.drive(resumed=False)


async def create_branch(
    run_id: UUID,
    position: int | None,
    store: Store,
    *,
    again: Again | None = None,
    settings: Sequence[str] = (),
    say: Say,
    also: AlsoBegin | None = None,
    permissions: Permissions | None = None,
) -> RunStarted:
    """Record a branched run for workers to drive; return its first event.

    Nothing is sent. The arguments are those of `branch`; `also` runs in the transaction that
    records the run. Raises `InvalidInput` as `branch` does.
    """
    checked = _checked_branch(run_id, position, store, again, settings, say, permissions)
    async with checked as new:
        started = await new.record(store, also)
        say(new.description(started))
        return started


@dataclass(frozen=True, slots=True)
class _NewBranch:
    """A checked branch that is not recorded yet."""

    run_id: UUID
    source: Run
    branched: Branch
    resolved: ResolvedConfiguration
    configuration: Configuration
    targets: Targets
    planned_cases: PlannedCases
    retry_note: str
    """Numbers of evaluations asked again and carried over, in words; empty without `again`."""

    async def record(self, store: Store, also: AlsoBegin | None = None) -> RunStarted:
        """Record the new run, and return its first event. `also` runs in the same transaction."""
        return await asyncio.to_thread(_begin, store, self, also)

    def description(self, started: RunStarted) -> str:
        """The message for the user about the run that `started` began."""
        return (
            f"run {started.run_number} branched from run {self.source.started.run_number} "
            f"at position {self.branched.position}{self.retry_note}"
        )


@asynccontextmanager
async def _checked_branch(
    run_id: UUID,
    position: int | None,
    store: Store,
    again: Again | None,
    settings: Sequence[str],
    say: Say,
    permissions: Permissions | None,
) -> AsyncIterator[_NewBranch]:
    """Yield the checked branch, which is not recorded yet, and close its models on exit.

    Without `permissions` those count that the user has given before, and the servers that
    `settings` name are permitted. Raises `InvalidInput` as `branch` does.
    """
    with store.lend() as connection:
        require_attached(connection, run_id)
        source = read_run(connection, run_id)
        require_asked_here(source)
        repetitions_of(source.started)  # raises if they do not fit the plan
        first, last = _read_position_range(connection, run_id)
    position = last if position is None else position
    _require_within(source, position, first, last)
    document, changed = configured_again(source, settings)
    require_plugins(source.started)
    configuration = configuration_from_resolved(document)
    if permissions is None:
        permissions = with_own_servers(remembered_permissions(), configuration, changed)
    targets = Targets(configuration, permissions)
    try:
        announce(configuration, say)
        new_id = uuid4()
        branched = Branch(run_id=run_id, position=position, again=again, settings=changed)
        digest = digest_of(document) if changed else source.started.configuration_digest
        resolved = ResolvedConfiguration(_describe_origin(source, branched), document, digest)
        checked = partial(_check, store, source, branched, configuration, targets)
        plan, retry_note = (
            await recorded_preflight(store, new_id, resolved, targets, checked, say)
        ).result
        yield _NewBranch(
            new_id, source, branched, resolved, configuration, targets, plan, retry_note
        )
    finally:
        await targets.close()


def configured_again(source: Run, settings: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The source run's configuration with `settings` applied, and the changed values by their path.

    The changes are empty without settings. Raises `InvalidInput` if a setting changes more than how
    a model is reached.
    """
    resolved = source.started.configuration
    own = {**resolved, "test_run": {**resolved["test_run"], "id": None, "timestamp": None}}
    if not settings:
        return own, {}
    reconnected = override_connections(own, settings)
    return reconnected.configuration, reconnected.changed


def _describe_origin(source: Run, branched: Branch) -> str:
    """A phrase about where the new run's configuration comes from: the source run, and what was
    changed."""
    again = f", {its_again(branched.again)} asked again" if branched.again else ""
    changed = "".join(f", {path} set to {value}" for path, value in branched.settings.items())
    return f"run {source.started.run_number} at position {branched.position}{again}{changed}"


def _read_position_range(connection: Connection, run_id: UUID) -> tuple[int, int]:
    """The positions of the first and the last event with this run's id."""
    row = connection.execute(
        "SELECT min(notification_id), max(notification_id) FROM failproof.stored_events "
        "WHERE run_id = %s",
        (run_id,),
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def _require_within(source: Run, position: int, first: int, last: int) -> None:
    """Raise `InvalidInput` unless `position` lies between `first` and `last`, the positions of the
    source run's first and last event, both included."""
    number = source.started.run_number
    if not first <= position <= last:
        side = "before" if position < first else "beyond"
        message = (
            f"position {position} lies {side} run {number}, which is at positions {first} to "
            f"{last} of the log"
        )
        remedy = f"`failproof-es log {number}` shows what happened at each of them"
        raise InvalidInput([Problem("out-of-range", message, field="--at", remedy=remedy)])


async def _check(
    store: Store, source: Run, branched: Branch, configuration: Configuration, targets: Targets
) -> PreflightResult[tuple[PlannedCases, str]]:
    """Check the models, the gates and the spend ceiling of the branch's configuration again.

    The result holds the cases of the whole plan, and the `retry_note`. Raises `InvalidInput` if a
    check fails, or if the branch asks again and there is nothing to ask again.
    """
    dialect = usable_dialect(source.started.dialect)
    *_, remarks = await all_of(
        asyncio.to_thread(scorers_of, configuration.model_dump(include={"grading"})),
        asyncio.to_thread(require_gates, store, configuration),
        asyncio.to_thread(require_bounded_costs, configuration, targets),
        targets.check(),
    )
    estimates = Estimates(dialect, configuration, targets)
    plan, again, carried_over = await asyncio.to_thread(
        _estimate, store, source, branched, estimates
    )
    warnings = [*unencrypted(configuration), *estimates.warnings()]
    if branched.again is None:
        return PreflightResult((plan, ""), warnings, remarks, estimates.as_json())
    if not again:
        raise _nothing_to_ask_again(source, branched.again)
    note = f": {count_again(again, branched.again)} asked again, {carried_over:,} carried over"
    return PreflightResult((plan, note), warnings, remarks, estimates.as_json())


def _nothing_to_ask_again(source: Run, again: Again) -> InvalidInput:
    number = source.started.run_number
    carry_on = f"`failproof-es resume {number}` sends its remaining requests"
    return InvalidInput.because(
        "nothing-to-ask",
        f"run {number} has no {describe_again(again)} that could be asked again",
        remedy=f"`failproof-es show {number}` counts them" if source.ended else carry_on,
    )


def _estimate(
    store: Store, source: Run, branched: Branch, estimates: Estimates
) -> tuple[PlannedCases, int, int]:
    """Add every evaluation that is not carried over to `estimates`.

    Returns the cases of the whole plan, the number of finished evaluations that are asked again,
    and the number of carried-over evaluations.
    """
    of = source.started
    plan = PlannedCases()
    again = carried_over = 0
    models = [model.key for model in of.models]
    with store.lend() as connection:
        for chunk in range(source.chunks):
            digests = read_chunk(connection, of.originator_id, chunk)
            remaining: dict[UUID, Counter[str]] = {}
            for window in planned_windows(source, digests, models):
                ended = endings(connection, branched, window)
                carried = {key for key, end in ended.items() if carries_over(branched, end)}
                carried_over += len(carried)
                again += len(ended) - len(carried)
                for key in window:
                    if key not in carried:
                        remaining.setdefault(key.prompt_id, Counter())[key.model_key] += 1
            for digest, case in zip(digests, read_cases(connection, digests), strict=True):
                plan.add(digest, case)
                if repetitions := remaining.get(prompt_id(digest)):
                    estimates.add(case, repetitions)
    return plan, again, carried_over


def _begin(store: Store, new: _NewBranch, also: AlsoBegin | None) -> RunStarted:
    """Record the new run with the source run's whole plan, in one transaction.

    `also` runs in that transaction, too. Both runs ask the same cases, so they are attempts of one
    experiment. Raises `InvalidInput` if the source run was archived meanwhile, or if a gate's
    baseline run is no longer complete.
    """
    of, run_id, configuration = new.source.started, new.run_id, new.configuration
    resolved = new.resolved.configuration
    own: dict[str, Any] = {
        "originator_id": run_id,
        "run_id": run_id,
        "timestamp": datetime.now(UTC),
    }
    models = _update_connections(of.models, configuration.models)
    judges = _update_connections(of.judges, configuration.asked_judges)
    prices = prices_of(resolved, (*models, *judges))
    draft = of.model_copy(
        update={
            **own,
            "experiment": new.planned_cases.experiment(resolved, models, judges),
            "configuration": resolved,
            "configuration_digest": new.resolved.configuration_digest,
            "models": models,
            "judges": judges,
            "code_version": code_version(),
            "packages": package_versions(configuration, of.dialect),
            "who": current_user(),
            "where": current_host(),
            "branched_from": new.branched,
            "registration": None,
        }
    )
    planned = to_events(
        _plan(store, of.originator_id, EventHeader.of_run(run_id), prices), {run_id: 1}
    )

    def still_there(connection: Connection) -> None:
        # Nobody else appends until this commits: archiving the source run later sees this run.
        require_attached(connection, of.originator_id)
        require_baseline(connection, configuration.gates, run_id)
        if also is not None:
            also(connection, run_id, of.planned_cases, configuration)

    return store.begin_run(draft, planned, new.planned_cases.questions_asked, still_there)


def _update_connections(
    snapshots: Sequence[ModelSnapshot], models: Sequence[Model]
) -> tuple[ModelSnapshot, ...]:
    """The recorded models with the present server address and name of the key's variable.

    `models` are the same models as configured now, in the same order.
    """

    def now(snapshot: ModelSnapshot, model: Model) -> ModelSnapshot:
        endpoint = {"base_url": model.base_url, "api_key_env": model.api_key_env}
        settings = {**snapshot.settings, **endpoint}
        present = {name: value for name, value in settings.items() if value is not None}
        return snapshot.model_copy(update={"settings": present})

    return tuple(now(*pair) for pair in zip(snapshots, models, strict=True))


def _plan(
    store: Store,
    source_id: UUID,
    header: EventHeader,
    prices: tuple[ModelPrices, ...],
) -> Iterator[Draft]:
    """The source run's events of the plan and of skipped cases, under the new run's `header`, and
    the event of the prices."""
    topics = (CasesPlanned.__name__, CaseSkipped.__name__)
    with store.lend() as connection:
        for row in find(connection, stream_id=source_id, topics=topics):
            yield Draft.copy_of(row.event(), header)
    yield Draft(PricesRecorded, header, models=prices)
